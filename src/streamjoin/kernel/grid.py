"""The grid: build rows sorted into cells, so that a probe looks only at the cells that its intervals touch.

A cell is a pair (x, y) of whole numbers that the caller computes from the values, in the same way for build rows and
for the ends of the probe intervals: ``floor(value / width)`` for a band, the code itself for an equality, 0 for
"any". With cells about as wide as the band, a probe touches two or three along each axis.

- **Dense**, when the cells between the least and the greatest are not many more than the rows: cell (x, y) has the
  number ``x * ny + y``, and the y cells of one x are neighbours in memory: a probe reads one run of rows per x.
- **Hashed** otherwise, so that memory is bounded by the rows however far the values spread: cell (x, y) shares bucket
  ``(hash(x) + y) % buckets`` with others. The x of each row is kept and compared, or a row in a bucket that two x of
  a probe share would be found twice. This is also the hash table of an equality: one x, one bucket.

Rows lie in the order of their cells with both codes side by side (a candidate costs one cache line, not three).
Candidates are written unconditionally and the count moves by the outcome of the test: with a branch, its mispredictions
kept the processor from overlapping the cache misses of consecutive probes, and a probe took twice as long. Probes are
visited in the order of their cells for the same reason (docs/decisions/0004).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from streamjoin.kernel.codes import Codes
from streamjoin.kernel.pairs import Chunk

Cells = NDArray[np.int64]
DENSE_CELLS_PER_ROW = 4
_SORTED_FROM = 1 << 14  # rows: below, everything a probe touches is in the second-level cache anyway
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_X, _Y, _ROW, _TAG = range(4)


@dataclass(frozen=True)
class Grid:
    """The index: where each cell's rows start, the rows, and the shape of the table."""

    starts: NDArray[np.int32]
    rows: NDArray[Any]
    shape: NDArray[np.int64]  # dense: 1, x0, y0, nx, ny; hashed: 0, bits

    @classmethod
    def build(cls, x: Codes, y: Codes, x_cells: Cells, y_cells: Cells, row: NDArray[np.int32]) -> "Grid":
        """Index the rows numbered `row`, given their codes and cells on both axes."""
        shape = _shape(x_cells, y_cells)
        dtype = np.int32 if x.dtype == y.dtype == np.int32 else np.int64
        starts, rows = _build(x, y, x_cells, y_cells, row, shape, np.zeros(0, dtype))
        return cls(starts, rows, shape)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "Grid":
        """The index from the arrays that `arrays` gave."""
        return cls(arrays["starts"], arrays["rows"], arrays["shape"])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The index as named arrays."""
        return {"starts": self.starts, "rows": self.rows, "shape": self.shape}

    def order(self, x_first: Cells, y_first: Cells) -> NDArray[np.int32]:
        """The order in which to visit the probes: that of their first cells, where the table is large."""
        if len(self.rows) < _SORTED_FROM or len(x_first) < 64:
            return np.arange(len(x_first), dtype=np.int32)
        order: NDArray[np.int32] = _order(x_first, y_first, self.shape, len(self.starts) - 1)
        return order

    def probe(
        self,
        order: NDArray[np.int32],
        x_cells: tuple[Cells, Cells],
        y_cells: tuple[Cells, Cells],
        x: tuple[Codes, NDArray[Any]],
        y: tuple[Codes, NDArray[Any]],
        chunk: Chunk,
        cursor: NDArray[np.int64],
    ) -> tuple[int, int]:
        """Fill `chunk`: how many pairs, and how many rows were looked at for them.

        Per probe and axis: the first and last cell, the lower code and the width. `cursor` starts as (0, 0, 0, -1)
        and has come to the end when its first number is the number of probes.
        """
        probe = _probe_dense if self.shape[0] else _probe_hashed
        found, examined = probe(
            *(self.starts, self.rows, self.shape, order),
            *(*x_cells, *y_cells, *x, *y, chunk.probe, chunk.build, cursor),
        )
        return int(found), int(examined)


def _shape(x_cells: Cells, y_cells: Cells) -> NDArray[np.int64]:
    if len(x_cells) == 0:
        return np.array([1, 0, 0, 1, 1], np.int64)
    x0, x1, y0, y1 = (int(v) for v in (x_cells.min(), x_cells.max(), y_cells.min(), y_cells.max()))
    nx, ny = x1 - x0 + 1, y1 - y0 + 1
    if nx * ny <= DENSE_CELLS_PER_ROW * len(x_cells) + 1024:
        return np.array([1, x0, y0, nx, ny], np.int64)
    bits = max(int(len(x_cells) - 1).bit_length(), 4)
    return np.array([0, bits], np.int64)


@njit(nogil=True, cache=True, inline="always")
def _bucket(x: Any, y: Any, bits: Any) -> Any:
    """The bucket of a cell in the hashed table."""
    mixed = (np.uint64(np.int64(x)) * _GOLDEN) >> np.uint64(64 - bits)
    return (np.int64(mixed) + y) & ((1 << bits) - 1)


@njit(nogil=True, cache=True, inline="always")
def _cell(x: Any, y: Any, shape: Any) -> Any:
    if shape[0]:
        return (x - shape[1]) * shape[4] + (y - shape[2])
    return _bucket(x, y, shape[1])


@njit(nogil=True, cache=True)
def _build(x: Any, y: Any, x_cells: Any, y_cells: Any, row: Any, shape: Any, like: Any) -> Any:
    """A counting sort by cell."""
    dense = shape[0] == 1
    count = shape[3] * shape[4] if dense else 1 << shape[1]
    starts = np.zeros(count + 1, np.int32)
    cell = np.empty(x.size, np.int32)
    if dense:
        x0, y0, ny = shape[1], shape[2], shape[4]
        for j in range(x.size):
            cell[j] = (x_cells[j] - x0) * ny + (y_cells[j] - y0)
    else:
        bits = shape[1]
        for j in range(x.size):
            cell[j] = _bucket(x_cells[j], y_cells[j], bits)
    for j in range(x.size):
        starts[cell[j]] += 1
    end = np.int32(0)
    for c in range(count + 1):
        end += starts[c]
        starts[c] = end
    rows = np.empty((x.size, 3 if dense else 4), like.dtype)
    for j in range(x.size - 1, -1, -1):
        at = starts[cell[j]] - 1
        starts[cell[j]] = at
        rows[at, _X] = x[j]
        rows[at, _Y] = y[j]
        rows[at, _ROW] = row[j]
        if not dense:
            rows[at, _TAG] = x_cells[j]
    return starts, rows


@njit(nogil=True, cache=True)
def _order(x_first: Any, y_first: Any, shape: Any, cells: Any) -> Any:
    """A counting sort of the probes by the high bits of their first cell."""
    shift = 0
    while (cells >> shift) > 4096:
        shift += 1
    counts = np.zeros((cells >> shift) + 1, np.int32)
    coarse = np.empty(x_first.size, np.int32)
    for i in range(x_first.size):
        coarse[i] = min(max(_cell(x_first[i], y_first[i], shape), 0), cells - 1) >> shift
        counts[coarse[i]] += 1
    total = np.int32(0)
    for c in range(counts.size):
        total, counts[c] = total + counts[c], total
    order = np.empty(x_first.size, np.int32)
    for i in range(x_first.size):
        order[counts[coarse[i]]] = i
        counts[coarse[i]] += 1
    return order


@njit(nogil=True, cache=True, inline="always")
def _inside(code: Any, lower: Any, width: Any) -> Any:
    return type(width)(code - lower) <= width


@njit(nogil=True, cache=True)
def _probe_dense(
    starts: Any,
    rows: Any,
    shape: Any,
    order: Any,
    x_first: Any,
    x_last: Any,
    y_first: Any,
    y_last: Any,
    x_lower: Any,
    x_width: Any,
    y_lower: Any,
    y_width: Any,
    probe: Any,
    build: Any,
    cursor: Any,
) -> Any:
    x0, y0, nx, ny = shape[1], shape[2], shape[3], shape[4]
    found, examined, capacity = 0, 0, probe.size
    resumed = cursor[3] >= 0
    for q in range(cursor[0], order.size):
        i = order[q]
        low, high = max(y_first[i] - y0, 0), min(y_last[i] - y0, ny - 1)
        if low > high:
            continue
        a, u, b, v = x_lower[i], x_width[i], y_lower[i], y_width[i]
        x_start = cursor[1] if resumed else max(x_first[i] - x0, 0)
        for x in range(x_start, min(x_last[i] - x0, nx - 1) + 1):
            start, end = starts[x * ny + low], starts[x * ny + high + 1]
            if resumed:
                start, resumed = cursor[3], False
            while start < end:
                if found == capacity:
                    cursor[0], cursor[1], cursor[3] = q, x, start
                    return found, examined
                stop = min(end, start + capacity - found)
                examined += stop - start
                for j in range(start, stop):
                    probe[found], build[found] = i, rows[j, _ROW]
                    found += int(_inside(rows[j, _X], a, u) & _inside(rows[j, _Y], b, v))
                start = stop
        resumed = False
    cursor[0] = order.size
    return found, examined


@njit(nogil=True, cache=True)
def _probe_hashed(
    starts: Any,
    rows: Any,
    shape: Any,
    order: Any,
    x_first: Any,
    x_last: Any,
    y_first: Any,
    y_last: Any,
    x_lower: Any,
    x_width: Any,
    y_lower: Any,
    y_width: Any,
    probe: Any,
    build: Any,
    cursor: Any,
) -> Any:
    found, examined, capacity = 0, 0, probe.size
    resumed = cursor[3] >= 0
    for q in range(cursor[0], order.size):
        i = order[q]
        a, u, b, v = x_lower[i], x_width[i], y_lower[i], y_width[i]
        for x in range(cursor[1] if resumed else x_first[i], x_last[i] + 1):
            for y in range(cursor[2] if resumed else y_first[i], y_last[i] + 1):
                bucket = _bucket(x, y, shape[1])
                start, end = starts[bucket], starts[bucket + 1]
                if resumed:
                    start, resumed = cursor[3], False
                while start < end:
                    if found == capacity:
                        cursor[0], cursor[1], cursor[2], cursor[3] = q, x, y, start
                        return found, examined
                    stop = min(end, start + capacity - found)
                    examined += stop - start
                    for j in range(start, stop):
                        probe[found], build[found] = i, rows[j, _ROW]
                        same = rows[j, _TAG] == rows.dtype.type(np.int64(x))
                        found += int(_inside(rows[j, _X], a, u) & _inside(rows[j, _Y], b, v) & same)
                    start = stop
    cursor[0] = order.size
    return found, examined
