"""Outer, semi and anti joins on Spark yield what the reference says, in every layout that serves them."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import streamjoin as sj
from streamjoin.how import HOWS, How
from streamjoin.layout import Cell, Grid, Keyed, Layout, Scale
from streamjoin.window import Window
from tests.spark.test_law import CONDITIONS, WINDOWS, check, rich

BANDS = "abs(l.x - r.a) <= 1 AND abs(l.y - r.b) <= 0.5"
SIDED = "l.x = r.a AND l.y >= 0.5 AND r.s <> 'a'"
CASES: list[tuple[How, str, Window, Layout | str]] = [
    ("left", BANDS, WINDOWS[0], Keyed(3)),
    ("full", "l.x = r.a", sj.tumbling("5 milliseconds"), Grid(2, 2)),
    ("full", SIDED, sj.between("-6 milliseconds", "-1 millisecond"), Keyed(3)),
    ("right", "l.y <= r.b", sj.within(left="0 seconds", right="7 milliseconds"), "auto"),
    ("left_semi", BANDS, sj.between("1 millisecond", "9 milliseconds", closed="left"), "auto"),
    ("left_anti", SIDED, sj.within("4 milliseconds", closed="neither"), Grid(2, 2)),
]
"""One of each for every run; the others take their turn with the slow tests."""

SERVING: dict[How, list[Layout | str]] = {
    "left": ["auto", Grid(3, 1), Grid(2, 3)],
    "right": ["auto", Grid(1, 3), Grid(3, 2)],
    "full": ["auto", Grid(3, 2), Scale(1)],
    "left_semi": ["auto", Grid(3, 1)],
    "left_anti": ["auto", Grid(3, 1), Grid(1, 3)],
}
EVALUATED = [on for on in CONDITIONS if "(l.s" not in on]
"""Conditions that a cell can decide by itself."""


@pytest.mark.parametrize(("how", "on", "window", "layout"), CASES, ids=str)
def test_any_history_gives_the_reference_s_rows(
    spark: SparkSession, tmp_path: Path, how: How, on: str, window: Window, layout: Layout | str
) -> None:
    check(spark, tmp_path, on, window, layout, rich(on, window, 20, how), how)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "how"), list(enumerate(set(HOWS) - {"inner"})))
def test_all_conditions_windows_and_layouts(spark: SparkSession, tmp_path: Path, number: int, how: How) -> None:
    for k, (on, layout) in enumerate(product(EVALUATED, SERVING[how])):
        window = WINDOWS[(k + number) % len(WINDOWS)]
        check(spark, tmp_path, on, window, layout, rich(on, window, 5, how), how)


@pytest.mark.parametrize(
    ("how", "layout", "instead"),
    [
        ("left", Scale(4), r"take Grid\(4, 1\)"),
        ("right", Cell(4), r"take Grid\(1, 4\)"),
        ("full", Keyed(4, spread=2), r"take Grid\(2, 2\)"),
        ("full", Keyed(8, spread=2), r"take Keyed\(8\)"),
        ("left_semi", Grid(1, 4), r"take Grid\(4, 1\)"),
    ],
)
def test_a_layout_that_cannot_serve_is_refused_with_one_that_can(
    spark: SparkSession, how: str, layout: Any, instead: str
) -> None:
    rows = spark.createDataFrame([], "ts timestamp, x int")
    with pytest.raises(sj.StreamJoinError, match=rf"layout: .*how='{how}'.*{instead}"):
        sj.join(rows, rows, on="l.x = r.x", window=sj.within("1 second"), time="ts", how=how, layout=layout)


@pytest.mark.parametrize(("said", "meant"), [("outer", "full"), ("leftouter", "left"), ("semi", "left_semi")])
def test_spark_s_other_names_are_understood(spark: SparkSession, said: str, meant: str) -> None:
    rows = spark.createDataFrame([], "ts timestamp, x int")
    told = sj.explain(rows, rows, on="l.x = r.x", window=sj.within("1 second"), time="ts", how=said)
    assert f"how     {meant}" in told.plan


def test_a_semi_join_has_the_columns_of_the_left_side(spark: SparkSession) -> None:
    rows = spark.createDataFrame([], "ts timestamp, x int")
    arguments = {"on": "l.x = r.x", "window": sj.within("1 second"), "time": "ts"}
    for how in ("left_semi", "left_anti"):
        assert sj.join(rows, rows, how=how, **arguments).columns == ["ts", "x", "join_time"]
        with pytest.raises(sj.StreamJoinError, match=r"select: a result of how='left_\w+' is a left row"):
            sj.join(rows, rows, how=how, select=["r.x"], **arguments)
