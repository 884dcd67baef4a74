"""Batch DataFrames in the same call: the rows of the stream, in every layout."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import streamjoin as sj
from tests.conditions.texts import STRINGS
from tests.spark.harness import feed, run, spark_join, values

SECOND = 1_000_000


@pytest.mark.parametrize(
    "on",
    [
        *(pytest.param(on, marks=pytest.mark.slow) for on in ("l.x = r.a", "l.x * r.a > 2")),
        "l.x > 0 AND length(l.s) <= length(r.s) + r.a",
    ],
)
def test_batch_and_stream_and_spark_agree(spark: SparkSession, tmp_path: Path, on: str) -> None:
    random = np.random.default_rng(len(on))

    def rows(key: str) -> list[list[dict[str, Any]]]:
        def row(batch: int) -> dict[str, Any]:
            values = (None if random.random() < 0.1 else int(random.integers(0, 4)) for _ in range(2))
            time = int(random.integers(batch * 5, batch * 5 + 12)) * SECOND if random.random() < 0.95 else None
            return {"ts": time, key: next(values), "s": "é" * (next(values) or 0)}

        return [[row(batch) for _ in range(12)] for batch in range(3)]

    left, right = (feed(tmp_path, f"ts timestamp, {key} int, s string", rows(key)) for key in ("x", "a"))
    arguments: dict[str, Any] = {"on": on, "window": sj.within("3 seconds"), "time": "ts"}
    batch = values(sj.join(left.table(spark), right.table(spark), **arguments).collect())
    assert batch == values(spark_join(left.table(spark), right.table(spark), on, 3 * SECOND).collect())
    stream = sj.join(left.stream(spark), right.stream(spark), delay="1 minute", **arguments)
    assert batch == values(run(stream).rows)
    assert sum(batch.values()) > 10


LIKE = "r.n = 1 AND l.s LIKE r.p"


@pytest.mark.parametrize(
    "on",
    [
        "levenshtein(l.s, r.s) <= 1 AND l.s <> r.s",
        "l.n = r.n AND (l.s < r.s OR levenshtein(l.s, r.s) / 2 < 0.6) AND concat(l.s, r.s) NOT LIKE 'a%_'",
        "concat(l.s, r.s) RLIKE '^a.*b$' OR concat(l.s, r.s) RLIKE 'a(?=b)'",  # what RE2 lacks, Spark decides
        f"{LIKE} AND startswith(r.s, l.s)",  # patterns of rows, too: those of other rows have no sense
    ],
)
def test_strings_of_both_sides_give_the_rows_that_spark_gives(spark: SparkSession, on: str) -> None:
    left, right = texts(spark, "%"), texts(spark, "a%")
    found = sj.join(left, right, on=on, window=sj.within("3 seconds"), time="ts").collect()
    assert values(found) == values(spark_join(left, right, on, 3 * SECOND).collect())
    assert found


def test_a_pattern_without_sense_is_spark_s_to_refuse(spark: SparkSession) -> None:
    left, right = texts(spark, "%"), texts(spark, r"a\b")
    with pytest.raises(PySparkException, match="INVALID_FORMAT"):
        sj.join(left, right, on=LIKE, window=sj.within("3 seconds"), time="ts").collect()


def texts(spark: SparkSession, pattern: str) -> DataFrame:
    """Strings of every kind; the pattern is that of rows whose `n` is 1, other rows have one without sense."""
    rows = [
        (number % 7, text, number % 3, pattern if number % 3 == 1 else r"a\b")
        for number, text in enumerate([*STRINGS, None, *STRINGS])
    ]
    frame = spark.createDataFrame(rows, "second int, s string, n int, p string")
    return frame.selectExpr("timestamp_seconds(second) AS ts", "s", "n", "p")


def test_a_window_written_into_the_condition(spark: SparkSession) -> None:
    left = spark.range(50).selectExpr("timestamp_seconds(id * 37 % 50) AS ts", "id % 5 AS x")
    on = "l.x = r.x AND r.ts BETWEEN l.ts - INTERVAL 2 SECONDS AND l.ts + INTERVAL 2 SECONDS"
    found = sj.join(left, left, on=on, time="ts").collect()
    assert values(found) == values(spark_join(left, left, "l.x = r.x", 2 * SECOND).collect())


@pytest.mark.parametrize("layout", [sj.Scale(3), sj.Cell(3)], ids=str)
def test_rows_that_go_to_all_cells_meet_once(spark: SparkSession, layout: Any) -> None:
    rows = spark.range(200).selectExpr("timestamp_seconds(id) AS ts", "id")
    assert sj.join(rows, rows, on="l.id = r.id", window=sj.within("1 minute"), time="ts", layout=layout).count() == 200


def test_inputs_without_rows(spark: SparkSession) -> None:
    some = spark.range(5).selectExpr("timestamp_seconds(id) AS ts", "id AS x")
    for left, right in ((some, some.limit(0)), (some.limit(0), some), (some.limit(0), some.limit(0))):
        assert sj.join(left, right, on="l.x = r.x", window=sj.within("1 second"), time="ts").collect() == []


@pytest.mark.parametrize("layout", [pytest.param("auto", marks=pytest.mark.slow), sj.Grid(2, 3)], ids=str)
def test_a_long_history_gives_the_rows_of_spark_s_own_join(spark: SparkSession, layout: Any) -> None:
    rows = "timestamp_millis(pmod(id * 7919, 200000)) AS ts", "CAST(id % 97 AS INT) AS x", "id"
    left = spark.range(200_000).selectExpr(*rows)
    right = spark.range(7, 200_007).selectExpr(*rows)

    def digest(pairs: DataFrame) -> Any:
        (row,) = pairs.selectExpr("count(*)", "bit_xor(hash)", "sum(CAST(hash AS DECIMAL(30, 0)))").collect()
        return tuple(row)

    joined = sj.join(left, right, on="l.x = r.x", window=sj.within("40 milliseconds"), time="ts", layout=layout)
    found = digest(joined.selectExpr("xxhash64(id_l, id_r, join_time) AS hash"))
    pairs = spark_join(left, right, "l.x = r.x", 40_000).toDF("ts", "x", "l", "ts2", "x2", "r", "t")
    assert found == digest(pairs.selectExpr("xxhash64(l, r, t) AS hash"))
    assert found[0] > 100_000
