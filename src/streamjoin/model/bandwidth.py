"""What workers offer, and how many of them a join needs (DP-Join 3.3.3 and 5.2)."""

import math
from collections.abc import Iterator
from typing import Literal

from streamjoin.layout.grid import Grid

Form = Literal["linear", "rectangular", "square"]
"""DP-Join's layouts: 1 x n, m x n with 1 < m < n, n x n."""

_ROUNDING = 1e-12


def find_offered_bandwidth(workers: int, pair_seconds: float, hit_rate: float) -> float:
    """Results per second that so many busy workers produce: m n p / T_on (DP-Join Eq. 6).

    `pair_seconds` is T_on, the time in which one worker compares one pair. The form of the grid plays no part.

    >>> find_offered_bandwidth(4, pair_seconds=0.5, hit_rate=0.25)
    2.0
    """
    return workers * hit_rate / pair_seconds


def find_least_degree(needed: float, offered_by_one: float) -> int:
    """The fewest workers that offer what is needed: results, comparisons or core-seconds per second (DP-Join 3.3.3).

    >>> find_least_degree(9525.6, 1550)
    7
    """
    return max(1, math.ceil(needed / offered_by_one * (1 - _ROUNDING)))


def find_least_grid(needed: float, offered_by_one: float, form: Form) -> Grid:
    """The smallest grid of a form that has the workers that are needed; of equally many cells the squarest.

    >>> print(*(find_least_grid(9525.6, 1550, form) for form in ("linear", "rectangular", "square")))
    Grid(1, 7) Grid(2, 4) Grid(3, 3)
    """
    least = find_least_degree(needed, offered_by_one)
    return min(_list_grids(form, least), key=lambda grid: (grid.cells, grid.n - grid.m))


def _list_grids(form: Form, least: int) -> Iterator[Grid]:
    """For each number of rows that can matter the smallest grid of a form with at least so many workers."""
    side = math.isqrt(least - 1) + 1
    match form:
        case "linear":
            yield Grid(1, least)
        case "square":
            yield Grid(side, side)
        case "rectangular":
            for m in range(2, max(2, side) + 1):
                yield Grid(m, max(m + 1, -(-least // m)))
