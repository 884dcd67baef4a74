"""Windows that slide over partial aggregates: each partial is merged a few times, however many windows hold it.

``low`` and ``high`` say which partials each window holds; both only grow within a group, and the next group begins
behind the last one. What can be undone exactly (whole numbers) is the difference of two prefix sums. For all else two
stacks: partials enter at the back, into one running aggregate, and leave at the front, where aggregates of suffixes
lie ready; when the front is empty, the back becomes the front.
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from streamjoin.compile.ondisk import kernel

Positions = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@kernel
def find_windows(
    groups: Positions, panes: Positions, step: int, length: int, first: int, last: int
) -> tuple[Positions, Positions, Positions, Positions]:
    """The windows from number `first` to `last` that hold a pane: their group, number, and the range of their panes.

    Panes are sorted by group, then by number; window w holds the panes from ``w * step`` on, `length` of them.
    """
    group = number = lows = highs = np.empty(0, np.int64)
    for counting in (True, False):
        found = 0
        for g in range(groups.size - 1):
            start, stop = groups[g], groups[g + 1]
            low = high = start
            w = max(first, (panes[start] - length) // step + 1)
            while w <= last and w * step <= panes[stop - 1]:
                while low < stop and panes[low] < w * step:
                    low += 1
                high = max(high, low)
                while high < stop and panes[high] < w * step + length:
                    high += 1
                if high == low:
                    w = max(w + 1, (panes[low] - length) // step + 1)
                    continue
                if not counting:
                    group[found], number[found], lows[found], highs[found] = g, w, low, high
                found += 1
                w += 1
        if counting:
            group, number = np.empty(found, np.int64), np.empty(found, np.int64)
            lows, highs = np.empty(found, np.int64), np.empty(found, np.int64)
    return group, number, lows, highs


@kernel
def subtract_wide(low: Positions, high: Positions, words: Any, upper: Positions) -> Positions:
    """The sum of each window of 128-bit numbers, given and returned as two words: the lower one unsigned."""
    lower_sums, upper_sums = np.zeros(words.size + 1, np.uint64), np.zeros(words.size + 1, np.int64)
    for j in range(words.size):
        lower_sums[j + 1] = lower_sums[j] + words[j]
        upper_sums[j + 1] = upper_sums[j] + upper[j] + np.int64(lower_sums[j + 1] < words[j])
    sums = np.empty((low.size, 2), np.int64)
    for w in range(low.size):
        a, b = low[w], high[w]
        sums[w, 0] = np.int64(lower_sums[b] - lower_sums[a])
        sums[w, 1] = upper_sums[b] - upper_sums[a] - np.int64(lower_sums[b] < lower_sums[a])
    return sums


@kernel
def slide_floats(low: Positions, high: Positions, values: Floats) -> Floats:
    """The sum of each window."""
    sums = np.zeros(low.size)
    front = np.empty(values.size)
    head = middle = tail = 0
    back = 0.0
    for w in range(low.size):
        if low[w] >= tail:
            head = middle = tail = low[w]
            back = 0.0
        while tail < high[w]:
            back += values[tail]
            tail += 1
        while head < low[w]:
            if head >= middle:
                total = 0.0
                for j in range(tail - 1, head - 1, -1):
                    total = values[j] + total
                    front[j] = total
                middle, back = tail, 0.0
            head += 1
        sums[w] = (front[head] if head < middle else 0.0) + back
    return sums


@njit(inline="always")
def merge_moments(count: Any, mean: Any, squares: Any, count2: Any, mean2: Any, squares2: Any) -> Any:
    """Count, mean and sum of squared distances from it, of two sets together (Chan et al., as in Spark)."""
    if count == 0.0:
        return count2, mean2, squares2
    if count2 == 0.0:
        return count, mean, squares
    both = count + count2
    delta = mean2 - mean
    part = delta / both
    return both, mean + part * count2, squares + squares2 + delta * part * count * count2


@kernel
def slide_moments(low: Positions, high: Positions, counts: Floats, means: Floats, squares: Floats) -> Any:
    """Count, mean and sum of squared distances of each window."""
    found = np.zeros((low.size, 3))
    front = np.empty((counts.size, 3))
    head = middle = tail = 0
    n, mean, square = 0.0, 0.0, 0.0
    for w in range(low.size):
        if low[w] >= tail:
            head = middle = tail = low[w]
            n, mean, square = 0.0, 0.0, 0.0
        while tail < high[w]:
            n, mean, square = merge_moments(n, mean, square, counts[tail], means[tail], squares[tail])
            tail += 1
        while head < low[w]:
            if head >= middle:
                n, mean, square = 0.0, 0.0, 0.0
                for j in range(tail - 1, head - 1, -1):
                    n, mean, square = merge_moments(counts[j], means[j], squares[j], n, mean, square)
                    front[j, 0], front[j, 1], front[j, 2] = n, mean, square
                middle = tail
                n, mean, square = 0.0, 0.0, 0.0
            head += 1
        a, b, c = 0.0, 0.0, 0.0
        if head < middle:
            a, b, c = front[head, 0], front[head, 1], front[head, 2]
        found[w, 0], found[w, 1], found[w, 2] = merge_moments(a, b, c, n, mean, square)
    return found


@kernel
def slide_extremes(low: Positions, high: Positions, codes: Positions, known: Mask, greatest: bool) -> Positions:
    """The partial with the least or greatest code of each window, the first of equal ones; -1 where none is known."""
    found = np.full(low.size, -1, np.int64)
    front = np.empty(codes.size, np.int64)
    head = middle = tail = 0
    back = -1
    for w in range(low.size):
        if low[w] >= tail:
            head = middle = tail = low[w]
            back = -1
        while tail < high[w]:
            if known[tail] and (back < 0 or (codes[tail] != codes[back] and (codes[tail] > codes[back]) == greatest)):
                back = tail
            tail += 1
        while head < low[w]:
            if head >= middle:
                best = -1
                for j in range(tail - 1, head - 1, -1):
                    if known[j] and (best < 0 or codes[j] == codes[best] or (codes[j] > codes[best]) == greatest):
                        best = j
                    front[j] = best
                middle, back = tail, -1
            head += 1
        best = int(front[head]) if head < middle else -1
        if back >= 0 and (best < 0 or (codes[back] != codes[best] and (codes[back] > codes[best]) == greatest)):
            best = back
        found[w] = best
    return found


@kernel
def add_moments(starts: Positions, order: Positions, counts: Floats, means: Floats, squares: Floats) -> Any:
    """The same of groups of such partials."""
    found = np.zeros((starts.size - 1, 3))
    for p in range(starts.size - 1):
        n, mean, square = 0.0, 0.0, 0.0
        for j in range(starts[p], starts[p + 1]):
            k = order[j]
            n, mean, square = merge_moments(n, mean, square, counts[k], means[k], squares[k])
        found[p, 0], found[p, 1], found[p, 2] = n, mean, square
    return found
