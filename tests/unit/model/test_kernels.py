"""The kernels' costs are those that `match` decides by."""

import pytest

from streamjoin.kernel import nested
from streamjoin.match import choose
from streamjoin.model import kernels
from streamjoin.model.constants import SHIPPED, Constants
from streamjoin.model.kernels import Met, estimate_probe, find_comparison_speed


def test_the_constants_are_those_of_match() -> None:
    """Until they have one home below both."""
    for name in (
        *("NESTED_PAIR", "NESTED_LOOK", "COMPILED_PAIR", "CHECKED_PAIR"),
        *("BUCKETS_START", "BUCKETS_BUILD", "BUCKETS_PROBE", "BUCKETS_CANDIDATE"),
        *("ORDERED_BUILD", "ORDERED_STEP", "ORDERED_CANDIDATE"),
    ):
        assert getattr(SHIPPED, name.lower()) == getattr(choose, name)
    assert kernels.STRIP == nested.STRIP


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
def test_a_probe_by_hand(kernel: kernels.Kernel) -> None:
    met = Met(1000, 10, 2)
    assert estimate_probe(kernel, met, constants=CONSTANTS) * 1e9 == pytest.approx(COSTS[kernel])
    checked = estimate_probe(kernel, met, checked=True, constants=CONSTANTS) * 1e9
    assert checked - COSTS[kernel] == pytest.approx(0 if kernel == "compiled" else 200, abs=1e-3)


def test_a_strip_is_looked_at_once() -> None:
    met = Met(1000, 1000, 1000)
    assert estimate_probe("nested", met, constants=CONSTANTS) * 1e9 == pytest.approx(3000)


def test_segments_are_probed_one_by_one() -> None:
    met = Met(100_000, 100, 40)
    for kernel, fixed in (("buckets", 80e-9), ("nested", 0.0)):
        once, often = (estimate_probe(kernel, met, segments=n) for n in (1, 5))  # type: ignore[arg-type]
        assert often - once == pytest.approx(4 * fixed, abs=20e-9)


def test_the_nested_loop_compares_as_fast_as_it_was_measured() -> None:
    """10.8 G pairs/s in the cache (micro-nested-loop.md)."""
    assert find_comparison_speed() == pytest.approx(10.8e9, rel=0.1)
