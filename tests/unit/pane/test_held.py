"""What becomes of a segment is decided from a few numbers, and rows are cut out without copying where they can be."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from streamjoin.pane import Limit, Rows, held
from tests.segments import stamped


@given(st.lists(st.integers(0, 20), min_size=1, max_size=300), st.integers(-1, 22))
def test_quantiles_tell_how_many_are_below_within_a_64th(numbers: list[int], limit: int) -> None:
    told = held._count_below(held._find_quantiles(np.array(numbers)), limit, len(numbers))
    below = sum(number < limit for number in numbers)
    assert below <= told <= below + math.ceil(len(numbers) / 64)


def test_rows_are_cut_without_copying_where_they_lie_together() -> None:
    rows: Rows = stamped(range(10))
    assert np.shares_memory(held._cut(rows, Limit(4)).time, rows.time)
    assert held._cut(rows, Limit(4)).time.tolist() == [4, 5, 6, 7, 8, 9]
    assert held._cut(rows, Limit(99)).time.tolist() == []
    scattered = stamped([5, 0, 7, 1])
    assert held._cut(scattered, Limit(4)).payload["id"].to_pylist() == [0, 2]


def test_merged_rows_leave_out_the_routing_hash() -> None:
    rows = stamped([1, 2], route=True)
    for merged in (held.merge_live([rows], Limit()), held.merge_live([rows, stamped([3], 2)], Limit(2))):
        assert merged.route is None
