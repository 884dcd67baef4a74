"""Latency: from the arrival of a pair's later row to its result (DP-Join, Definition 4.2)."""

import math
from dataclasses import dataclass

from streamjoin.layout.base import Cost
from streamjoin.layout.grid import Grid
from streamjoin.model.copies import Copies
from streamjoin.model.pairs import Sides, find_reach
from streamjoin.spec.window import Window


@dataclass(frozen=True)
class Latency:
    """Mean and worst, in seconds."""

    mean: float
    worst: float


def find_latency(copies: Copies, window: Window, rates: Sides, pair_seconds: float) -> Latency:
    """Of a nested loop that starts when a row arrives, in cells that scan their shares of the window side by side.

    A left row's matches lie uniformly in the λ_R T_R / n right rows that a cell holds, so one is found after half the
    scan (DP-Join Eq. 7). The sides are weighed by their shares of *results*: those that left rows complete are
    T_R / (T_L + T_R) of all, at any rates; the paper's p_x (Eq. 8) reads as a share of arrivals. `pair_seconds` is
    T_on. Waiting for a busy worker and the way between workers are left out, as in the paper.

    >>> from streamjoin.spec.window import within
    >>> find_latency(to_copies(Grid(3, 3)), within("300 seconds"), Sides.equal(2500), 1e-9).mean  # T_on λ T_w 6 / 36
    0.000125
    """
    reach = find_reach(window, rates)
    before, after = _Scan.of(-reach.lower, reach.before, reach.bucket), _Scan.of(reach.upper, reach.after, reach.bucket)
    if before.mean + after.mean == 0:
        return Latency(0.0, 0.0)
    left = rates.right * copies.shares.right * pair_seconds  # of scanning, for each second of right rows
    right = rates.left * copies.shares.left * pair_seconds
    found = (left * before.weighed * before.mean + right * after.weighed * after.mean) / (before.mean + after.mean)
    return Latency(found / 2, max(left * before.longest, right * after.longest))


def find_fastest_grid(cells: int, window: Window, rates: Sides) -> Grid:
    """The grid of at most so many cells with the least mean latency.

    For equal rates and windows it is the squarest (DP-Join, after Eq. 9). Otherwise the side whose window holds more
    rows is cut into more parts: n / m is near λ_R T_R^2 / (λ_L T_L^2).

    >>> from streamjoin.spec.window import within
    >>> print(find_fastest_grid(16, within("5 minutes"), Sides(1000, 1000)))
    Grid(4, 4)
    >>> print(find_fastest_grid(12, within("5 minutes"), Sides(1000, 3000)))
    Grid(2, 6)
    """
    grids = [Grid(m, n) for m in range(1, cells + 1) for n in range(1, cells // m + 1)]
    return min(grids, key=lambda grid: find_latency(to_copies(grid), window, rates, 1.0).mean)


def find_handshake_latency(left: float, right: float) -> Latency:
    """Of Handshake join in time windows of so many seconds each: T / 2 at worst and T / 4 on average for equal ones.

    A row of each side crosses the chain in its own window's time, from opposite ends, and a pair is found where they
    meet: with windows T_L and T_R, T_L T_R / (T_L + T_R) after the second arrives if both come at once, less the
    further apart they come. Derived: the paper does not state it; ScaleJoin VI quotes half of the window.

    >>> find_handshake_latency(900, 900)
    Latency(mean=225.0, worst=450.0)
    """
    worst = left * right / (left + right)
    return Latency(worst / 2, worst)


def to_copies(grid: Grid) -> Copies:
    """DP-Join's grid, which is the same for every plan: n copies of a left row, m of a right one."""
    return Copies(grid.cells, Cost(grid.n, grid.n), Cost(grid.m, grid.m))


@dataclass(frozen=True)
class _Scan:
    """Seconds of stored rows that a probe meets: over all probes, over all results, and at most."""

    mean: float
    weighed: float
    longest: float

    @classmethod
    def of(cls, end: float, mean: float, bucket: float) -> "_Scan":
        if bucket == math.inf or mean == 0:
            return cls(mean, mean, mean)
        # In a bucket a probe at u meets min(u, end): the means of that and of its square.
        end = min(end, bucket)
        square = (end**3 / 3 + end**2 * (bucket - end)) / bucket
        return cls(mean, square / mean, end)
