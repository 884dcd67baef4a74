"""The join on Spark yields what the reference says, and counts what it drops: for any rows, cut into any micro-batches.

A query is dear, so each runs one long history that Hypothesis chose: disorder, ties, NULLs, NaN, duplicates, late rows,
batches without rows, leaps that empty the windows. The tables below give each condition a window and a layout.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from math import isnan
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy
from pyspark.sql import Row, SparkSession

import streamjoin as sj
from streamjoin import reference
from streamjoin.layout import Cell, Grid, Keyed, Layout, Scale
from streamjoin.reference import Batch, Joined
from streamjoin.spec.how import How
from streamjoin.spec.window import Window
from tests.spark.harness import batches, feed, micros, run, watermarks
from tests.strategies import CLOSED, multiset, us

LEFT, RIGHT = ("ts", "x", "y", "s"), ("ts", "a", "b", "s")
DDL = "{} timestamp, {} int, {} double, {} string"
NAN = float("nan")
Sides = tuple[list[list[dict[str, Any]]], list[list[dict[str, Any]]]]
T = TypeVar("T")


# Conditions, in SQL and in Python


def unless_null(*names: str) -> Callable[[Callable[..., bool]], Callable[[Any, Any], bool | None]]:
    """A condition on columns such as ``l.x``, none of which may be NULL."""

    def decide(holds: Callable[..., bool]) -> Callable[[Any, Any], bool | None]:
        def on(l: Any, r: Any) -> bool | None:
            values = [(l if name[0] == "l" else r)[name[2:]] for name in names]
            return None if None in values else holds(*values)

        return on

    return decide


def at_most(u: float, v: float) -> bool:
    """As Spark orders numbers: NaN is the greatest, and equal to itself."""
    return isnan(v) or (not isnan(u) and u <= v)


def edits(s: str, t: str) -> int:
    """Levenshtein's distance, by definition."""
    if not s or not t:
        return len(s) + len(t)
    return min(edits(s[1:], t) + 1, edits(s, t[1:]) + 1, edits(s[1:], t[1:]) + (s[0] != t[0]))


CONDITIONS: dict[str, Callable[[Any, Any], bool | None]] = {
    "true": lambda l, r: True,
    "l.x = r.a": unless_null("l.x", "r.a")(lambda x, a: x == a),
    "l.x <=> r.a": lambda l, r: l["x"] == r["a"],
    "l.s = r.s": unless_null("l.s", "r.s")(lambda s, t: s == t),
    "abs(l.x - r.a) <= 1": unless_null("l.x", "r.a")(lambda x, a: abs(x - a) <= 1),
    "abs(l.x - r.a) <= 1 AND abs(l.y - r.b) <= 0.5": unless_null("l.x", "r.a", "l.y", "r.b")(
        lambda x, a, y, b: abs(x - a) <= 1 and abs(y - b) <= 0.5
    ),
    "l.y <= r.b": unless_null("l.y", "r.b")(at_most),
    "l.x * r.a + l.y > r.b": unless_null("l.x", "r.a", "l.y", "r.b")(lambda x, a, y, b: not at_most(x * a + y, b)),
    "upper(l.s) = upper(r.s)": unless_null("l.s", "r.s")(lambda s, t: s.upper() == t.upper()),
    "levenshtein(l.s, r.s) <= 1 AND abs(l.x - r.a) <= 2": unless_null("l.s", "r.s", "l.x", "r.a")(
        lambda s, t, x, a: edits(s, t) <= 1 and abs(x - a) <= 2
    ),
    "l.x = r.a AND l.y >= 0.5 AND r.s <> 'a'": unless_null("l.x", "r.a", "l.y", "r.s")(
        lambda x, a, y, s: x == a and at_most(0.5, y) and s != "a"
    ),
    "r.a <> 0 AND l.x = 10 / r.a": unless_null("l.x", "r.a")(lambda x, a: a != 0 and x == 10 / a),
}
ENTERS: dict[str, tuple[Callable[[Any], bool], Callable[[Any], bool]]] = {
    "l.x = r.a AND l.y >= 0.5 AND r.s <> 'a'": (
        lambda l: l["y"] is not None and at_most(0.5, l["y"]),
        lambda r: r["s"] not in (None, "a"),
    ),
    "r.a <> 0 AND l.x = 10 / r.a": (lambda l: True, lambda r: r["a"] not in (None, 0)),
}
"""Which rows of each side the one-sided parts of a condition let in: the others are not counted, as late or at all."""

QUICK = "r.a <> 0 AND l.x = 10 / r.a"
"""The condition for every run: Spark evaluates a part of it. The others are simulated, and take their turn here with
the slow tests."""
EVERY_SPARK = "levenshtein(l.s, r.s) <= 1 AND abs(l.x - r.a) <= 2"
"""The one for other releases of Spark."""
OTHER_SPARKS = (pytest.mark.every_spark, pytest.mark.slow)

LAYOUTS: list[Layout] = [Grid(2, 3), Scale(3), Grid(1, 2), Cell(3), Grid(2, 1), Grid(1, 1)]
KEYED: dict[str, Layout] = {
    "l.s = r.s": Keyed(3),
    "l.x <=> r.a": Keyed(4, spread=2),
    "l.x = r.a": Cell(4, hashed=True),
    "abs(l.x - r.a) <= 1": Keyed(3),
    "abs(l.x - r.a) <= 1 AND abs(l.y - r.b) <= 0.5": Keyed(8, spread=2),
    "r.a <> 0 AND l.x = 10 / r.a": Keyed(5),
}
"""Conditions that have something to go by are run in a layout that goes by it."""

WINDOWS: list[Window] = [
    *(sj.within("4 milliseconds", closed=closed) for closed in CLOSED),
    sj.tumbling("5 milliseconds"),
    *(sj.between("-6 milliseconds", us(-1000), closed=closed) for closed in CLOSED),
    sj.within(left=us(0), right=us(7001)),
    *(sj.between("1 millisecond", "9 milliseconds", closed=closed) for closed in CLOSED),
    sj.tumbling(us(3001), offset="1 millisecond"),
]


# Histories


@dataclass(frozen=True)
class History:
    """Rows of both sides by micro-batch, and the delay of each side; in microseconds."""

    left: list[list[dict[str, Any]]]
    right: list[list[dict[str, Any]]]
    delay: tuple[int, int]


def rows(names: tuple[str, ...], now: int) -> SearchStrategy[list[dict[str, Any]]]:
    """Some rows around a time; often several at one, some on either side of a whole millisecond."""
    times = [(now + ms) * 1000 + rest for ms in range(-8, 5) for rest in (0, 0, 1, 999)]
    row = st.tuples(
        st.sampled_from([*times, None]),
        st.sampled_from([0, 1, 1, 2, 5, 10, None]),
        st.sampled_from([0.0, -0.0, 0.5, 1.5, NAN, None]),
        st.sampled_from(["", "a", "A", "ab", "é", None]),
    ).map(lambda values: dict(zip(names, values, strict=True)))
    some = st.lists(row, min_size=4, max_size=14)
    again = some.map(lambda found: found + found[:2])
    return st.one_of(some, again, some, st.just([]))


@st.composite
def histories(draw: DrawFn) -> History:
    """Six micro-batches; time goes on steadily, stands still or leaps, and one side may run ahead."""
    now = draw(st.sampled_from([-12, 0, 20, 1_800_000_000_000]))
    left, right = [], []
    for _ in range(6):
        now += draw(st.sampled_from([0, 3, 6, 6, 200]))
        left.append(draw(rows(LEFT, now)))
        right.append(draw(rows(RIGHT, now + draw(st.sampled_from([0, 0, 5])))))
    delay = st.sampled_from([0, 1, 3, 9, 40])
    return History(left, right, (draw(delay) * 1000, draw(delay) * 1000))


def drawn(strategy: SearchStrategy[T], count: int) -> list[T]:
    """What Hypothesis comes up with; it is not asked to shrink what takes seconds to run."""
    found: list[T] = []

    @settings(max_examples=count, phases=[Phase.generate], database=None, suppress_health_check=list(HealthCheck))
    @given(strategy)
    def draw(example: T) -> None:
        found.append(example)

    draw()
    return found


# The law


def expected(on: str, window: Window, history: History, how: How = "inner") -> reference.Result:
    """What the law says; the last batch, without rows, is the one that Spark runs once the watermark has moved."""
    last = Batch([], [], watermarks((history.left, history.right), history.delay)[-1])
    cut = [*batches(history.left, history.right, history.delay), last]
    return reference.join(cut, CONDITIONS[on], window, how, ended=False)


def rich(on: str, window: Window, count: int, how: How = "inner") -> History:
    """Of so many histories, the one with the most to get wrong: different results, distances, late rows."""

    def worth(history: History) -> int:
        result = expected(on, window, history, how)
        distances = {j.right["ts"] - j.left["ts"] for j in result.rows if j.left and j.right}
        late = 10 * min(result.late_left, 5) + 10 * min(result.late_right, 5)
        return len(multiset(result.rows)) + 4 * len(distances) + late

    return max(drawn(histories(), count), key=worth)


def check(
    spark: SparkSession,
    scratch: Path,
    on: str,
    window: Window,
    layout: Layout | str,
    history: History,
    how: How = "inner",
) -> None:
    left, right = (
        feed(scratch, DDL.format(*names), rows) for names, rows in ((LEFT, history.left), (RIGHT, history.right))
    )
    joined = sj.join(
        left.stream(spark),
        right.stream(spark),
        on=on,
        window=window,
        time="ts",
        delay=(us(history.delay[0]), us(history.delay[1])),
        layout=layout,
        how=how,
    )
    found = run(joined)
    law = expected(on, window, history, how)
    marks = watermarks((history.left, history.right), history.delay)
    assert found.watermarks == marks[: len(found.watermarks)]
    assert multiset(map(as_joined, found.rows)) == multiset(law.rows), history
    assert sum(found.metric("late_left")) == late(on, 0, history, marks, how), history
    assert sum(found.metric("late_right")) == late(on, 1, history, marks, how), history
    assert sum(found.metric("invalid_rows")) == law.invalid, history


def late(on: str, side: int, history: History, marks: list[int | None], how: How) -> int:
    """How many rows of a side enter the join too late."""
    preserved = how in (("left", "full", "left_anti"), ("right", "full"))[side]
    enters = (lambda row: True) if preserved or on not in ENTERS else ENTERS[on][side]
    pairs = zip((history.left, history.right)[side], marks, strict=False)
    return sum(
        mark is not None and row["ts"] is not None and row["ts"] < mark and enters(row)
        for rows, mark in pairs
        for row in rows
    )


def as_joined(row: Row) -> Joined:
    times = ("ts", "ts_l", "ts_r", "join_time")
    values = [micros(value) if name in times else value for name, value in row.asDict().items()]
    left, right = dict(zip(LEFT, values[:4], strict=True)), dict(zip(RIGHT, values[4:-1], strict=False))
    return Joined(*(side if side.get("ts") is not None else None for side in (left, right)), values[-1])


@pytest.mark.parametrize(
    "on",
    [
        pytest.param(on, marks=OTHER_SPARKS if on == EVERY_SPARK else () if on == QUICK else pytest.mark.slow)
        for on in CONDITIONS
    ],
)
def test_any_history_gives_the_reference_s_rows(spark: SparkSession, tmp_path: Path, on: str) -> None:
    number = list(CONDITIONS).index(on)
    window, layout = WINDOWS[number % len(WINDOWS)], KEYED.get(on, LAYOUTS[number % len(LAYOUTS)])
    check(spark, tmp_path, on, window, layout, rich(on, window, 20))


@pytest.mark.slow
@pytest.mark.parametrize(("on", "layout"), [*product(CONDITIONS, LAYOUTS), *KEYED.items()], ids=str)
def test_any_history_under_any_window_and_layout(spark: SparkSession, tmp_path: Path, on: str, layout: Layout) -> None:
    for window in drawn(st.sampled_from(WINDOWS), 3):
        check(spark, tmp_path, on, window, layout, rich(on, window, 8))
