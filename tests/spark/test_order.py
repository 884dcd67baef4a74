"""Order on Spark: the sink's rows, in the order in which they came, are the reference's sequence.

The ties among rows of one time are hashes that Spark computes: the reference is told them.
"""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

import streamjoin as sj
from streamjoin import reference
from streamjoin.layout import Grid, Layout
from streamjoin.reference import Batch
from streamjoin.spark.rowhash import hash_row
from streamjoin.spec.how import How
from streamjoin.spec.side import SIDES
from streamjoin.spec.window import Window
from tests.spark.harness import Feed, batches, feed, micros, run, watermarks
from tests.spark.test_law import CONDITIONS, DDL, LEFT, OTHER_SPARKS, RIGHT, History, as_joined, rich
from tests.strategies import multiset, us

ON = "abs(l.x - r.a) <= 1"


def ties_of(spark: SparkSession, left: Feed, right: Feed) -> Callable[[str, Any], int]:
    """The hash of every row, as Spark has it."""
    found = {}
    for side, given, names in zip(SIDES, (left, right), (LEFT, RIGHT), strict=True):
        table = given.table(spark)
        for *values, tie in table.selectExpr("*", hash_row(side, table.schema)).collect():
            row = dict(zip(names, values, strict=True))
            found[side, repr({**row, "ts": micros(row["ts"])})] = tie
    return lambda side, row: found[side[0], repr(dict(row))]


def check(
    spark: SparkSession, scratch: Path, window: Window, layout: Layout, how: How, ordered: bool, history: History
) -> None:
    left, right = (
        feed(scratch, DDL.format(*names), rows) for names, rows in ((LEFT, history.left), (RIGHT, history.right))
    )
    tie = ties_of(spark, left, right)
    arguments = {"on": ON, "window": window, "time": "ts", "layout": layout, "how": how, "ordered": ordered}
    delay = tuple(map(us, history.delay))
    found = run(sj.join(left.stream(spark), right.stream(spark), delay=delay, **arguments))
    cut = batches(history.left, history.right, history.delay)
    cut.append(Batch([], [], watermarks((history.left, history.right), history.delay)[-1]))
    law = reference.join(cut, CONDITIONS[ON], window, how, tie=tie, ordered=ordered, ended=False)
    rows = list(map(as_joined, found.rows))
    assert multiset(rows) == multiset(law.rows), history
    held = sum(row["ts"] >= cut[-1].watermark for b in cut for row in admitted(b))
    assert found.metric("held_rows")[-1] == held
    everything = Batch(
        [row for batch in history.left for row in batch], [row for batch in history.right for row in batch]
    )
    past = sj.join(left.table(spark), right.table(spark), **arguments).collect()
    whole = reference.join([everything], CONDITIONS[ON], window, how, tie=tie, ordered=ordered)
    assert multiset(map(as_joined, past)) == multiset(whole.rows), history
    if ordered:
        assert list(map(repr, rows)) == list(map(repr, law.rows)), history
        assert list(map(repr, map(as_joined, past))) == list(map(repr, whole.rows)), history


def admitted(batch: Batch) -> list[Any]:
    mark = batch.watermark
    return [r for r in [*batch.left, *batch.right] if r["ts"] is not None and (mark is None or r["ts"] >= mark)]


@pytest.mark.parametrize(
    ("window", "layout", "how", "ordered"),
    [
        pytest.param(sj.within("4 milliseconds"), Grid(2, 2), "full", True, marks=pytest.mark.every_spark),
        pytest.param(sj.last(4) & sj.within("9 milliseconds"), Grid(2, 1), "left", True, marks=OTHER_SPARKS),
        pytest.param(sj.tumbling("5 milliseconds"), Grid(2, 1), "left_anti", True, marks=pytest.mark.slow),
        pytest.param(sj.within("4 milliseconds"), sj.Scale(3), "inner", True, marks=pytest.mark.slow),
        pytest.param(sj.last(left=3, right=5), Grid(2, 2), "full", False, marks=pytest.mark.slow),
        pytest.param(sj.last(5), sj.Keyed(4, spread=2), "inner", True, marks=pytest.mark.slow),
        pytest.param(sj.last(2), Grid(3, 1), "left_semi", True, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_the_sink_sees_the_reference_s_sequence(
    spark: SparkSession, tmp_path: Path, window: Window, layout: Layout, how: How, ordered: bool
) -> None:
    check(spark, tmp_path, window, layout, how, ordered, rich(ON, window, 12, how))


@pytest.mark.slow
def test_update_mode_gives_the_same_and_complete_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    rows = [[{"ts": 10**12 + 10_000 * k + n, "n": n} for n in range(5)] for k in range(3)]
    sides = [feed(tmp_path, "ts TIMESTAMP, n INT", rows).stream(spark) for _ in range(2)]
    near = {"on": "l.n <= r.n", "window": sj.within("1 second"), "time": "ts", "delay": "0 seconds"}
    ordered = sj.join(*sides, ordered=True, **near)
    seen: dict[str, list[tuple[Any, ...]]] = {"append": [], "update": []}
    for mode, found in seen.items():

        def keep(batch: DataFrame, _: int, found: list[tuple[Any, ...]] = found) -> None:
            found.extend(map(tuple, batch.collect()))

        ordered.writeStream.outputMode(mode).foreachBatch(keep).trigger(availableNow=True).start().awaitTermination()
    assert len(seen["append"]) > 50
    assert seen["update"] == seen["append"]
    with pytest.raises(AnalysisException, match="output mode: complete"):
        ordered.writeStream.outputMode("complete").format("noop").start()


# ScaleJoin's case studies (section VI-D, Figure 8): rows a second of each physical stream, by second


def constant(rate: float) -> Callable[[float], float]:
    return lambda t: rate


def wave(rate: float, swing: float, period: float) -> Callable[[float], float]:
    return lambda t: rate * (1 + swing * math.sin(2 * math.pi * t / period))


def peaks(rate: float, at: float) -> Callable[[float], float]:
    return lambda t: rate * (6 if at <= t % 8 < at + 1 else 1)


CASES = {
    "1 + 4, constant": ([constant(1200)], [constant(225)] * 4),
    "3 + 2, waves": ([wave(400, 0.5, 5 + k) for k in range(3)], [wave(500, 0.8, 7 - k) for k in range(2)]),
    "4 + 2, peaks": ([peaks(150, k) for k in range(4)], [peaks(250, 2 * k) for k in range(2)]),
}
"""The rates of ScaleJoin's Fig. 8, rows a second of each physical stream; the reference takes a minute for each."""


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_scalejoin_s_case_studies_give_one_sequence_from_many_physical_streams(
    spark: SparkSession, tmp_path: Path, case: str
) -> None:
    rng = np.random.default_rng(7)
    sides = [
        [arrivals(rng, rate, names) for rate in rates] for rates, names in zip(CASES[case], (LEFT, RIGHT), strict=True)
    ]
    feeds = [
        [feed(tmp_path, DDL.format(*names), rows) for rows in side]
        for side, names in zip(sides, (LEFT, RIGHT), strict=True)
    ]
    left, right = ([f.stream(spark) for f in side] for side in feeds)
    window = sj.within("2 seconds")
    found = run(
        sj.join(left, right, on=ON, window=window, time="ts", delay="0 seconds", ordered=True, layout=sj.Scale(3))
    )
    physical = [stream for side in sides for stream in side]
    marks = watermarks(physical, [0] * len(physical))
    merged = [[[row for stream in side for row in stream[k]] for k in range(len(side[0]))] for side in sides]
    cut = [Batch(l, r, mark) for l, r, mark in zip(*merged, marks, strict=False)] + [Batch([], [], marks[-1])]
    law = reference.join(cut, CONDITIONS[ON], window, ordered=True, ended=False)
    rows = list(map(as_joined, found.rows))
    assert len(law.rows) > 1000
    assert list(map(repr, rows)) == list(map(repr, law.rows))


def arrivals(
    rng: np.random.Generator, rate: Callable[[float], float], names: tuple[str, ...]
) -> list[list[dict[str, Any]]]:
    """One physical stream in order of time, a second a micro-batch; no two of its rows have one time."""
    batches = []
    for second in range(6):
        times = np.unique((second + rng.random(rng.poisson(rate(second)))) * 1e6).astype(int) + 10**12
        values = rng.integers(0, 2000, len(times)).tolist()
        batches.append(
            [dict(zip(names, (t, x, None, None), strict=True)) for t, x in zip(times.tolist(), values, strict=True)]
        )
    return batches
