"""Rows that a join drops, kept: on Spark, over a restart, in order, and in batch."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import Row, StructType

import streamjoin as sj
from streamjoin.reference import list_dropped
from streamjoin.spark.kafka import parse_values
from tests.spark.harness import Feed, batches, feed, micros
from tests.strategies import us

MS = 1000
ARGUMENTS = {"on": "l.x = r.a", "window": sj.within(us(5 * MS)), "time": "ts"}
LEFT = [
    [{"ts": 100 * MS, "x": 1}, {"ts": None, "x": 2}],
    [{"ts": 120 * MS, "x": 1}, {"ts": 100 * MS, "x": 7}],
    [{"ts": 60 * MS, "x": 3}, {"ts": None, "x": 4}, {"ts": 121 * MS, "x": 1}, {"ts": 60 * MS, "x": 3}],
    [{"ts": 200 * MS, "x": 9}],
]
RIGHT = [
    [{"ts": 101 * MS, "a": 1}],
    [{"ts": 121 * MS, "a": 1}],
    [{"ts": 20 * MS, "a": 5}, {"ts": None, "a": 6}],
    [{"ts": 200 * MS, "a": 8}],
]


def told(rows: list[Row], side: str, column: str) -> Counter[tuple[Any, ...]]:
    return Counter(
        (row["late_side"], row[column], micros(row["join_time"]), row["late_reason"], micros(row["late_watermark"]))
        for row in rows
        if row["late_side"] == side
    )


def expect(left: list[Any], right: list[Any], side: str, column: str) -> Counter[tuple[Any, ...]]:
    dropped = list_dropped(batches(left, right, 0))
    return Counter((d.side, d.row[column], d.row["ts"], d.reason, d.watermark) for d in dropped if d.side == side)


def run(results: DataFrame, out: Path) -> list[Row]:
    writer = results.writeStream.format("parquet").option("checkpointLocation", str(out / "checkpoint"))
    query = writer.trigger(availableNow=True).start(str(out / "rows"))
    try:
        query.awaitTermination()
    finally:
        query.stop()
    return results.sparkSession.read.parquet(str(out / "rows")).collect()


def fill(given: Feed, rows: list[Any]) -> None:
    for each in rows:
        given.add(each)


@pytest.mark.parametrize(
    ("how", "ordered", "layout"),
    [("full", False, sj.Grid(2, 2)), ("inner", True, sj.Scale(2))],
    ids=["full", "ordered"],
)
def test_dropped_rows_come_out_once_over_a_restart(
    spark: SparkSession, tmp_path: Path, how: str, ordered: bool, layout: Any
) -> None:
    left, right = Feed(tmp_path / "left", "ts timestamp, x int"), Feed(tmp_path / "right", "ts timestamp, a int")
    given = {**ARGUMENTS, "how": how, "ordered": ordered, "layout": layout, "delay": "0 seconds", "late": "keep"}
    for part in (slice(0, 2), slice(2, 4)):
        fill(left, LEFT[part])
        fill(right, RIGHT[part])
        rows = run(sj.join(left.stream(spark), right.stream(spark), **given), tmp_path / "out")
    assert told(rows, "left", "x") == expect(LEFT, RIGHT, "left", "x")
    assert told(rows, "right", "a") == expect(LEFT, RIGHT, "right", "a")
    assert sum(expect(LEFT, RIGHT, "left", "x").values()) >= 4
    results = [row for row in rows if row["late_reason"] is None]
    pairs = sorted((micros(row["ts_l"]), micros(row["ts_r"])) for row in results if row["x"] == row["a"] == 1)
    assert pairs == [(100 * MS, 101 * MS), (120 * MS, 121 * MS), (121 * MS, 121 * MS)]
    assert all(row["late_side"] is None and row["late_watermark"] is None for row in results)


@pytest.mark.parametrize(("how", "ordered"), [("left", False), ("inner", True)])
def test_in_batch_rows_without_a_time_come_out(spark: SparkSession, tmp_path: Path, how: str, ordered: bool) -> None:
    left = feed(tmp_path, "ts timestamp, x int", LEFT).table(spark)
    right = feed(tmp_path, "ts timestamp, a int", RIGHT).table(spark)
    rows = sj.join(left, right, **{**ARGUMENTS, "how": how, "ordered": ordered, "late": "keep"}).collect()
    plain = sj.join(left, right, **{**ARGUMENTS, "how": how, "ordered": ordered})
    assert "late_reason" not in plain.columns
    results = [tuple(row)[:-3] for row in rows if row["late_reason"] is None]
    assert Counter(results) == Counter(map(tuple, plain.collect()))
    assert told(rows, "left", "x") == Counter(
        {("left", 2, None, "no time", None): 1, ("left", 4, None, "no time", None): 1}
    )
    assert told(rows, "right", "a") == Counter({("right", 6, None, "no time", None): 1})
    if ordered:
        assert [row["late_reason"] for row in rows[:3]] == ["no time"] * 3


def test_what_cannot_be_kept_is_refused(spark: SparkSession) -> None:
    rows = spark.sql("SELECT current_timestamp() AS ts, 1 AS x, 'a' AS late_reason")
    given = {"on": "l.x = r.x", "window": sj.within("1 second"), "time": "ts"}
    with pytest.raises(sj.StreamJoinError, match="late: got 'sink'; expected 'drop' or 'keep'"):
        sj.join(rows, rows.drop("late_reason"), late="sink", **given)
    with pytest.raises(sj.StreamJoinError, match="two columns named 'late_reason'"):
        sj.join(rows, rows.drop("late_reason"), late="keep", **given)


def test_what_spark_decides_after_the_join_does_not_drop_kept_rows(spark: SparkSession, tmp_path: Path) -> None:
    left = feed(tmp_path, "ts timestamp, x int", LEFT).table(spark)
    right = feed(tmp_path, "ts timestamp, a int", RIGHT).table(spark)
    given = ARGUMENTS | {"on": "l.x = r.a AND soundex(concat(l.x, r.a)) = '11'"}
    rows = sj.join(left, right, late="keep", **given).collect()
    assert Counter(row["late_reason"] for row in rows) == {"no time": 3, None: 3}


def test_a_bad_value_has_its_own_reason_whether_or_not_it_is_carried(spark: SparkSession, tmp_path: Path) -> None:
    values = ['{"ts": "1970-01-01T00:00:00.1Z", "x": 1}', "no json", '{"x": 2}', '{"ts": "yesterday", "x": 3}', None]
    records = spark.createDataFrame(
        [(value, "t", 0, 0) for value in values], "value string, topic string, partition int, offset int"
    )
    left = parse_values(records, StructType.fromDDL("ts timestamp, x int"), [], "keep")
    right = feed(tmp_path, "ts timestamp, a int", RIGHT).table(spark)
    for select in (["l.x", "r.a"], ["l.x", "l.bad_value", "r.a"]):
        rows = sj.join(left, right, late="keep", how="left", select=select, **ARGUMENTS).collect()
        reasons = Counter((row["x"], row["late_reason"]) for row in rows if row["late_side"] == "left")
        assert reasons == {(None, "bad value"): 3, (2, "no time"): 1}
    kept = {row["bad_value"] for row in rows if row["late_reason"] == "bad value"}
    assert kept == {"no json", '{"ts": "yesterday", "x": 3}', "NULL"}


ASOF = {"on": "l.x = r.a", "tolerance": us(5 * MS), "direction": "nearest"}
COUNTED = ["l.x", "l.x + count(*) AS n", "max(r.a) AS a"]
AGGREGATE = {"on": "l.x = r.a", "window": sj.within(us(5 * MS)), "select": COUNTED}


@pytest.mark.parametrize(
    ("verb", "given"),
    [
        pytest.param(sj.asof, ASOF, id="asof", marks=pytest.mark.every_spark),
        pytest.param(sj.aggregate, AGGREGATE, id="aggregate"),
    ],
)
def test_what_reduces_keeps_dropped_rows_too(spark: SparkSession, tmp_path: Path, verb: Any, given: Any) -> None:
    left, right = Feed(tmp_path / "left", "ts timestamp, x int"), Feed(tmp_path / "right", "ts timestamp, a int")
    options = {**given, "time": "ts", "late": "keep"}
    for part in (slice(0, 2), slice(2, 4)):
        fill(left, LEFT[part])
        fill(right, RIGHT[part])
        rows = run(verb(left.stream(spark), right.stream(spark), delay="0 seconds", **options), tmp_path / "out")
    batch = verb(left.table(spark), right.table(spark), **options).collect()
    assert told(rows, "left", "x") == expect(LEFT, RIGHT, "left", "x")
    assert told(batch, "left", "x") == Counter({("left", x, None, "no time", None): 1 for x in (2, 4)})
    for found, wanted in (
        (rows, expect(LEFT, RIGHT, "right", "a")),
        (batch, Counter({("right", 6, None, "no time", None): 1})),
    ):
        carried = verb is sj.asof  # an aggregate carries nothing of a right row out of its cell
        assert told(found, "right", "a") == Counter((s, a if carried else None, *t) for s, a, *t in wanted.elements())
        assert carried or all(row["n"] is None for row in found if row["late_reason"])
    plain = verb(left.table(spark), right.table(spark), **{**options, "late": "drop"}).collect()
    assert Counter(tuple(row)[:-3] for row in batch if row["late_reason"] is None) == Counter(map(tuple, plain))
    assert sum(row["late_reason"] is None and row["x"] == row["a"] == 1 for row in rows) == 3
