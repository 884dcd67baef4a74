"""Shares of matching pairs against all pairs, and against drawn ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamjoin.model.selectivity import find_listed_share, find_real_share, find_whole_share, list_zipf_shares
from tests.unit.model.figures import DERIVED_HIT_RATES


def test_the_hit_rate_of_the_papers_predicate() -> None:
    closed = find_whole_share(10, 10_000) * find_real_share(10, 9_999)
    assert closed == pytest.approx(DERIVED_HIT_RATES["closed, whole and real"], rel=1e-5)
    opened = find_whole_share(9, 10_000) ** 2  # of whole numbers, those less than 10 apart are at most 9 apart
    assert opened == pytest.approx(DERIVED_HIT_RATES["open, whole and whole"], rel=1e-5)


@given(st.integers(0, 40), st.integers(1, 30))
def test_whole_numbers_by_counting_all_pairs(band: int, values: int) -> None:
    near = sum(abs(x - y) <= band for x in range(values) for y in range(values))
    assert find_whole_share(band, values) == pytest.approx(near / values**2)
    assert find_listed_share(band, list_zipf_shares(0, values)) == pytest.approx(near / values**2)


@given(st.integers(0, 12), st.lists(st.integers(1, 9), min_size=1, max_size=10))
def test_listed_shares_by_counting_all_pairs(band: int, weights: list[int]) -> None:
    share = np.array(weights) / sum(weights)
    near = sum(p * q for x, p in enumerate(share) for y, q in enumerate(share) if abs(x - y) <= band)
    assert find_listed_share(band, share) == pytest.approx(near)


@pytest.mark.parametrize(("band", "extent"), [(0.1, 1), (3, 4), (9, 4)])
def test_real_numbers_by_drawing_them(band: float, extent: float) -> None:
    x, y = np.random.default_rng(1).uniform(5, 5 + extent, (2, 200_000))
    assert np.mean(abs(x - y) <= band) == pytest.approx(find_real_share(band, extent), abs=0.005)
