"""The benchmark's rows are what the model says of them."""

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from streamjoin.cli.workload import BAND, Workload
from streamjoin.model.pairs import count_pairs
from streamjoin.spec.window import within


def test_the_hit_rate_of_the_papers_benchmark() -> None:
    assert Workload().hit_rate == pytest.approx(4.196e-6, rel=1e-4)


@pytest.mark.parametrize("skew", [0.0, 0.5])
def test_rows_match_at_the_hit_rate(skew: float) -> None:
    load = Workload(rate=60_000, step=1, skew=skew)
    x, y, a, b = (
        np.asarray(load.rows(side, 0, 0).column(name)).astype(np.float64)
        for side, name in (("left", "x"), ("left", "y"), ("right", "a"), ("right", "b"))
    )
    order = np.argsort(a)
    a, b = a[order], b[order]
    first, last = np.searchsorted(a, x - BAND, "left"), np.searchsorted(a, x + BAND, "right")
    found = sum(int((abs(b[first[at] : last[at]] - y[at]) <= BAND).sum()) for at in range(len(x)))
    assert found / len(x) ** 2 == pytest.approx(load.hit_rate, rel=0.03)


def test_pairs_of_all_steps_are_as_predicted() -> None:
    load = Workload(rate=300, seconds=20, step=4, streams=2)
    left, right = np.sort(times(load, "left")), np.sort(times(load, "right"))
    near = np.searchsorted(right, left + 3_000_000, "right") - np.searchsorted(right, left - 3_000_000, "left")
    predicted = count_pairs(within("3 seconds"), load.rates, load.steps * load.step)
    assert near.sum() == pytest.approx(predicted, rel=0.002)


def times(load: Workload, side: str) -> NDArray[np.int64]:
    every = [load.rows(side, stream, step).column("ts") for stream in range(load.streams) for step in range(load.steps)]
    return np.concatenate([np.asarray(column.cast(pa.int64())) for column in every])
