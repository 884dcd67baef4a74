"""The thesis' and DP-Join's output formulae, in the papers' numbers."""

import math

import pytest

from streamjoin.model.outputs import count_outputs, find_output_rate
from streamjoin.model.pairs import Sides
from streamjoin.spec.window import within
from tests.unit.model.figures import DP_JOIN, HIT_RATE, TABLE_4_1


@pytest.mark.parametrize(("window", "left", "right", "seconds", "predicted", "actual", "error"), TABLE_4_1)
def test_table_4_1(window: int, left: int, right: int, seconds: int, predicted: int, actual: int, error: float) -> None:
    outputs = count_outputs(within(f"{window} seconds"), Sides(left, right), HIT_RATE, seconds)
    assert round(outputs) == predicted
    assert outputs == pytest.approx(predicted, rel=1e-12)
    assert math.floor((actual - outputs) / outputs * 1e4) / 100 == error


def test_maximum_bandwidth_of_dp_join() -> None:
    rate, window = DP_JOIN["rate"], within(f"{DP_JOIN['window']} seconds")
    assert find_output_rate(window, Sides.equal(rate), DP_JOIN["p"]) == pytest.approx(DP_JOIN["most"])


def test_full_windows_over_an_interval_are_the_rate_times_its_length() -> None:
    window, rates = within(left="300 seconds", right="100 seconds"), Sides(800, 1200)
    steady = count_outputs(window, rates, HIT_RATE, 1000, since=400)
    assert steady == pytest.approx(600 * 800 * 1200 * 400 * HIT_RATE)  # thesis (4.1)
    assert steady == pytest.approx(600 * find_output_rate(window, rates, HIT_RATE))
