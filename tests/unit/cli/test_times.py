"""A time that is no timestamp: what to do about it depends on where its rows come from."""

import pytest
from pyspark.sql.types import DataType, DateType, LongType, StringType, StructType, TimestampNTZType, TimestampType

from streamjoin.cli.times import check_time
from streamjoin.errors import StreamJoinError

EXPECTED = "--time: left column 'ts' is of type {}; expected a timestamp: "
DECLARE = 'give --left-schema "ts TIMESTAMP, ..."'
IN_SOURCE = 'write it as one into trades, or join in Python, left.withColumn("ts", F.expr("...")) with '


def refuse(format: str, type: DataType) -> str:
    with pytest.raises(StreamJoinError) as refused:
        check_time("left", "trades", format, StructType().add("ts", type), "ts")
    return str(refused.value)


@pytest.mark.parametrize("format", ["json", "csv", "kafka"])
@pytest.mark.parametrize("type", [StringType(), DateType()])
def test_text_is_declared(format: str, type: DataType) -> None:
    said = f"{EXPECTED.format(type.simpleString())}{DECLARE}, which reads 2026-01-05T09:30:00Z as a time"
    assert refuse(format, type).startswith(said)


@pytest.mark.parametrize("format", ["json", "kafka"])
def test_seconds_in_json_are_declared_and_other_counts_are_not(format: str) -> None:
    said = refuse(format, LongType())
    assert f"{DECLARE} if it counts seconds since 1970; else write it as one into trades" in said
    assert "timestamp_millis(ts)" in said


CASTS = [(LongType(), "timestamp_micros(ts)"), (DateType(), "CAST(ts AS TIMESTAMP)")]


@pytest.mark.parametrize("format", ["parquet", "orc", "delta", "table"])
@pytest.mark.parametrize(("type", "cast"), CASTS)
def test_what_has_types_of_its_own_is_mended_in_the_source(format: str, type: DataType, cast: str) -> None:
    said = refuse(format, type)
    assert said.startswith(EXPECTED.format(type.simpleString()) + IN_SOURCE)
    assert said.endswith(cast)


def test_a_count_in_csv_is_no_time_for_any_schema() -> None:
    assert IN_SOURCE in refuse("csv", LongType())


@pytest.mark.parametrize("type", [TimestampType(), TimestampNTZType()])
def test_timestamps_pass_and_what_is_not_there_is_left_to_the_join(type: DataType) -> None:
    check_time("left", "trades", "json", StructType().add("TS", type), "ts")
    check_time("left", "trades", "json", StructType().add("x", LongType()), "ts")
