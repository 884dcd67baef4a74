"""Every type of Spark travels through the join unchanged, or is refused by name; keys of every type find each other."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import streamjoin as sj
from streamjoin.spark.compat import VERSION
from tests.spark.harness import Feed, feed, run, spark_join, values

PAYLOADS = {
    "boolean": ("true", "false"),
    "tinyint": ("-128Y", "127Y"),
    "smallint": ("-32768S", "0S"),
    "int": ("-2147483648", "7"),
    "bigint": ("-9223372036854775808L", "9223372036854775807L"),
    "float": ("float('NaN')", "float('-0.0')"),
    "double": ("double('NaN')", "double('-Infinity')"),
    "decimal(5,2)": ("-0.01BD", "999.99BD"),
    "decimal(38,10)": ("9999999999999999999999999999.9999999999BD", "-1E-10BD"),
    "string": ("''", "'é ` \" \\u0000 日本'"),
    "char(3)": ("'a'", "'abc'"),
    "varchar(3)": ("'a'", "'abc'"),
    "binary": ("X''", "X'00FF'"),
    "date": ("DATE'0001-01-01'", "DATE'9999-12-31'"),
    "timestamp": ("TIMESTAMP'1582-10-04 00:00:00.000001Z'", "TIMESTAMP'9999-12-31 23:59:59.999999Z'"),
    "timestamp_ntz": ("TIMESTAMP_NTZ'0001-01-01 00:00:00'", "TIMESTAMP_NTZ'9999-12-31 23:59:59.999999'"),
    "interval day to second": ("INTERVAL '-106751990 23:59:59.999999' DAY TO SECOND", "INTERVAL '0.000001' SECOND"),
    "interval hour": ("INTERVAL '5' HOUR", "INTERVAL '-1' HOUR"),
    "array<int>": ("array(1, NULL, 3)", "array()"),
    "array<array<string>>": ("array(array('a', NULL), NULL)", "array(array())"),
    "map<string,double>": ("map('a', double('NaN'), 'b', NULL)", "map()"),
    "map<int,array<string>>": ("map(1, array('a'), 2, NULL)", "map(3, array())"),
    "struct<a:int,b:string>": ("named_struct('a', NULL, 'b', 'x')", "named_struct('a', 1, 'b', NULL)"),
    "struct<m:map<string,int>,t:timestamp>": (
        "named_struct('m', map('a', NULL), 't', TIMESTAMP'2024-01-01 00:00:00Z')",
        "named_struct('m', NULL, 't', NULL)",
    ),
    "array<struct<d:decimal(10,2),n:timestamp_ntz>>": (
        "array(named_struct('d', 1.50BD, 'n', TIMESTAMP_NTZ'2024-02-29 00:00:00'), NULL)",
        "array()",
    ),
    "variant": ("""parse_json('{"a": [1, null, "x"]}')""", "parse_json('null')"),
    "array<variant>": ("array(parse_json('1.5'), NULL)", "array()"),
    "void": ("NULL", "NULL"),
    "time": ("TIME'12:34:56.123456'", "TIME'00:00:00'"),
}
if VERSION < (4, 1):
    del PAYLOADS["time"]  # not a type yet
REFUSED = {
    "interval year to month": "INTERVAL '1-2' YEAR TO MONTH",
    "interval month": "INTERVAL '3' MONTH",
    "array<interval year>": "array(INTERVAL '3' YEAR)",
    "interval": "make_interval(1, 2)",
}
SECONDS = [[3, 1, 2], [], [4, 2, 5]]
"""Three micro-batches; the rows' numbers go 0, 1, 2, 0, 1, 2, and number 2 stands for NULL."""


@pytest.fixture(autouse=True)
def time_type(spark: SparkSession) -> Iterator[None]:
    spark.conf.set("spark.sql.timeType.enabled", "true")
    yield
    spark.conf.unset("spark.sql.timeType.enabled")


@pytest.fixture
def numbers(tmp_path: Path) -> Feed:
    return feed(
        tmp_path,
        "ts timestamp, n int",
        [[{"ts": second * 1_000_000, "n": n} for n, second in enumerate(batch)] for batch in SECONDS],
    )


def typed(frame: DataFrame, types: list[str]) -> DataFrame:
    """A column of each type, under the name of the type."""
    columns = [
        f"CAST(CASE n WHEN 0 THEN {PAYLOADS[type][0]} WHEN 1 THEN {PAYLOADS[type][1]} END AS {type}) AS `{type}`"
        for type in types
    ]
    return frame.selectExpr("ts", "n", *columns)


def joined(left: DataFrame, right: DataFrame, on: str = "l.n = r.n", **options: Any) -> DataFrame:
    delay = "10 seconds" if left.isStreaming else None
    return sj.join(left, right, on=on, window=sj.within("2 seconds"), time="ts", delay=delay, **options)


@pytest.mark.every_spark
def test_every_type_travels_through_a_stream_unchanged(spark: SparkSession, numbers: Feed) -> None:
    types = [type for type in PAYLOADS if type != "void"]
    expected = spark_join(*[typed(numbers.table(spark), types)] * 2, "l.n = r.n", 2_000_000)
    result = joined(*(typed(numbers.stream(spark), types) for _ in range(2)))
    assert [field.dataType for field in result.schema] == [field.dataType for field in expected.schema]
    assert values(run(result).rows) == values(expected.collect())


@pytest.mark.every_spark
def test_every_type_travels_through_a_batch_join_unchanged(spark: SparkSession, numbers: Feed) -> None:
    frame = typed(numbers.table(spark), list(PAYLOADS))
    expected = spark_join(frame, frame, "l.n = r.n", 2_000_000)
    result = joined(frame, frame)
    assert [field.dataType for field in result.schema] == [field.dataType for field in expected.schema]
    found = values(result.collect())
    assert found == values(expected.collect())
    assert sum(found.values()) > 6


@pytest.mark.parametrize("type", REFUSED)
def test_a_type_that_arrow_does_not_carry_is_refused_by_name(spark: SparkSession, numbers: Feed, type: str) -> None:
    frame = numbers.stream(spark).selectExpr("ts", "n", f"{REFUSED[type]} AS held")
    with pytest.raises(sj.StreamJoinError, match=rf"l\.held: a column of type {type} cannot travel"):
        joined(frame, numbers.stream(spark))
    assert joined(frame, numbers.stream(spark), select=["l.n", "r.ts"]).columns == ["n", "ts", "join_time"]


KEYS = ["boolean", "decimal(5,2)", "decimal(38,10)", "string", "binary", "date", "timestamp", "timestamp_ntz", "double"]


@pytest.mark.parametrize("type", KEYS)
def test_a_key_of_any_type_finds_its_equals(spark: SparkSession, numbers: Feed, type: str) -> None:
    frame = typed(numbers.table(spark), [type])
    expected = spark_join(frame, frame, f"l.`{type}` = r.`{type}`", 2_000_000)
    found = values(joined(frame, frame, f"l.`{type}` = r.`{type}`").collect())
    assert found == values(expected.collect())
    assert sum(found.values()) > 2


def test_keys_of_all_types_find_their_equals_in_a_stream(spark: SparkSession, numbers: Feed) -> None:
    on = " AND ".join(f"l.`{type}` = r.`{type}`" for type in KEYS)
    on += " AND l.date BETWEEN r.date - INTERVAL 1 DAY AND r.date AND l.`decimal(5,2)` - r.`decimal(5,2)` < 0.01"
    expected = spark_join(*[typed(numbers.table(spark), KEYS)] * 2, on, 2_000_000)
    found = values(run(joined(*(typed(numbers.stream(spark), KEYS) for _ in range(2)), on)).rows)
    assert found == values(expected.collect())
    assert sum(found.values()) > 2


def test_a_local_time_without_zone_is_an_event_time(spark: SparkSession, tmp_path: Path) -> None:
    #  left (local)  2s      4s
    #  right             3s       9s
    local = feed(tmp_path, "ts timestamp_ntz, x int", [[{"ts": 2_000_000, "x": 1}], [{"ts": 4_000_000, "x": 2}]])
    zoned = feed(tmp_path, "ts timestamp, a int", [[{"ts": 9_000_000}], [{"ts": 3_000_000, "a": 3}, {"ts": None}]])
    arguments: dict[str, Any] = {"on": "l.x <= r.a", "window": sj.within("2 seconds"), "time": "ts"}
    streamed = sj.join(local.stream(spark), zoned.stream(spark), delay="1 second", **arguments)
    batch = sj.join(local.table(spark), zoned.table(spark), **arguments)
    assert streamed.schema.fieldNames() == batch.schema.fieldNames() == ["ts_l", "x", "ts_r", "a", "join_time"]
    found = run(streamed)
    assert values(found.rows) == values(batch.collect())
    assert sorted((row.x, row.a) for row in found.rows) == [(1, 3), (2, 3)]
    assert found.watermarks[:2] == [None, 1_000_000]
    assert sum(found.metric("invalid_rows")) == 1


def test_a_local_time_moves_the_watermark_also_where_the_condition_excludes_the_row(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = [[{"ts": second * 1_000_000, "x": x}] for second, x in ((2, 1), (100, -1), (4, 2))]
    streams = [feed(tmp_path, "ts timestamp_ntz, x int", rows).stream(spark) for _ in range(2)]
    found = run(joined(*streams, "l.x > 0 AND l.x <= r.x", select=["l.x AS xl", "r.x AS xr"]))
    assert found.watermarks[:3] == [None, None, 90_000_000]
    assert [(row.xl, row.xr) for row in found.rows] == [(1, 1)]


@pytest.mark.every_spark
def test_a_zone_of_the_session_does_not_move_times(spark: SparkSession, numbers: Feed) -> None:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        frame = typed(numbers.table(spark), ["timestamp", "timestamp_ntz"])
        expected = spark_join(frame, frame, "l.n = r.n", 2_000_000)
        assert values(joined(frame, frame).collect()) == values(expected.collect())
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


def test_a_local_time_beside_an_instant_is_refused_where_the_zone_would_matter(spark: SparkSession) -> None:
    local = spark.sql("SELECT TIMESTAMP_NTZ'2026-01-05 09:00:01' AS ts, 1 AS x")
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        instant = local.selectExpr("CAST(ts AS TIMESTAMP) AS ts", "x")
        with pytest.raises(sj.StreamJoinError, match=r"right column 'ts' is a local time .* Asia/Tokyo: cast one"):
            joined(instant, local, "l.x = r.x")
        assert joined(instant, instant, "l.x = r.x").count() == joined(local, local, "l.x = r.x").count() == 1
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
