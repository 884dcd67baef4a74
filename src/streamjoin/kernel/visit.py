"""The loops that probe buckets, each probe as one record of all that it asks (docs/decisions/0004).

Probes are visited in the order of their first buckets.

- Candidates are written unconditionally and the count moves by the outcome of the test. With a branch, its
  mispredictions kept the processor from overlapping the cache misses of consecutive probes.
- Everything in the loops is unsigned and one-dimensional: for a signed index Numba adds a test for negative ones, for
  a second dimension a multiplication, and the registers no longer suffice. That alone took a third of a probe's time.
"""

from typing import Any

import numpy as np
from numba import njit

from streamjoin.compile.ondisk import kernel
from streamjoin.kernel.codes import inside

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
ASKED = 9
_I, _X, _NX, _Y, _NY, _X_LOWER, _X_WIDTH, _Y_LOWER, _Y_WIDTH = (np.uint64(k) for k in range(ASKED))
U0, U1, U2, U3, DENSE, HASHED = (np.uint64(k) for k in (0, 1, 2, 3, 3, 4))  # numbers in a row


@njit(inline="always")
def slot_of(x: Any, y: Any, bits: Any) -> Any:
    """The slot of a bucket in the hashed table."""
    mixed = (np.uint64(x) * _GOLDEN) >> (np.uint64(64) - bits)
    return (mixed + np.uint64(y)) & ((U1 << bits) - U1)


@kernel
def sum_up(counts: Any) -> None:
    total = np.int32(0)
    for c in range(counts.size):
        total = np.int32(total + counts[c])
        counts[c] = total


@kernel
def order_probes(
    x_first: Any,
    x_last: Any,
    y_first: Any,
    y_last: Any,
    x_lower: Any,
    x_upper: Any,
    y_lower: Any,
    y_upper: Any,
    bucket: Any,
    counts: Any,
    shift: int,
    most: int,
    visits: Any,
    wide: Any,
) -> Any:
    """A counting sort of the probes by the high bits of their first bucket; how many of them do not touch too much."""
    far = 0
    for i in range(bucket.size):
        across, along = np.int64(x_last[i]) - x_first[i] + 1, np.int64(y_last[i]) - y_first[i] + 1
        if not (0 < across <= most and 0 < along <= most and across * along <= most):
            wide[far] = i
            far += 1
        else:
            counts[(np.uint64(bucket[i]) >> np.uint64(shift)) + U1] += 1
    sum_up(counts)
    skipped = 0
    for i in range(bucket.size):
        if skipped < far and wide[skipped] == i:
            skipped += 1
            continue
        c = np.uint64(bucket[i]) >> np.uint64(shift)
        to = counts[c]
        counts[c] = to + 1
        visit = visits[to]
        visit[_I] = i
        visit[_X], visit[_NX] = x_first[i], x_last[i] - x_first[i] + 1
        visit[_Y], visit[_NY] = y_first[i], y_last[i] - y_first[i] + 1
        visit[_X_LOWER], visit[_X_WIDTH] = x_lower[i], x_upper[i] - x_lower[i]
        visit[_Y_LOWER], visit[_Y_WIDTH] = y_lower[i], y_upper[i] - y_lower[i]
    return bucket.size - far


@kernel
def probe_dense(starts: Any, flat: Any, ny: int, visits: Any, probe: Any, build: Any, cursor: Any) -> Any:
    code = flat.dtype.type
    columns = np.uint64(ny)
    found, examined, capacity = U0, U0, np.uint64(probe.size)
    column, resumed = np.uint64(cursor[1]), cursor[3] > 0
    for q in range(cursor[0], visits.size // ASKED):
        ask = np.uint64(q) * np.uint64(ASKED)
        i = visits[ask + _I]
        a, u = code(visits[ask + _X_LOWER]), code(visits[ask + _X_WIDTH])
        b, v = code(visits[ask + _Y_LOWER]), code(visits[ask + _Y_WIDTH])
        while column < visits[ask + _NX]:
            first = (np.uint64(visits[ask + _X]) + column) * columns + np.uint64(visits[ask + _Y])
            start, end = np.uint64(starts[first]), np.uint64(starts[first + np.uint64(visits[ask + _NY])])
            if resumed:
                start, resumed = np.uint64(cursor[3] - 1), False
            while start < end:
                if found == capacity:
                    cursor[0], cursor[1], cursor[3] = q, column, start + U1
                    return found, examined
                stop = min(end, start + capacity - found)
                examined += stop - start
                at, stop_at = start * DENSE, stop * DENSE
                while at < stop_at:
                    probe[found], build[found] = i, flat[at + U2]
                    found += np.uint64(inside(flat[at], a, u) & inside(flat[at + U1], b, v))
                    at += DENSE
                start = stop
            column += U1
        column = U0
    cursor[0] = visits.size // ASKED
    return found, examined


@kernel
def probe_hashed(starts: Any, flat: Any, bits: int, visits: Any, probe: Any, build: Any, cursor: Any) -> Any:
    code = flat.dtype.type
    found, examined, capacity = U0, U0, np.uint64(probe.size)
    column, line, resumed = np.uint64(cursor[1]), np.uint64(cursor[2]), cursor[3] > 0
    for q in range(cursor[0], visits.size // ASKED):
        ask = np.uint64(q) * np.uint64(ASKED)
        i = visits[ask + _I]
        a, u = code(visits[ask + _X_LOWER]), code(visits[ask + _X_WIDTH])
        b, v = code(visits[ask + _Y_LOWER]), code(visits[ask + _Y_WIDTH])
        while column < visits[ask + _NX]:
            x = visits[ask + _X] + column
            while line < visits[ask + _NY]:
                slot = slot_of(x, visits[ask + _Y] + line, np.uint64(bits))
                start, end = np.uint64(starts[slot]), np.uint64(starts[slot + U1])
                if resumed:
                    start, resumed = np.uint64(cursor[3] - 1), False
                while start < end:
                    if found == capacity:
                        cursor[0], cursor[1], cursor[2], cursor[3] = q, column, line, start + U1
                        return found, examined
                    stop = min(end, start + capacity - found)
                    examined += stop - start
                    at, stop_at = start * HASHED, stop * HASHED
                    while at < stop_at:
                        probe[found], build[found] = i, flat[at + U2]
                        same = flat[at + U3] == code(x)
                        found += np.uint64(inside(flat[at], a, u) & inside(flat[at + U1], b, v) & same)
                        at += HASHED
                    start = stop
                line += U1
            line = U0
            column += U1
        column = U0
    cursor[0] = visits.size // ASKED
    return found, examined
