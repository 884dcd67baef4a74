"""CellJoin's basic windows: how large they should be, and which worker has which."""

import math
from dataclasses import dataclass

SMALLEST, LARGEST = 128, 16 << 10
"""Bytes of one transfer on the Cell: a cache line, and the most that one request moves."""


@dataclass(frozen=True)
class Transfer:
    """CellJoin's constants (section 6): time to issue a transfer and per byte; to start on a basic window and per byte.

    They are α_m and β_m, α_n and β_n of the paper, with a linear β.
    """

    issue: float
    moved: float
    start: float
    matched: float = 0.0


def find_scan_time(size: float, window: float, costs: Transfer) -> float:
    """The time to scan a window of so many bytes in basic windows of `size` bytes (CellJoin Eq. 3).

    α_m L + β(H) + L (α_n + β_n H): H is the size, L the number of basic windows. Transfers are double-buffered, so
    only the first is waited for.

    >>> find_scan_time(1000, 8000, Transfer(issue=5, moved=0.1, start=10))
    220.0
    """
    number = window / size
    return costs.issue * number + costs.moved * size + number * (costs.start + costs.matched * size)


def find_best_size(window: float, costs: Transfer) -> int:
    """The size in bytes, a power of two, with the least `find_scan_time` (CellJoin Eq. 3).

    The paper lets d, a number of unit blocks, run over 2^7 to 2^14; the limits it gives for that are bytes, and with
    its default of d = 256 for 8 KB only bytes make sense. So the size in bytes runs over 2^7 to 2^14.

    >>> find_best_size(500 * 900 * 8, Transfer(issue=100, moved=0.1, start=100))
    16384
    """
    sizes = [1 << power for power in range(SMALLEST.bit_length() - 1, LARGEST.bit_length())]
    return min(sizes, key=lambda size: find_scan_time(size, window, costs))


def find_best_blocks(rate: float, length: float, block: int, width: float, costs: Transfer) -> float:
    """Unit blocks d* in the best basic window: sqrt((α_m + α_n) / β_m · λ w / (b^2 s(A))) (CellJoin Eq. 4).

    A unit block has `block` rows (b) with join attributes of `width` bytes (s(A)); the window is `length` seconds (w)
    of a stream of rate λ.

    >>> find_best_blocks(500, 900, 4, 8, Transfer(issue=20, moved=0.1, start=12))
    1060.6601717798212
    """
    return math.sqrt((costs.issue + costs.start) / costs.moved * rate * length / (block**2 * width))


def assign_basic_windows(count: int, workers: int) -> list[int]:
    """How many of the basic windows each worker scans (CellJoin Eq. 2): the first ones have one more.

    >>> assign_basic_windows(6, 4)
    [2, 2, 1, 1]
    """
    least, more = divmod(count, workers)
    return [least + (worker < more) for worker in range(workers)]


def find_gaining_worker(assigned: list[int]) -> int:
    """Which worker, from 0, takes a basic window that is added: the last that has fewer than the one before it.

    >>> find_gaining_worker([2, 2, 1, 1])
    2
    """
    before = [math.inf, *assigned]
    return max(j for j, own in enumerate(assigned) if before[j] > own)


def find_losing_worker(assigned: list[int]) -> int:
    """Which worker, from 0, gives up a basic window that expires: the first that has more than the one after it.

    >>> find_losing_worker([2, 2, 2, 1])
    2
    """
    after = [*assigned[1:], -math.inf]
    return min(j for j, own in enumerate(assigned) if after[j] < own)
