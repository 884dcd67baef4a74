"""How the comparisons of a join fall on its cells, as its own metrics tell."""

from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession

import streamjoin as sj
from streamjoin.layout import Layout
from tests.spark.harness import Run, feed, run

ROWS = 4000


def joined(spark: SparkSession, scratch: Path, layout: Layout, hot: float) -> Run:
    """Two streams of which so large a part has one key, the rest one of a thousand."""
    rng = np.random.default_rng(3)
    sides = []
    for _ in range(2):
        keys = np.where(rng.random(ROWS) < hot, 0, rng.integers(1, 1000, ROWS))
        values = zip(range(ROWS), keys.tolist(), rng.permutation(ROWS).tolist(), strict=True)
        rows = [{"ts": n * 1000, "k": k, "x": x} for n, k, x in values]
        sides.append(feed(scratch, "ts timestamp, k int, x int", [rows[: ROWS // 2], rows[ROWS // 2 :]]).stream(spark))
    on = "l.k = r.k AND abs(l.x - r.x) <= 1"
    window = sj.within("1 second")
    return run(sj.join(*sides, on=on, window=window, time="ts", delay="0 seconds", layout=layout, select=["l.x"]))


@pytest.mark.parametrize(
    ("layout", "least", "most"),
    [
        pytest.param(sj.Keyed(4), 100, 180, marks=pytest.mark.slow),
        pytest.param(sj.Keyed(4, spread=2), 0, 15, marks=pytest.mark.slow),
        pytest.param(sj.Grid(2, 2), 0, 15, marks=pytest.mark.slow),
        pytest.param(sj.Scale(4), 0, 15, marks=pytest.mark.slow),
        pytest.param(sj.Grid(3, 3), 0, 20, marks=pytest.mark.slow),  # more cells than partitions
    ],
    ids=str,
)
def test_a_hot_key_keeps_one_cell_busy_unless_its_rows_are_spread(
    spark: SparkSession, tmp_path: Path, layout: Layout, least: float, most: float
) -> None:
    found = joined(spark, tmp_path, layout, hot=0.9)
    assert least <= max(found.metric("load_std_percent")) <= most
    assert {len(loads) for loads in found.metric("loads") if loads} == {layout.cells}
    assert sum(found.metric("rows_sent")) == pytest.approx(2 * ROWS * layout_copies(layout), rel=0.01)


def layout_copies(layout: Layout) -> float:
    """How many cells a row is sent to, on both sides alike."""
    match layout:
        case sj.Grid(m, _):
            return m
        case sj.Keyed(_, spread):
            return spread
    return layout.cells
