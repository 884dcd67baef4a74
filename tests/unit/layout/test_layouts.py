"""The layout law: every pair meets exactly once in each direction."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamjoin import Grid, StreamJoinError
from streamjoin.layout import Layout, near_square
from streamjoin.layout.base import split
from streamjoin.predicate.expr import Side

HASHES = st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=12).map(lambda h: np.array(h, np.int64))
COUNTS = st.integers(1, 7)
LAYOUTS = st.builds(Grid, COUNTS, COUNTS)


def places(layout: Layout, side: Side, hashes: np.ndarray) -> tuple[list[set[int]], list[set[int]], Counter[int]]:
    """Per row: the cells it probes in, the cells it is stored in; and how often each row is counted."""
    probes: list[set[int]] = [set() for _ in hashes]
    stores: list[set[int]] = [set() for _ in hashes]
    counted: Counter[int] = Counter()
    for part in layout.parts(side, hashes):
        for row in part.rows.tolist():
            for copy in part.copies:
                assert 0 <= copy.cell < layout.cells
                assert copy.cell not in probes[row] | stores[row], "a row is sent to a cell once"
                if copy.probes:
                    probes[row].add(copy.cell)
                if copy.stores:
                    stores[row].add(copy.cell)
                counted[row] += copy.first
    return probes, stores, counted


@given(LAYOUTS, HASHES, HASHES)
def test_every_pair_meets_exactly_once_in_each_direction(layout: Layout, left: np.ndarray, right: np.ndarray) -> None:
    left_probes, left_stores, _ = places(layout, "l", left)
    right_probes, right_stores, _ = places(layout, "r", right)
    for l in range(len(left)):
        for r in range(len(right)):
            assert len(left_probes[l] & right_stores[r]) == 1
            assert len(right_probes[r] & left_stores[l]) == 1


@given(LAYOUTS, HASHES, st.sampled_from(["l", "r"]))
def test_one_copy_of_each_row_is_counted(layout: Layout, hashes: np.ndarray, side: Side) -> None:
    *_, counted = places(layout, side, hashes)
    assert [counted[row] for row in range(len(hashes))] == [1] * len(hashes)


@given(LAYOUTS, HASHES)
def test_a_row_goes_where_its_hash_says_whoever_comes_with_it(layout: Layout, hashes: np.ndarray) -> None:
    together, _, _ = places(layout, "l", hashes)
    alone = [places(layout, "l", hashes[at : at + 1])[0][0] for at in range(len(hashes))]
    assert together == alone


@given(st.lists(st.integers(0, 5), max_size=30))
def test_split_keeps_every_position_in_order(groups: list[int]) -> None:
    found = {group: rows.tolist() for group, rows in split(np.array(groups, np.int64), 6)}
    assert found == {g: [at for at, of in enumerate(groups) if of == g] for g in sorted(set(groups))}


@pytest.mark.parametrize(("cells", "m", "n"), [(1, 1, 1), (2, 1, 2), (4, 2, 2), (7, 1, 7), (12, 3, 4), (200, 10, 20)])
def test_a_near_square_grid_has_exactly_so_many_cells(cells: int, m: int, n: int) -> None:
    assert near_square(cells) == Grid(m, n)


@pytest.mark.parametrize(("m", "n"), [(0, 1), (1, -1), (1.5, 2), (True, 2), ("2", 2)])
def test_a_grid_of_no_cells_is_refused(m: object, n: object) -> None:
    with pytest.raises(StreamJoinError, match=r"Grid\([mn]\): expected a whole number of cells"):
        Grid(m, n)  # type: ignore[arg-type]
