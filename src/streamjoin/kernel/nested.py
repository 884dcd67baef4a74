"""The nested loop: every probe row against every build row, on two dimensions.

CellJoin keeps windows as columns and compares with SIMD (section 5); Handshake join evaluates all conjuncts without
branches (5.3). Here: build rows in tiles that stay in the first-level cache, two probe rows at a time so that a loaded
code is used twice, a branch-free count of each (probe, tile), and a second look only at tiles that hold a match, which
at the papers' selectivity is one in hundreds.

What LLVM makes of the count (AVX-512VL, 256-bit registers): a vpsubd and a masked vpcmpleud per dimension and eight
pairs, unrolled four times. Signed comparisons with both ends took twice as many vpcmp, which share one port: 6.1
instead of 11.7 G pairs/s. The accumulator must stay 32 bits wide: Numba widens a sum of int32 to int64 unless it is
narrowed at every step, which halves the lanes. And loops must run over slices from zero: with any other start Numba
keeps the test for negative indices in the loop, and nothing is vectorized.
"""

from typing import Any

import numpy as np

from streamjoin.compile.ondisk import kernel
from streamjoin.kernel.codes import inside
from streamjoin.kernel.costs import STRIP
from streamjoin.kernel.pairs import Chunk

TILE = 4096


def nested(x: Any, y: Any, x_lower: Any, x_width: Any, y_lower: Any, y_width: Any, chunk: Chunk, cursor: Any) -> int:
    """Fill `chunk` with the pairs inside both intervals.

    `cursor` (tile, probe, row) says where to go on; it has come to the end when the tile is past the last row.
    """
    return int(_nested(x, y, x_lower, x_width, y_lower, y_width, chunk.probe, chunk.build, cursor))


@kernel
def _counts(x: Any, y: Any, x0: Any, u0: Any, y0: Any, v0: Any, x1: Any, u1: Any, y1: Any, v1: Any) -> Any:
    """How many rows lie in the intervals of one probe row, and in those of another."""
    first, second = np.int32(0), np.int32(0)
    for j in range(x.size):
        a, b = x[j], y[j]
        first = np.int32(first + np.int32(inside(a, x0, u0) & inside(b, y0, v0)))
        second = np.int32(second + np.int32(inside(a, x1, u1) & inside(b, y1, v1)))
    return first, second


@kernel
def _extract(x: Any, y: Any, start: int, x0: Any, u0: Any, y0: Any, v0: Any, rows: Any) -> Any:
    """Write the rows from `start` on that lie in both intervals; also how far it came before `rows` was full."""
    found = 0
    while start < x.size:
        stop = min(start + STRIP, x.size)
        xs, ys = x[start:stop], y[start:stop]
        if _counts(xs, ys, x0, u0, y0, v0, x0, u0, y0, v0)[0]:
            for j in range(xs.size):
                if inside(xs[j], x0, u0) and inside(ys[j], y0, v0):
                    if found == rows.size:
                        return found, start + j
                    rows[found] = start + j
                    found += 1
        start = stop
    return found, start


@kernel
def _nested(
    x: Any, y: Any, x_lower: Any, x_width: Any, y_lower: Any, y_width: Any, probe: Any, build: Any, cursor: Any
) -> Any:
    probes, found = x_lower.size, 0
    tile, i, row = cursor[0], cursor[1], cursor[2]
    while tile < x.size:
        x_tile, y_tile = x[tile : tile + TILE], y[tile : tile + TILE]
        while i < probes:
            k = min(i + 1, probes - 1)
            first, second = _counts(
                *(x_tile, y_tile, x_lower[i], x_width[i], y_lower[i], y_width[i]),
                *(x_lower[k], x_width[k], y_lower[k], y_width[k]),
            )
            for q in range(i, k + 1):
                if not (first if q == i else second):
                    continue
                new, row = _extract(x_tile, y_tile, row, x_lower[q], x_width[q], y_lower[q], y_width[q], build[found:])
                for n in range(found, found + new):
                    probe[n] = q
                    build[n] += tile
                found += new
                if row < x_tile.size:
                    cursor[0], cursor[1], cursor[2] = tile, q, row
                    return found
                row = 0
            i += 2
        i = 0
        tile += TILE
    cursor[0] = tile
    return found
