"""The kernels' costs are those that `match` decides by."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from streamjoin.kernel.costs import Kernel
from streamjoin.match import choose
from streamjoin.match.dimension import Dimension
from streamjoin.model.constants import Constants
from streamjoin.model.kernels import Probe, estimate_probe, find_comparison_speed


@dataclass(frozen=True)
class Band(Dimension):
    """As much of a band as the choice of a kernel asks for."""

    wide: float

    @property
    def width(self) -> float:
        return self.wide

    def values(self, side: Any, rows: Any) -> Any:
        raise NotImplementedError

    def intervals(self, side: Any, rows: Any, like: Any) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize("rows", [10, 300, 1_000, 3_000, 30_000, 300_000])
@pytest.mark.parametrize("width", [1e-6, 1e-3, 0.02, 0.1, 0.3, 0.9])
def test_match_takes_the_kernel_that_the_model_finds_cheapest(rows: int, width: float) -> None:
    """Two bands on values from 0 to 1; the buckets of both are as wide as the bands are."""
    rng = np.random.default_rng(5)
    bands, columns = [Band(width), Band(width / 2)], [rng.random(rows), rng.random(rows)]
    share = [choose.selectivity(band, column) for band, column in zip(bands, columns, strict=True)]
    matches = rows * share[0] * share[1]
    costs = {
        "nested": estimate_probe("nested", Probe(rows, rows, matches)),
        "ordered": estimate_probe("ordered", Probe(rows, rows * min(share), matches)),
    }
    narrow = [k for k in (0, 1) if share[k] < 0.5]
    if narrow:
        touched = [choose.selectivity(bands[k], columns[k], buckets=True) for k in narrow]
        costs["buckets"] = estimate_probe("buckets", Probe(rows, rows * float(np.prod(touched)), matches))
    assert choose.choose(bands, columns).kernel == min(costs, key=lambda kernel: costs[kernel])


#  1000 rows, 10 of them candidates, 2 of them matches
#  nested     1000 * 1 + 256 looked at again * 2               1512
#  buckets    1001 / 1001 + 3 + 4 + 10 * 5                       58
#  ordered    6 + log2(1002) * 7 + 10 * 8                      155.8
#  compiled   1000 * 9                                         9000
#  checked    2 * 100 more
CONSTANTS = Constants(
    nested_pair=1,
    nested_look=2,
    buckets_start=1001,
    buckets_build=3,
    buckets_probe=4,
    buckets_candidate=5,
    ordered_build=6,
    ordered_step=7,
    ordered_candidate=8,
    compiled_pair=9,
    checked_pair=100,
)
COSTS = {"nested": 1512, "buckets": 58, "ordered": 155.7807, "compiled": 9000}


@pytest.mark.parametrize("kernel", COSTS)
def test_a_probe_by_hand(kernel: Kernel) -> None:
    probe = Probe(1000, 10, 2)
    assert estimate_probe(kernel, probe, constants=CONSTANTS) * 1e9 == pytest.approx(COSTS[kernel])
    checked = estimate_probe(kernel, probe, checked=True, constants=CONSTANTS) * 1e9
    assert checked - COSTS[kernel] == pytest.approx(0 if kernel == "compiled" else 200, abs=1e-3)


def test_a_strip_is_looked_at_once() -> None:
    probe = Probe(1000, 1000, 1000)
    assert estimate_probe("nested", probe, constants=CONSTANTS) * 1e9 == pytest.approx(3000)


def test_segments_are_probed_one_by_one() -> None:
    probe = Probe(100_000, 100, 40)
    for kernel, fixed in (("buckets", 60e-9), ("nested", 0.0)):
        once, often = (estimate_probe(kernel, probe, segments=n) for n in (1, 5))  # type: ignore[arg-type]
        assert often - once == pytest.approx(4 * fixed, abs=20e-9)


def test_the_nested_loop_compares_as_fast_as_it_was_measured() -> None:
    """10.8 G pairs/s in the cache (micro-nested-loop.md)."""
    assert find_comparison_speed() == pytest.approx(10.8e9, rel=0.1)
