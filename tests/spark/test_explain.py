"""`explain` says what the join will do, and warns of what may go wrong."""

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import streamjoin as sj
from streamjoin.spark.explain import Explanation
from streamjoin.spec.window import Window

SCHEMA = "ts timestamp, k string, x int, y double"
ON = "l.k = r.k AND abs(l.x - r.x) <= 5 AND l.y * r.y > 2 AND l.x > 0 AND levenshtein(l.k, r.k) < 2 AND l.k LIKE r.k"


@pytest.fixture
def rows(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([], SCHEMA)


def explain(rows: DataFrame, **arguments: Any) -> Explanation:
    return sj.explain(rows, rows, **{"on": ON, "window": sj.within("5 seconds"), "time": "ts", **arguments})


@pytest.mark.every_spark
def test_every_conjunct_is_shown_with_what_serves_it(rows: DataFrame) -> None:
    text = str(explain(rows))
    for kind, part, by in [
        ("equi", "l.k = r.k", "hash index"),
        ("band", "-5 <= l.x - r.x <= 5", "grid or sorted index"),
        ("compiled", "l.y * r.y > 2", "compiled code"),
        ("one-sided", "l.x > 0", "Spark, before the join"),
        ("evaluated", "levenshtein(l.k, r.k) < 2", "the cell, column by column"),
        ("residual", "(l.k LIKE r.k)", "Spark, after the join"),
    ]:
        assert any(kind in line and part in line and by in line for line in text.splitlines()), (kind, text)


def test_window_layout_and_state_are_told(rows: DataFrame) -> None:
    text = str(explain(rows, window=sj.between("-1 minute", "5 seconds", closed="left"), layout=sj.Grid(2, 3)))
    assert "-1 minute <= right ts - left ts < 5 seconds" in text
    assert "a left row is kept until the watermark has passed its time + 5 seconds" in text
    assert "a right row is kept until the watermark has passed its time + 1 minute" in text
    assert "Grid(2, 3), as asked for: 6 cells on 6 tasks; rows go by a hash of the whole row" in text
    assert sj.Grid(2, 3).draw().splitlines()[2] in text
    assert "a left row is sent to 3 cells and stored in 3" in text
    assert "a right row is sent to 2 cells and stored in 2" in text
    assert "columns ts timestamp, k string, x int, y double" in text
    assert "kept until the watermark has passed its bucket's end" in str(explain(rows, window=sj.tumbling("1 minute")))


@pytest.mark.parametrize(
    ("window", "told"),
    [
        (sj.last(5), "among the last 5 left rows"),
        (sj.last(5) & sj.within("9 seconds"), "and -9 seconds <= right ts - left ts <= 9 seconds"),
        (sj.last(5) & sj.tumbling("9 seconds"), "and both rows fall into one bucket, 9 seconds long"),
        (sj.tumbling("9 seconds"), "both rows fall into one bucket"),
    ],
    ids=str,
)
@pytest.mark.parametrize("ordered", [False, True])
def test_every_window_is_told(rows: DataFrame, window: Window, told: str, ordered: bool) -> None:
    text = str(explain(rows, on="l.k = r.k", window=window, ordered=ordered))
    assert told in text
    assert ("Order" in text) == ordered


def test_a_column_goes_with_a_result_only_where_it_is_selected_or_spark_needs_it(rows: DataFrame) -> None:
    near, like = (
        str(explain(rows, on=f"l.x = r.x AND {part}", select=["l.x"]))
        for part in ("levenshtein(l.k, r.k) < 2", "l.k LIKE r.k")
    )
    assert "keys l.x int, l.k string; columns x int\n" in near
    assert "keys l.x int; columns x int, k string\n" in like


def test_the_type_is_told_with_the_stage_that_it_takes(rows: DataFrame) -> None:
    plain, shared = (str(explain(rows, on="l.k = r.k", how="full", layout=n)) for n in (sj.Keyed(2), sj.Grid(2, 2)))
    assert "full: all pairs, and unmatched rows of both sides" in plain
    assert "a second stage" not in plain
    assert "left and right rows are in several cells each: a second stage finds those" in shared


def test_a_layout_that_was_not_asked_for_is_named(rows: DataFrame) -> None:
    assert "Grid(1, 2), chosen by rule" in str(explain(rows))
    keyed = str(explain(rows, layout=sj.Keyed(2)))
    assert "rows go by a hash of l.k = r.k" in keyed
    assert "the work is even if there are many more keys than 2" in keyed


def test_a_notebook_gets_a_table_with_the_same_words(rows: DataFrame) -> None:
    explained = explain(rows)
    page = explained._repr_html_()
    assert page.startswith("<table>")
    assert "l.y * r.y &gt; 2" in page
    assert repr(explained) == str(explained)


@pytest.mark.parametrize(
    ("arguments", "warning"),
    [
        ({"on": "l.y < r.y"}, "one end of a band narrows little: a large part of the pairs"),
        ({"on": "l.y <> r.y"}, "no part of the condition narrows: every pair"),
    ],
)
def test_a_condition_that_narrows_nothing_is_warned_of(
    rows: DataFrame, arguments: dict[str, Any], warning: str
) -> None:
    assert any(warning in said for said in explain(rows, **arguments).warnings)
    assert not explain(rows).warnings


def test_wide_rows_are_warned_of_unless_columns_were_chosen(spark: SparkSession) -> None:
    wide = spark.createDataFrame([], SCHEMA + "".join(f", c{n} string" for n in range(10)))
    assert any("28 columns" in said for said in explain(wide).warnings)
    assert not explain(wide, select=["l.x"]).warnings


def test_a_delay_far_beyond_the_window_is_warned_of_once(spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load().selectExpr("timestamp AS ts", "value AS x")
    told = sj.explain(stream, stream, on="l.x = r.x", window=sj.within("5 seconds"), time="ts", delay="2 minutes")
    (warning,) = told.warnings
    assert "stream's delay of 2 minutes is much longer than the window keeps a row (5 seconds)" in warning


@pytest.mark.parametrize(
    ("window", "delay", "warns"),
    [
        (sj.within("5 seconds"), "61 seconds", True),
        (sj.within("5 seconds"), "10 seconds", False),  # as in the README
        (sj.between("1 hour", "61 minutes"), "2 minutes", False),  # left rows wait an hour for what may come
    ],
)
def test_a_delay_is_compared_with_how_long_rows_stay(
    spark: SparkSession, window: Window, delay: str, warns: bool
) -> None:
    stream = spark.readStream.format("rate").load().selectExpr("timestamp AS ts", "value AS x")
    told = sj.explain(stream, stream, on="l.x = r.x", window=window, time="ts", delay=delay)
    assert any("is much longer than the window keeps a row" in said for said in told.warnings) == warns


@pytest.mark.every_spark
def test_a_column_that_differs_each_time_is_warned_of(rows: DataFrame) -> None:
    told = sj.explain(
        rows.selectExpr("*", "rand() AS u"), rows, on="l.k = r.k", window=sj.within("5 seconds"), time="ts"
    )
    assert [said.split(" has")[0] for said in told.warnings] == ["the left input"]


def test_an_argument_that_join_does_not_take_is_refused(rows: DataFrame) -> None:
    with pytest.raises(TypeError, match=r"takes the arguments of join.*unexpected keyword argument 'shape'"):
        explain(rows, shape="round")
    with pytest.raises(TypeError, match=r"takes the arguments of join.*missing a required.*'on'"):
        sj.explain(rows, rows, time="ts")
