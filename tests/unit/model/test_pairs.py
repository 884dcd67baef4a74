"""Expected pairs against counting: exactly for regular arrivals, by the reference; within noise for Poisson ones."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from numpy.typing import NDArray

from streamjoin.model.pairs import Reach, Sides, count_pairs, count_partners, find_pair_rate, find_reach
from streamjoin.reference import Batch, join
from streamjoin.spec.window import Window, between, last, tumbling, within
from tests.strategies import us

EVEN = st.integers(-10, 10).map(lambda n: 2 * n)
SPAN = st.integers(1, 8).map(lambda n: 2 * n)
COUNT = st.integers(0, 4)
PERIOD = st.integers(1, 4)


def windows() -> SearchStrategy[Window]:
    betweens = st.tuples(EVEN, EVEN).map(lambda ends: between(us(min(ends)), us(max(ends))))
    withins = st.tuples(SPAN, SPAN).map(lambda stays: within(left=us(stays[0]), right=us(stays[1])))
    tumblings = st.tuples(SPAN, EVEN).map(lambda said: tumbling(us(said[0]), offset=us(said[1])))
    lasts = st.tuples(COUNT, COUNT).filter(any).map(lambda kept: last(left=kept[0], right=kept[1]))
    both = st.tuples(lasts, st.one_of(betweens, withins, tumblings)).map(lambda pair: pair[0] & pair[1])
    return st.one_of(betweens, withins, tumblings, lasts, both)


def count_on_average(window: Window, periods: tuple[int, int], since: int, until: int) -> float:
    """The mean number of pairs of regular streams over all their phases.

    One stream keeps to even ticks and the other to odd ones, and once the other way round: so no two rows come at one
    time, and sums over ticks are what integrals over time are, whose corners all lie on even ticks.
    """
    total = 0
    phases = list(product(range(periods[0]), range(periods[1]), (0, 1)))
    for l, r, odd in phases:
        left = [{"ts": t} for t in range(2 * l + odd, until, 2 * periods[0])]
        right = [{"ts": t} for t in range(2 * r + 1 - odd, until, 2 * periods[1])]
        pairs = join([Batch(left, right)], lambda l, r: True, window).rows
        total += sum(pair.join_time >= since for pair in pairs)
    return total / len(phases)


def predict(window: Window, periods: tuple[int, int], since: int, until: int) -> float:
    rates = Sides(*(1e6 / (2 * period) for period in periods))
    time: Any = window if hasattr(window, "offset") else getattr(window, "time", None)
    phase = (-time.offset % time.size) * 1e-6 if hasattr(time, "offset") else 0.0
    return count_pairs(window, rates, until * 1e-6, since=since * 1e-6, phase=phase)


@settings(max_examples=30)
@given(windows(), st.tuples(PERIOD, PERIOD), st.integers(0, 15), st.integers(0, 15))
def test_expected_pairs_of_regular_arrivals_are_exact_from_the_first_row_on(
    window: Window, periods: tuple[int, int], earlier: int, later: int
) -> None:
    since, until = sorted((2 * earlier, 2 * later))
    counted = count_on_average(window, periods, since, until)
    assert predict(window, periods, since, until) == pytest.approx(counted, rel=1e-9, abs=1e-9)


#  a left row every 4 us, a right one every 2 us; left rows stay 12 us, right rows 4 us; 40 us in all
#  full windows      10 x 20 rows, (12 + 4) / 40 of all pairs     80
#  filling phase     (12^2 + 4^2) / 2 = 80 of 40^2                -10
#  the thesis' own    12 * 4      = 48 of 40^2                    -6
def test_the_filling_phase_of_unequal_windows_is_not_the_thesis_one() -> None:
    window = within(left=us(12), right=us(4))
    assert count_on_average(window, (2, 1), 0, 40) == 70
    assert predict(window, (2, 1), 0, 40) == pytest.approx(70)


@pytest.mark.parametrize(
    ("window", "rates"),
    [
        (within("8 seconds"), Sides(20, 20)),
        (within(left="20 seconds", right="5 seconds"), Sides(8, 30)),
        (between("3 seconds", "10 seconds"), Sides(20, 10)),
        (between("-70 seconds", "70 seconds"), Sides(10, 10)),
        (tumbling("7 seconds"), Sides(15, 20)),
    ],
    ids=str,
)
def test_expected_pairs_of_poisson_arrivals(window: Window, rates: Sides) -> None:
    rng, until, runs = np.random.default_rng(7), 40.0, 400
    counts = [count(window, arrive(rng, rates.left, until), arrive(rng, rates.right, until)) for _ in range(runs)]
    noise = np.std(counts) / np.sqrt(runs)
    assert abs(np.mean(counts) - count_pairs(window, rates, until)) < 4 * noise
    assert noise < 0.02 * np.mean(counts)  # enough runs for the test to fail


def arrive(rng: np.random.Generator, rate: float, until: float) -> NDArray[np.float64]:
    return rng.random(rng.poisson(rate * until)) * until


def count(window: Window, left: NDArray[np.float64], right: NDArray[np.float64]) -> int:
    reach = find_reach(window, Sides(1, 1))
    apart = right[None, :] - left[:, None]
    near = (reach.lower <= apart) & (apart <= reach.upper)
    if np.isfinite(reach.bucket):
        near = left[:, None] // reach.bucket == right[None, :] // reach.bucket
    return int(near.sum())


def test_poisson_arrivals_fill_a_count_window_a_little_later() -> None:
    """The n-th row comes after n / λ on average; of a regular stream, after (n - 1/2) / λ."""
    rng, rates, until = np.random.default_rng(3), Sides(20.0, 10.0), 40.0
    counts = []
    for _ in range(1000):
        left, right = (np.sort(arrive(rng, rate, until)) for rate in (rates.left, rates.right))
        seen_left = np.minimum(np.searchsorted(left, right), 50).sum()
        counts.append(seen_left + np.minimum(np.searchsorted(right, left), 30).sum())
    late = 50 / 2 * rates.right / rates.left + 30 / 2 * rates.left / rates.right
    predicted = count_pairs(last(left=50, right=30), rates, until)
    assert abs(np.mean(counts) - (predicted - late)) < 4 * np.std(counts) / np.sqrt(len(counts))
    assert late < 0.01 * predicted


@given(windows(), st.tuples(PERIOD, PERIOD))
def test_full_windows_grow_by_the_pair_rate(window: Window, periods: tuple[int, int]) -> None:
    rates = Sides(*(1e6 / period for period in periods))
    bucket = find_reach(window, rates).bucket
    span = 16e-6 if bucket == np.inf else 16 * bucket
    full = 100 * span  # no window here reaches so far; a whole number of buckets
    grown = count_pairs(window, rates, full + span, since=full)
    assert grown == pytest.approx(span * find_pair_rate(window, rates), rel=1e-6, abs=1e-9)


@given(windows(), st.tuples(PERIOD, PERIOD))
def test_sides_swapped_give_the_same_pairs(window: Window, periods: tuple[int, int]) -> None:
    rates = Sides(*(1e6 / period for period in periods))
    reach = find_reach(window, rates)
    mirrored = Reach(-reach.upper, -reach.lower, reach.bucket)
    assert mirrored.measure_area(2e-5) == pytest.approx(reach.measure_area(2e-5))
    assert (mirrored.before, mirrored.after) == pytest.approx((reach.after, reach.before))


def test_partners_and_pairs_agree() -> None:
    window, rates = within(left="2 minutes", right="1 minute"), Sides(10, 50)
    partners = count_partners(window, rates)
    assert partners == Sides(50 * 60, 10 * 120)
    assert find_pair_rate(window, rates) == pytest.approx(10 * 50 * 180)


@pytest.mark.parametrize("window", [within("1 second"), tumbling("1 second"), last(5), last(5) & within("1 second")])
@pytest.mark.parametrize("rates", [Sides(0, 5), Sides(5, 0)])
def test_a_silent_stream_has_no_pairs(window: Window, rates: Sides) -> None:
    assert count_pairs(window, rates, 100) == 0
    assert find_pair_rate(window, rates) == 0


def test_a_count_window_that_ends_before_the_time_window_begins_is_empty() -> None:
    window = last(3) & between("2 seconds", "5 seconds")
    assert find_pair_rate(window, Sides.equal(1)) == pytest.approx(1)
    assert find_pair_rate(window, Sides.equal(2)) == 0
