"""ScaleJoin's and CellJoin's numbers."""

import pytest

from streamjoin.model.comparisons import find_scan_rate, find_sustainable_rates
from streamjoin.model.pairs import Sides, find_pair_rate
from streamjoin.spec.window import Window, between, last, tumbling, within
from tests.unit.model.figures import CELL_JOIN, SCALE_JOIN, SCALE_JOIN_RATES


def test_300_million_comparisons_of_scale_join() -> None:
    window = within(f"{SCALE_JOIN['window']} seconds")
    assert find_pair_rate(window, Sides.equal(SCALE_JOIN["rate"])) == SCALE_JOIN["comparisons"]
    assert find_sustainable_rates(window, Sides(1, 1), SCALE_JOIN["comparisons"]) == Sides.equal(SCALE_JOIN["rate"])


@pytest.mark.parametrize(("window", "in_all", "comparisons"), SCALE_JOIN_RATES)
def test_rates_and_comparisons_of_scale_join(window: int, in_all: float, comparisons: float) -> None:
    rates = find_sustainable_rates(within(f"{window} seconds"), Sides(1, 1), comparisons)
    assert rates.left + rates.right == pytest.approx(in_all, rel=0.05)  # read off curves: "approximately"


@pytest.mark.parametrize("workers", [4, 16, 48])
def test_rates_grow_with_the_root_of_the_workers_and_in_count_windows_with_their_number(workers: int) -> None:
    mix, speed = Sides(1, 2), 1e8
    for window, growth in ((within("5 minutes"), workers**0.5), (tumbling("1 hour"), workers**0.5), (last(9), workers)):
        one, many = (find_sustainable_rates(window, mix, n * speed) for n in (1, workers))
        assert many.left / one.left == pytest.approx(growth)


@pytest.mark.parametrize(
    "window",
    [
        within(left="7 minutes", right="0 seconds"),
        between("-9 seconds", "-3 seconds"),
        tumbling("90 seconds"),
        last(left=1000, right=0),
        last(2000) & within("1 minute"),
        last(10**9) & within("1 minute"),
        last(10) & tumbling("1 minute"),
    ],
    ids=str,
)
@pytest.mark.parametrize("mix", [Sides(1, 1), Sides(10, 1)], ids=str)
def test_sustainable_rates_use_up_the_speed(window: Window, mix: Sides) -> None:
    rates = find_sustainable_rates(window, mix, 5e6)
    assert find_pair_rate(window, rates) == pytest.approx(5e6)
    assert rates.left / rates.right == pytest.approx(mix.left / mix.right)


def test_bytes_per_second_of_cell_join() -> None:
    window, rates = within(f"{CELL_JOIN['window']} seconds"), Sides.equal(CELL_JOIN["rate"])
    scanned = find_scan_rate(window, rates, Sides.equal(CELL_JOIN["bytes"]))
    assert scanned / 2**30 == pytest.approx(CELL_JOIN["GB/s"], abs=0.05)


def test_bytes_are_those_of_the_window_that_is_scanned() -> None:
    one_way, both_ways = within(left="10 seconds", right="0 seconds"), within(left="10 seconds", right="5 seconds")
    assert find_scan_rate(one_way, Sides(2, 3), Sides(8, 1000)) == 3 * 20 * 8  # right rows scan left ones alone
    assert find_scan_rate(both_ways, Sides(2, 3), Sides(8, 1000)) == 3 * 20 * 8 + 2 * 15 * 1000
