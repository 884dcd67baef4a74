"""Pairs reduced to one value for each probe row.

Pairs come in any order. Folds that do not depend on it take them as they come: `count_pairs`, `add_pairs`,
`find_extreme_pairs`, `keep_best`. For the others `group` brings those of a probe row together, `sort_groups` puts each
group into the order of time and tie, and they walk ``order[starts[p]:starts[p + 1]]``, the positions of the pairs of
probe row p.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamjoin.compile.ondisk import kernel

Indices = NDArray[np.int32]
Positions = NDArray[np.int64]
Mask = NDArray[np.bool_]

_FEW = 32
"""So many places a pair may be moved in the mean."""


@kernel
def count_pairs(probe: Indices, known: Mask, probes: int) -> Positions:
    """How many pairs of each probe row have a value."""
    counts = np.zeros(probes, np.int64)
    for k in range(probe.size):
        counts[probe[k]] += known[k]
    return counts


@kernel
def sums_exactly(bits: Positions, known: Mask, most: int) -> bool:
    """Whether doubles, given as their bits, have the same sum in every order, `most` of them at a time.

    A double is a whole number below 2**53 times 2**exponent. With values below 2**m, sums of 2**n of them stay below
    2**(m + n): where all values are multiples of 2**(m + n - 53), no addition rounds.
    """
    greatest, whole, leading = np.int64(0), np.int64(2**52), np.int64(0x7FF)
    for k in range(bits.size):
        if known[k]:
            greatest = max(greatest, (bits[k] >> 52) & leading)
    unit = max(greatest, np.int64(1))
    while most > 1:
        unit += 1
        most = (most + 1) // 2
    if unit >= leading:  # NaN, an infinity, or a sum that may become one
        return False
    for k in range(bits.size):
        if known[k]:
            exponent, mantissa = (bits[k] >> 52) & leading, bits[k] & (whole - 1)
            if exponent > 0:
                mantissa |= whole
            shift = min(unit - max(exponent, np.int64(1)), np.int64(53))
            if mantissa & ((np.int64(1) << shift) - 1):
                return False
    return True


@kernel
def add_pairs(probe: Indices, values: Any, known: Mask, probes: int) -> NDArray[np.float64]:
    """Sums of each probe row's values, as they come."""
    sums = np.zeros(probes, np.float64)
    for k in range(probe.size):
        if known[k]:
            sums[probe[k]] += values[k]
    return sums


@kernel
def find_extreme_pairs(probe: Indices, codes: Any, known: Mask, greatest: bool, probes: int) -> Positions:
    """A pair with the least or greatest code of each probe row; -1 where there is none."""
    found = np.full(probes, -1, np.int64)
    best = np.zeros(probes, codes.dtype)
    for k in range(probe.size):
        if known[k]:
            p = probe[k]
            if found[p] < 0 or (codes[k] > best[p] if greatest else codes[k] < best[p]):
                found[p], best[p] = k, codes[k]
    return found


@kernel
def group(probe: Indices, probes: int) -> tuple[Positions, Positions]:
    """The positions of each probe row's pairs, and where each row's begin: a counting sort."""
    starts = np.zeros(probes + 1, np.int64)
    for k in range(probe.size):
        starts[probe[k] + 1] += 1
    for p in range(probes):
        starts[p + 1] += starts[p]
    order = np.empty(probe.size, np.int64)
    following = starts.copy()
    for k in range(probe.size):
        p = probe[k]
        order[following[p]] = k
        following[p] += 1
    return starts, order


@kernel
def sort_groups(starts: Positions, order: Positions, time: Positions, tie: Positions) -> None:
    """Put the pairs of each probe row into the order of ``(time, tie)``.

    They come one segment after the other, and segments mostly in the order of time: each pair moves a few places. A
    group of which that is not true is sorted as a whole.
    """
    longest = 0
    for p in range(starts.size - 1):
        longest = max(longest, starts[p + 1] - starts[p])
    times, ties = np.empty(longest, np.int64), np.empty(longest, np.int64)  # of one group, side by side
    for p in range(starts.size - 1):
        start, stop = starts[p], starts[p + 1]
        moves = 0
        for j in range(start, stop):
            moved = order[j]
            t, h = time[moved], tie[moved]
            k = j - start
            while k > 0 and (times[k - 1] > t or (times[k - 1] == t and ties[k - 1] > h)):
                times[k], ties[k], order[start + k] = times[k - 1], ties[k - 1], order[start + k - 1]
                k -= 1
            times[k], ties[k], order[start + k] = t, h, moved
            moves += j - start - k
            if moves > _FEW * (stop - start):
                own = order[start:stop].copy()
                own = own[np.argsort(tie[own], kind="mergesort")]
                order[start:stop] = own[np.argsort(time[own], kind="mergesort")]
                break


@kernel
def count_known(starts: Positions, order: Positions, known: Mask) -> Positions:
    """How many of each row's pairs have a value."""
    counts = np.zeros(starts.size - 1, np.int64)
    for p in range(counts.size):
        for j in range(starts[p], starts[p + 1]):
            counts[p] += known[order[j]]
    return counts


@kernel
def sum_whole(starts: Positions, order: Positions, values: Positions, known: Mask, sums: Positions) -> int:
    """Sums of whole numbers; the first row whose sum does not fit into 64 bits, or -1."""
    for p in range(starts.size - 1):
        total = np.int64(0)
        for j in range(starts[p], starts[p + 1]):
            if known[order[j]]:
                value = values[order[j]]
                added = np.int64(total + value)
                if ((total ^ added) & (value ^ added)) < 0:
                    return p
                total = added
        sums[p] = total
    return -1


@kernel
def sum_wide(starts: Positions, order: Positions, low: Any, high: Positions, known: Mask, sums: Any) -> None:
    """Sums of 128-bit numbers, each given and returned as two words: the lower one unsigned."""
    for p in range(starts.size - 1):
        total_low, total_high = np.uint64(0), np.int64(0)
        for j in range(starts[p], starts[p + 1]):
            k = order[j]
            if known[k]:
                total_low += low[k]
                total_high += high[k] + np.int64(total_low < low[k])
        sums[p, 0] = np.int64(total_low)
        sums[p, 1] = total_high


@kernel
def divide_wide(sums: Any, counts: Positions, scale: int) -> None:
    """``sums * scale / counts`` in place, the half rounded away from zero: 128-bit words, a count below 2**32."""
    mask = np.uint64(0xFFFFFFFF)
    digits = np.empty(4, np.uint64)
    for p in range(counts.size):
        if counts[p] == 0:
            continue
        low, high = np.uint64(sums[p, 0]), np.uint64(sums[p, 1])
        negative = sums[p, 1] < 0
        if negative:
            low, high = ~low + np.uint64(1), ~high + np.uint64(low == 0)
        digits[0], digits[1] = low & mask, low >> np.uint64(32)
        digits[2], digits[3] = high & mask, high >> np.uint64(32)
        carry = np.uint64(0)
        for d in range(4):
            carry += digits[d] * np.uint64(scale)
            digits[d] = carry & mask
            carry >>= np.uint64(32)
        rest, by = np.uint64(0), np.uint64(counts[p])
        for d in range(3, -1, -1):
            rest = (rest << np.uint64(32)) | digits[d]
            digits[d] = rest // by
            rest %= by
        low, high = digits[0] | (digits[1] << np.uint64(32)), digits[2] | (digits[3] << np.uint64(32))
        if rest * np.uint64(2) >= by:
            low += np.uint64(1)
            high += np.uint64(low == 0)
        if negative:
            low, high = ~low + np.uint64(1), ~high + np.uint64(low == 0)
        sums[p, 0], sums[p, 1] = np.int64(low), np.int64(high)


@kernel
def sum_floats(starts: Positions, order: Positions, values: Any, known: Mask) -> NDArray[np.float64]:
    """Sums, one value after the other."""
    sums = np.zeros(starts.size - 1, np.float64)
    for p in range(sums.size):
        total = 0.0
        for j in range(starts[p], starts[p + 1]):
            if known[order[j]]:
                total += values[order[j]]
        sums[p] = total
    return sums


@kernel
def find_moments(starts: Positions, order: Positions, values: Any, known: Mask) -> Any:
    """Of each group's values count, mean and sum of squared distances from it, by Welford's updates as Spark does."""
    found = np.zeros((starts.size - 1, 3))
    for p in range(starts.size - 1):
        count, mean, squares = 0.0, 0.0, 0.0
        for j in range(starts[p], starts[p + 1]):
            if known[order[j]]:
                value = values[order[j]]
                count += 1.0
                delta = value - mean
                mean += delta / count
                squares += delta * (value - mean)
        found[p, 0], found[p, 1], found[p, 2] = count, mean, squares
    return found


@kernel
def find_extreme(
    starts: Positions, order: Positions, codes: Any, known: Mask, greatest: bool, latest: bool
) -> Positions:
    """The pair with the least or greatest code of each row, the first of equal ones or the last.

    With codes that are all equal: the first pair, or the last. -1 where there is none.
    """
    found = np.full(starts.size - 1, -1, np.int64)
    for p in range(found.size):
        best = np.int64(-1)
        for j in range(starts[p], starts[p + 1]):
            k = order[j]
            if not known[k]:
                continue
            if best < 0:
                best = k
            elif codes[k] == codes[best]:
                best = k if latest else best
            elif (codes[k] > codes[best]) == greatest:
                best = k
        found[p] = best
    return found


@kernel
def keep_best(
    probe: Indices,
    build: Indices,
    time: Positions,
    tie: Positions,
    at: Positions,
    latest: bool,
    number: int,
    best_time: Positions,
    best_tie: Positions,
    best_part: Positions,
    best_row: Positions,
) -> None:
    """Keep the greatest ``(time, tie)`` of each probe row, or the least.

    `time` and `tie` are of stored rows, `at` of probe rows; of pairs only those at or before `at` count, or where the
    least is kept those at or after it. `best_part` is negative where nothing was found yet.
    """
    for k in range(probe.size):
        p, b = probe[k], build[k]
        t = time[b]
        if (t > at[p]) if latest else (t < at[p]):
            continue
        h = tie[b]
        if best_part[p] >= 0:
            if t == best_time[p]:
                if (h <= best_tie[p]) if latest else (h >= best_tie[p]):
                    continue
            elif (t < best_time[p]) if latest else (t > best_time[p]):
                continue
        best_time[p], best_tie[p], best_part[p], best_row[p] = t, h, number, b
