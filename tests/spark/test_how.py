"""Outer, semi and anti joins on Spark yield what the reference says, in every layout that serves them."""

from collections import Counter
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import streamjoin as sj
from streamjoin import reference
from streamjoin.layout import Cell, Grid, Keyed, Layout, Scale
from streamjoin.reference import Batch, Row
from streamjoin.spec.how import HOWS, How
from streamjoin.spec.window import Window
from tests.spark.harness import Feed, feed, micros, run
from tests.spark.live import settings
from tests.spark.test_law import CONDITIONS, DDL, LEFT, OTHER_SPARKS, RIGHT, WINDOWS, as_joined, check, rich
from tests.strategies import multiset

BANDS = "abs(l.x - r.a) <= 1 AND abs(l.y - r.b) <= 0.5"
TEXTS = "levenshtein(l.s, r.s) <= 1 AND abs(l.x - r.a) <= 2"
GUARDED = "r.a <> 0 AND l.x = 10 / r.a"
SIDED = "l.x = r.a AND l.y >= 0.5 AND r.s <> 'a'"
CASES: list[tuple[How, str, Window, Layout | str]] = [
    ("left", TEXTS, WINDOWS[1], Keyed(3)),
    ("left_semi", BANDS, sj.between("1 millisecond", "9 milliseconds", closed="left"), "auto"),
    ("left_anti", SIDED, sj.within("4 milliseconds", closed="neither"), Grid(2, 2)),
]
"""For other releases of Spark; tests/simulation runs every kind in every run."""

MORE: list[tuple[How, str, Window, Layout | str]] = [
    ("full", GUARDED, sj.tumbling("5 milliseconds"), Grid(2, 2)),
    ("left", BANDS, WINDOWS[0], Keyed(3)),
    ("full", SIDED, sj.between("-6 milliseconds", "-1 millisecond"), Keyed(3)),
    ("right", "l.y <= r.b", sj.within(left="0 seconds", right="7 milliseconds"), "auto"),
]
SERVING: dict[How, list[Layout | str]] = {
    "left": ["auto", Grid(3, 1), Grid(2, 3)],
    "right": ["auto", Grid(1, 3), Grid(3, 2)],
    "full": ["auto", Grid(3, 2), Scale(1)],
    "left_semi": ["auto", Grid(3, 1)],
    "left_anti": ["auto", Grid(3, 1), Grid(1, 3)],
}


@pytest.mark.parametrize(
    ("how", "on", "window", "layout"),
    [
        *(pytest.param(*case, marks=OTHER_SPARKS) for case in CASES),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in MORE),
    ],
    ids=str,
)
def test_any_history_gives_the_reference_s_rows(
    spark: SparkSession, tmp_path: Path, how: How, on: str, window: Window, layout: Layout | str
) -> None:
    check(spark, tmp_path, on, window, layout, rich(on, window, 20, how), how)


@pytest.mark.parametrize(
    ("how", "on", "partitions"),
    [
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in [
                ("full", BANDS, 5),  # Grid(2, 2)
                ("inner", "l.s = r.s", 11),  # Keyed(8, spread=2)
                ("full", "l.s = r.s", 9),  # Keyed(9)
                ("full", BANDS, 17),  # Grid(4, 4)
                ("left_semi", BANDS, 17),  # Grid(16, 1)
                ("right", "l.y <= r.b", 3),  # Grid(1, 3)
            ]
        ),
    ],
)
def test_what_is_chosen_for_more_partitions_serves(
    spark: SparkSession, tmp_path: Path, how: How, on: str, partitions: int
) -> None:
    with settings(spark, {"spark.sql.shuffle.partitions": str(partitions)}):
        check(spark, tmp_path, on, WINDOWS[0], "auto", rich(on, WINDOWS[0], 20, how), how)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "how"), list(enumerate(HOWS[1:])))
def test_all_conditions_windows_and_layouts(spark: SparkSession, tmp_path: Path, number: int, how: How) -> None:
    for k, (on, layout) in enumerate(product(CONDITIONS, SERVING[how])):
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
    assert ["how", meant] in [line.split() for line in told.plan.splitlines()]


def test_a_semi_join_has_the_columns_of_the_left_side(spark: SparkSession) -> None:
    rows = spark.createDataFrame([], "ts timestamp, x int")
    arguments = {"on": "l.x = r.x", "window": sj.within("1 second"), "time": "ts"}
    for how in ("left_semi", "left_anti"):
        assert sj.join(rows, rows, how=how, **arguments).columns == ["ts", "x", "join_time"]
        with pytest.raises(sj.StreamJoinError, match=r"select: a result of how='left_\w+' is a left row"):
            sj.join(rows, rows, how=how, select=["r.x"], **arguments)


# What follows


FAR, SECOND = 10_000, 1_000_000


def stream(scratch: Path, *cut: list[int]) -> Feed:
    """Rows at these seconds, their x the same number; in the end one far away, so that all before it is decided."""
    rows = [[{"ts": s * SECOND, "x": s} for s in batch] for batch in (*cut, [FAR], [FAR + 1])]
    return feed(scratch, "ts timestamp, x int", rows)


def relation(*cut: list[int]) -> list[Row]:
    return [{"ts": s * SECOND, "x": s} for batch in cut for s in batch]


def joined(left: list[Row], right: list[Row], on: Callable[[Row, Row], bool | None], how: How) -> list[Row]:
    """The join of whole relations: what the law says of them without any watermark."""
    found = reference.join([Batch(left, right, None)], on, sj.within("3 seconds"), how, ended=True)
    return [
        {**{f"l_{k}": v for k, v in (j.left or {}).items()}, **{f"r_{k}": v for k, v in (j.right or {}).items()}}
        | {"ts": j.join_time}
        for j in found.rows
    ]


@pytest.mark.parametrize(
    ("first", "second", "third", "layout"),
    [
        pytest.param("left", "full", "left_anti", "auto", marks=OTHER_SPARKS),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in [("full", "left_semi", "left", sj.Grid(1, 1)), ("left_anti", "right", "full", sj.Grid(2, 2))]
        ),
    ],
)
def test_three_joins_in_a_row_see_each_other_s_rows_in_time(
    spark: SparkSession, tmp_path: Path, first: How, second: How, third: How, layout: Any
) -> None:
    a, b = ([1, 5, 9], [14, 20], [33], [50, 51]), ([2, 6], [15, 16], [26, 33], [58])
    c, d = ([1, 8], [17, 23], [36], [40, 51]), ([4, 9], [12, 20, 28], [39], [61])
    common = {"window": sj.within("3 seconds"), "layout": layout}
    one = sj.join(
        *(stream(tmp_path, *cut).stream(spark) for cut in (a, b)),
        **{"on": "l.x <> r.x", "time": "ts", "delay": "5 seconds", "how": first, "select": ["l.x"], **common},
    )
    two = sj.join(
        one,
        stream(tmp_path, *c).stream(spark),
        on="l.x > 1 AND r.x > 1",
        time=("join_time", "ts"),
        delay=(None, "5 seconds"),
        how=second,
        **({"select": ["l.x"]} | common),
    )
    three = sj.join(
        two,
        stream(tmp_path, *d).stream(spark),
        on="true",
        time=("join_time", "ts"),
        delay=(None, "5 seconds"),
        how=third,
        select=["l.x"],
        **common,
    )
    x = [relation(*cut) for cut in (a, b, c, d)]
    law = joined(x[0], x[1], lambda l, r: l["x"] != r["x"], first)
    law = [{"ts": row["ts"], "x": row.get("l_x")} for row in law]
    law = joined(law, x[2], lambda l, r: None if l["x"] is None else l["x"] > 1 and r["x"] > 1, second)
    law = [{"ts": row["ts"], "x": row.get("l_x")} for row in law]
    law = joined(law, x[3], lambda l, r: True, third)
    found = run(three)
    wanted = Counter((row.get("l_x"), row["ts"]) for row in law)
    assert Counter((r.x, micros(r.join_time)) for r in found.rows if micros(r.join_time) < FAR * SECOND) == wanted
    assert len(wanted) > 2
    for name in ("streamjoin", "streamjoin-2", "streamjoin-3"):
        assert sum(found.metric("late_left", name)) + sum(found.metric("late_right", name)) == 0


@pytest.mark.parametrize(
    ("how", "layout"),
    [
        pytest.param("full", sj.Grid(2, 2), marks=pytest.mark.every_spark),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in [
                ("left_semi", "auto"),
                ("left", "auto"),
                ("left", sj.Grid(2, 2)),
                ("right", "auto"),
                ("full", sj.Keyed(3)),
            ]
        ),
        pytest.param("left_anti", "auto", marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_a_batch_join_lets_everybody_out(spark: SparkSession, tmp_path: Path, how: How, layout: Any) -> None:
    history = rich(SIDED, WINDOWS[0], 10, how)
    left, right = ([row for batch in side for row in batch] for side in (history.left, history.right))
    frames = [feed(tmp_path, DDL.format(*names), [rows]).table(spark) for names, rows in ((LEFT, left), (RIGHT, right))]
    found = sj.join(*frames, on=SIDED, window=WINDOWS[0], time="ts", how=how, layout=layout).collect()
    law = reference.join([Batch(left, right, None)], CONDITIONS[SIDED], WINDOWS[0], how, ended=True)
    assert multiset(map(as_joined, found)) == multiset(law.rows)
