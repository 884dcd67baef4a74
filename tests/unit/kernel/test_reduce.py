"""Pairs reduced, beside what Python's own numbers say."""

import math
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from random import Random

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from streamjoin.kernel.reduce import divide_wide, group, sort_groups, sum_whole, sums_exactly
from streamjoin.kernel.slide import slide_extremes, slide_floats, subtract_wide
from streamjoin.worker.fold import sum_decimals, to_decimals

GROUPED = st.lists(st.tuples(st.integers(0, 3), st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1)), max_size=80)


@given(pairs=GROUPED)
def test_groups_are_in_the_order_of_time_and_tie(pairs: list[tuple[int, int, int]]) -> None:
    probe, time, tie = (
        (np.array(column, np.int64) for column in zip(*pairs, strict=True)) if pairs else (np.zeros(0, np.int64),) * 3
    )
    starts, order = group(probe.astype(np.int32), 4)
    sort_groups(starts, order, time, tie)
    for p in range(4):
        own = [(t, h) for q, t, h in pairs if q == p]
        assert [(time[k], tie[k]) for k in order[starts[p] : starts[p + 1]]] == sorted(own)


def test_long_groups_are_sorted_too() -> None:
    time = np.random.default_rng(1).integers(0, 9, 500)
    tie = np.random.default_rng(2).integers(-5, 5, 500)
    starts, order = group(np.zeros(500, np.int32), 1)
    sort_groups(starts, order, time, tie)
    assert [(time[k], tie[k]) for k in order] == sorted(zip(time.tolist(), tie.tolist(), strict=True))


def is_exact(values: list[float], most: int) -> bool:
    bits, known = np.array(values, np.float64).view(np.int64), np.ones(len(values), np.bool_)
    return bool(sums_exactly(bits, known, most))


FLOATS = st.one_of(st.floats(width=16), st.floats(width=32), st.floats(), st.integers(-1000, 1000).map(lambda k: k / 8))


@given(values=st.lists(FLOATS, min_size=1, max_size=12), seed=st.randoms(use_true_random=False))
def test_sums_that_are_called_exact_are_the_same_in_every_order(values: list[float], seed: Random) -> None:
    if is_exact(values, len(values)):
        exact = float(sum(map(Fraction, values)))
        for _ in range(5):
            assert sum(values) == exact
            seed.shuffle(values)


def test_sums_of_floats_are_exact_and_those_that_round_are_not() -> None:
    floats = np.random.default_rng(1).uniform(1, 10_000, 1000).astype(np.float32)
    assert is_exact(floats.tolist(), 2**16)
    assert is_exact([1.0, -3.0, 2.0**40, 0.0, -0.0], 1000)
    assert is_exact([2.0**51, 1.0], 2)
    assert not is_exact([2.0**51, 1.0], 3)
    assert not is_exact([2.0**53, 1.0], 2)
    assert not is_exact([0.1, 0.2], 2)
    for odd in (math.nan, math.inf, -math.inf, 1.7e308):
        assert not is_exact([odd, 1.0], 2)


DECIMALS = st.decimals(-(10**15), 10**15, places=2, allow_nan=False)


@given(values=st.lists(DECIMALS, min_size=1, max_size=20))
def test_decimals_are_summed_and_averaged(values: list[Decimal]) -> None:
    groups = group(np.zeros(len(values), np.int32), 1)
    words = sum_decimals(groups, pa.array(values, pa.decimal128(18, 2)), np.ones(len(values), np.bool_))
    none = np.zeros(1, np.bool_)
    assert to_decimals(words, none, pa.decimal128(28, 2)).to_pylist() == [sum(values)]
    divide_wide(words, np.array([len(values)]), 10**4)
    mean = (sum(values) / len(values)).quantize(Decimal("0.000001"), ROUND_HALF_UP)
    assert to_decimals(words, none, pa.decimal128(22, 6)).to_pylist() == [mean]


def test_a_sum_that_does_not_fit_is_found() -> None:
    starts, order = group(np.array([0, 0, 1], np.int32), 2)
    values, known = np.array([2**63 - 1, 1, 5]), np.ones(3, np.bool_)
    assert sum_whole(starts, order, values, known, np.zeros(2, np.int64)) == 0


@st.composite
def ranges(draw: st.DrawFn) -> tuple[list[int], list[tuple[int, int]]]:
    """Values, and ranges of them whose ends only grow."""
    values = draw(st.lists(st.integers(-9, 9), min_size=1, max_size=12))
    ends = sorted(draw(st.lists(st.tuples(st.integers(0, len(values)), st.integers(0, len(values))), max_size=12)))
    low, high, found = 0, 0, []
    for a, b in ends:
        low, high = max(low, min(a, b)), max(high, a, b)
        if low < high:
            found.append((low, high))
    return values, found


@given(case=ranges())
def test_windows_slide(case: tuple[list[int], list[tuple[int, int]]]) -> None:
    values, windows = case
    low, high = (np.array([window[at] for window in windows], np.int64) for at in (0, 1))
    numbers = np.array(values, np.int64)
    expected = [values[a:b] for a, b in windows]
    assert slide_floats(low, high, numbers.astype(np.float64)).tolist() == [float(sum(each)) for each in expected]
    for greatest, best in ((True, max), (False, min)):
        found = slide_extremes(low, high, numbers, np.ones(len(values), np.bool_), greatest)
        assert [values[k] for k in found] == [best(each) for each in expected]
        assert all(k == a + values[a:b].index(values[k]) for k, (a, b) in zip(found, windows, strict=True))
    wide = subtract_wide(low, high, numbers.view(np.uint64), numbers >> 63)
    assert wide[:, 0].tolist() == [sum(each) for each in expected]
    assert wide[:, 1].tolist() == [-1 if sum(each) < 0 else 0 for each in expected]
