"""Delays, watermarks and time: who is late, what waits, and what operators after the join can rely on."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import count, window

import streamjoin as sj
from streamjoin import reference
from tests.spark.harness import Feed, batches, feed, micros, run, watermarks

SCHEMA = "ts timestamp, x int"
SECOND = 1_000_000


def seconds(directory: Path, *batches: list[int]) -> Feed:
    """A stream of rows at these seconds, whose x is the second."""
    return feed(directory, SCHEMA, rows(*batches))


def rows(*batches: list[int]) -> list[list[dict[str, Any]]]:
    return [[{"ts": second * SECOND, "x": second} for second in batch] for batch in batches]


def joined(left: Any, right: Any, **options: Any) -> DataFrame:
    options = {"on": "true", "window": sj.within("3 seconds"), "time": "ts", **options}
    return sj.join(left, right, **options)


# Delays

LEFT, RIGHT = ([10, 12], [20], [13, 17, 18]), ([10], [19, 21], [15, 16, 18])


@pytest.mark.parametrize(
    ("given", "seconds_each"),
    [
        pytest.param("2 seconds", (2, 2), marks=pytest.mark.slow),
        (("500 milliseconds", "9 seconds"), (0.5, 9)),
    ],
    ids=str,
)
def test_a_delay_for_each_side_or_one_for_both(
    spark: SparkSession, tmp_path: Path, given: Any, seconds_each: tuple[float, float]
) -> None:
    delay = tuple(int(wait * SECOND) for wait in seconds_each)
    left, right = seconds(tmp_path, *LEFT), seconds(tmp_path, *RIGHT)
    found = run(joined(left.stream(spark), right.stream(spark), delay=given))
    expected = reference.join(batches(rows(*LEFT), rows(*RIGHT), delay), lambda l, r: True, sj.within("3 seconds"))
    assert found.watermarks == watermarks((rows(*LEFT), rows(*RIGHT)), delay)[: len(found.watermarks)]
    assert sorted((row.x_l, row.x_r, micros(row.join_time)) for row in found.rows) == sorted(
        (j.left["x"], j.right["x"], j.join_time) for j in expected.rows
    )
    assert sum(found.metric("late_left")) == expected.late_left
    assert sum(found.metric("late_right")) == expected.late_right


def test_the_inputs_own_watermarks_count_before_any_delay(spark: SparkSession, tmp_path: Path) -> None:
    left = seconds(tmp_path, *LEFT).stream(spark).withWatermark("ts", "1 second")
    right = seconds(tmp_path, *RIGHT).stream(spark)
    found = run(joined(left, right, delay=(None, "9 seconds")))
    assert found.watermarks == watermarks((rows(*LEFT), rows(*RIGHT)), (SECOND, 9 * SECOND))[: len(found.watermarks)]
    both = joined(left, right.withWatermark("ts", "9 seconds"))
    assert run(both).watermarks == found.watermarks


def test_several_streams_make_up_one_side_and_the_slowest_holds_the_watermark(
    spark: SparkSession, tmp_path: Path
) -> None:
    parts = ([10], [20], [30]), ([11], [14], [12])
    left = [seconds(tmp_path, *part).stream(spark) for part in parts]
    right = seconds(tmp_path, [9], [21], [29]).stream(spark)
    found = run(joined([left[0], left[1].select("x", "ts")], right, delay="0 seconds"))
    assert found.watermarks[:3] == [None, 9 * SECOND, 14 * SECOND]
    assert sorted((row.x_l, row.x_r) for row in found.rows) == [(10, 9), (11, 9), (20, 21), (30, 29)]
    assert sum(found.metric("late_left")) == 1  # 12, when 14 and 20 had come


def test_streams_of_one_side_must_agree(spark: SparkSession, tmp_path: Path) -> None:
    stream = seconds(tmp_path, [1]).stream(spark)
    with pytest.raises(sj.StreamJoinError, match="left: its DataFrames differ"):
        joined([stream, stream.selectExpr("ts", "string(x) AS x")], stream, delay="1 second")
    with pytest.raises(sj.StreamJoinError, match="right: its DataFrames are streaming and batch"):
        joined(stream, [stream, seconds(tmp_path, [1]).table(spark)], delay="1 second")
    for nothing in ([], "stream", None):
        with pytest.raises(sj.StreamJoinError, match="left: expected a DataFrame or a list of DataFrames"):
            joined(nothing, stream, delay="1 second")


@pytest.mark.parametrize("watermarked", ["neither", "left", "right"])
def test_a_stream_without_watermark_and_delay_is_refused_with_what_to_write(
    spark: SparkSession, tmp_path: Path, watermarked: str
) -> None:
    sides = {side: seconds(tmp_path, [1]).stream(spark) for side in ("left", "right")}
    if watermarked in sides:
        sides[watermarked] = sides[watermarked].withWatermark("ts", "1 second")
    lacking = "right" if watermarked == "left" else "left"
    with pytest.raises(sj.StreamJoinError) as refusal:
        joined(sides["left"], sides["right"])
    assert f"the {lacking} input has no watermark" in str(refusal.value)
    assert 'delay="10 seconds"' in str(refusal.value)
    assert f'{lacking}.withWatermark("ts", "10 seconds")' in str(refusal.value)


def test_a_delay_beside_a_watermark_of_its_own_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    plain = seconds(tmp_path, [1]).stream(spark)
    own = plain.withWatermark("ts", "1 second")
    for sides, delay in (
        ((own, own), "1 second"),
        ((plain, own), "1 second"),
        ((own, plain), ("1 second", "2 seconds")),
    ):
        with pytest.raises(
            sj.StreamJoinError, match=r"delay: got '1 second', but the (left|right) input has a watermark"
        ):
            joined(*sides, delay=delay)
    joined(own, plain, delay=(None, "1 second"))


@pytest.mark.parametrize("delay", ["-1 seconds", "soon", 5, ("1 second", "-2 ms"), ("1 second",), ["1 second"] * 3])
def test_a_delay_that_is_none_is_refused(spark: SparkSession, tmp_path: Path, delay: Any) -> None:
    stream = seconds(tmp_path, [1]).stream(spark)
    with pytest.raises(sj.StreamJoinError, match="delay"):
        joined(stream, stream, delay=delay)


def test_a_watermark_on_another_column_than_the_time_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    stream = seconds(tmp_path, [1]).stream(spark).selectExpr("*", "ts AS other").withWatermark("other", "1 second")
    with pytest.raises(sj.StreamJoinError, match="left input has its watermark on 'other', but time= says 'ts'"):
        joined(stream, stream)


def test_the_policy_under_which_the_fastest_stream_decides_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    policy = "spark.sql.streaming.multipleWatermarkPolicy"
    stream = seconds(tmp_path, [1]).stream(spark)
    spark.conf.set(policy, "max")
    try:
        with pytest.raises(sj.StreamJoinError, match=rf'{policy}", "min"\)  # now max: .*the slower one'):
            joined(stream, stream, delay="1 second")
    finally:
        spark.conf.set(policy, "min")


def test_a_late_row_that_the_condition_excludes_is_not_counted(spark: SparkSession, tmp_path: Path) -> None:
    left, right = seconds(tmp_path, [10], [20], [1, 2, 9]), seconds(tmp_path, [10], [20], [20])
    found = run(joined(left.stream(spark), right.stream(spark), on="l.x > 5 AND l.x <= r.x", delay="0 seconds"))
    assert sorted((row.x_l, row.x_r) for row in found.rows) == [(10, 10), (20, 20), (20, 20)]
    assert found.watermarks[:3] == [None, 10 * SECOND, 20 * SECOND]
    assert sum(found.metric("late_left")) == 1


# What follows the join


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(*pair, marks=pytest.mark.slow)
        for pair in (("auto", "auto"), (sj.Keyed(3), sj.Scale(2)), (sj.Cell(3), sj.Grid(2, 2)))
    ],
    ids=str,
)
def test_a_join_is_joined_again(spark: SparkSession, tmp_path: Path, one: Any, other: Any) -> None:
    a, b, c = ([1, 5], [9], [30], [60]), ([2, 4], [10], [31], [60]), ([3], [11, 6], [29], [60])
    first = joined(
        *(seconds(tmp_path, *side).stream(spark) for side in (a, b)),
        on="l.x <> r.x AND abs(l.x - r.x) <= 100",
        select=["l.x AS xa", "r.x AS xb"],
        delay="20 seconds",
        name="first",
        layout=one,
    )
    second = joined(
        first,
        seconds(tmp_path, *c).stream(spark),
        on="l.xa < r.x + 2",
        time=("join_time", "ts"),
        delay=(None, "20 seconds"),
        name="second",
        layout=other,
    )
    every = [[second for batch in side for second in batch] for side in (a, b, c)]
    expected = [
        (xa, xb, xc)
        for xa in every[0]
        for xb in every[1]
        for xc in every[2]
        if xa != xb and abs(xa - xb) <= 3 and abs(max(xa, xb) - xc) <= 3 and xa < xc + 2
    ]
    found = run(second)
    assert sorted((row.xa, row.xb, row.x) for row in found.rows) == sorted(expected)
    assert len(expected) == 7
    assert sum(found.metric("matches", "first")) > 0
    assert sum(found.metric("late_left", "second")) == 0


@pytest.mark.every_spark
def test_windows_of_results_are_complete_when_they_are_emitted(spark: SparkSession, tmp_path: Path) -> None:
    left, right = ([1, 2, 9], [4, 12], [21], [40], [41]), ([3, 11], [2, 13], [5, 22], [40], [41])
    result = joined(*(seconds(tmp_path, *side).stream(spark) for side in (left, right)), delay="10 seconds")
    counted = result.groupBy(window("join_time", "10 seconds")).agg(count("*").alias("pairs"))
    found = run(counted)
    expected = reference.join(
        batches(rows(*left), rows(*right), 10 * SECOND), lambda l, r: True, sj.within("3 seconds")
    ).rows
    of_window = {start: sum(start <= j.join_time // SECOND < start + 10 for j in expected) for start in (0, 10, 20)}
    assert {micros(row.window.start) // SECOND: row.pairs for row in found.rows} == of_window


@pytest.mark.slow
def test_a_stream_that_falls_silent_does_not_keep_the_other_s_rows(spark: SparkSession, tmp_path: Path) -> None:
    left = [list(range(1, 50)), [100], [200], [300], [400]]
    right = [[1], [100], [200], [300], [400]]
    found = run(joined(*(seconds(tmp_path, *side).stream(spark) for side in (left, right)), delay="0 seconds"))
    held = found.metric("state_rows")
    assert held[0] >= 50
    assert max(held[2:]) <= 8
    assert max(found.metric("segments")[2:]) <= 8
