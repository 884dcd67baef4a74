"""The grid: build rows sorted into cells, so that a probe looks only at the cells that its intervals touch.

A cell is a pair (x, y) of numbers from the `Ruler`s of both axes. With cells about as wide as the band, a probe touches
two or three along each axis.

- **Dense**, when the cells between the least and the greatest are not many more than the rows: cell (x, y) has the
  number ``x * ny + y``, and the y cells of one x are neighbours in memory: a probe reads one run of rows per x.
- **Hashed** otherwise, so that memory is bounded by the rows however far the values spread: cell (x, y) shares bucket
  ``(hash(x) + y) % buckets`` with others. The x of each row is kept and compared, or a row in a bucket that two x of
  a probe share would be found twice. This is also the hash table of an equality: one x, one bucket.

Rows lie in the order of their cells with both codes side by side (a candidate costs one cache line, not three). Probes
are visited in the order of their first cells, each as one record of all that it asks (docs/decisions/0004):

- Candidates are written unconditionally and the count moves by the outcome of the test. With a branch, its
  mispredictions kept the processor from overlapping the cache misses of consecutive probes.
- Everything in the loops is unsigned and one-dimensional: for a signed index Numba adds a test for negative ones, for
  a second dimension a multiplication, and the registers no longer suffice. That alone took a third of a probe's time.
- Memory is allocated by NumPy, which asks for huge pages, and as little of it as can be: on the development machine a
  fresh page costs as much as sorting the rows that it holds. So columns are worked on a block at a time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from streamjoin.compile.ondisk import kernel
from streamjoin.kernel.cells import EXACT, Ruler, Values
from streamjoin.kernel.codes import UNSIGNED, Codes, encode, inside, unlocked
from streamjoin.kernel.pairs import Chunk, Indices

DENSE_CELLS_PER_ROW = 4
_MOST_CELLS = 64  # that a probe touches; or a sixteenth of a dense table
_BLOCK = 1 << 16
_SORTED_FROM = 1 << 14  # rows: below, everything a probe touches is in the second-level cache anyway
_COARSE = 1 << 14  # steps in the order of probes
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_ASKED = 9
_I, _X, _NX, _Y, _NY, _X_LOWER, _X_WIDTH, _Y_LOWER, _Y_WIDTH = (np.uint64(k) for k in range(_ASKED))
_U0, _U1, _U2, _U3, _DENSE, _HASHED = (np.uint64(k) for k in (0, 1, 2, 3, 3, 4))  # numbers in a row

Asked = tuple[Codes, Codes, Values, Values]
"""The intervals of all probes on one axis, ends included: as codes, and as what the cells are cut from."""


@dataclass(frozen=True)
class Axis:
    """A column, and how wide its cells are: 0 for an equality, whose codes are cells. Without a column all is one."""

    values: Values | None = None
    width: float = 0.0

    def codes(self, rows: slice) -> Codes:
        """What the intervals are tested on."""
        return np.zeros(rows.stop - rows.start, np.int32) if self.values is None else encode(self.values[rows])

    def marks(self, rows: slice) -> Values:
        """What the cells are cut from."""
        floating = self.values is not None and self.values.dtype.kind == "f"
        return self.values[rows] if self.values is not None and floating and self.width else self.codes(rows)

    def ruler(self, size: int) -> Ruler:
        """The cells of all values."""
        return Ruler.over(self.marks(slice(0, size if self.values is not None else 0)), self.width or 1.0)


@dataclass(frozen=True)
class Grid:
    """The index: where each cell's rows start, the rows, and the rulers; `bits` of a hashed table, 0 of a dense one."""

    starts: NDArray[np.int32]
    rows: NDArray[Any]
    x: Ruler
    y: Ruler
    bits: int

    @classmethod
    def build(cls, x: Axis, y: Axis, row: Indices) -> "Grid":
        """Index the rows numbered `row`: a counting sort by cell."""
        size = len(row)
        x_ruler, y_ruler, bits = _rulers(x, y, size)
        blocks = [slice(start, min(start + _BLOCK, size)) for start in range(0, size, _BLOCK)]
        cells = (1 << bits) if bits else (x_ruler.last + 1) * (y_ruler.last + 1)
        ends = np.zeros(cells + 2, np.int32)  # the start of cell c at c + 1, and when its rows are in place, its end
        place = np.empty(size, np.uint32)
        for block in blocks:
            _count(_numbered(x_ruler, y_ruler, bits, x.marks(block), y.marks(block), place[block]), ends)
        _sum(ends)
        _place(place, ends)
        none = slice(0, 0)
        narrow = x.codes(none).dtype == y.codes(none).dtype == np.int32
        rows = np.empty((size, int(_HASHED if bits else _DENSE)), np.int32 if narrow else np.int64)
        for block in blocks:
            x_codes, y_codes = (axis.codes(block).astype(rows.dtype, copy=False) for axis in (x, y))
            tags = x_ruler.cells(x.marks(block), np.int64) if bits else np.empty(0, np.int64)
            narrowed = tags.astype(rows.dtype, copy=False)  # neighbours differ in their low bits
            columns = (unlocked(column) for column in (x_codes, y_codes, row[block]))
            _scatter(*columns, narrowed, place[block], rows.reshape(-1))
        return cls(ends[:-1], rows, x_ruler, y_ruler, bits)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "Grid":
        """The index from the arrays that `arrays` gave."""
        x, y = (Ruler.from_arrays(arrays[f"{name}_origin"], arrays[f"{name}_scale"]) for name in "xy")
        return cls(arrays["starts"], arrays["rows"], x, y, int(arrays["bits"][0]))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The index as named arrays."""
        rulers = {"x": self.x.arrays(), "y": self.y.arrays()}
        named = {f"{axis}_{name}": array for axis, arrays in rulers.items() for name, array in arrays.items()}
        return {"starts": self.starts, "rows": self.rows, "bits": np.array([self.bits], np.int64), **named}

    def visits(self, x: Asked, y: Asked) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """What the probes ask, in the order in which to visit them; and those that touch too many cells to visit."""
        size, cells = len(x[0]), len(self.starts) - 1
        dtype: Any = np.int64 if self.bits else np.int32
        ends = [ruler.cells(end, dtype) for ruler, asked in ((self.x, x), (self.y, y)) for end in asked[2:]]
        cell = _numbered(self.x, self.y, self.bits, x[2], y[2], np.empty(size, np.uint32))
        codes = [unlocked(end.astype(self.rows.dtype, copy=False)) for asked in (x, y) for end in asked[:2]]
        ordered = len(self.rows) >= _SORTED_FROM and size >= _MOST_CELLS
        shift = max(cells.bit_length() - _COARSE.bit_length() + 1, 0) if ordered else 32
        most = _MOST_CELLS if self.bits else max(_MOST_CELLS, cells // 16)
        narrow = not self.bits and self.rows.dtype == np.int32
        visits = np.empty((size, _ASKED), np.uint32 if narrow else np.uint64)
        wide = np.empty(size, np.int64)
        steps = np.zeros((cells >> shift) + 2, np.int32)
        sort: Any = _visits
        count = sort(*ends, *codes, cell, steps, shift, most, visits, wide)
        return visits[:count], wide[: size - count]

    def probe(self, visits: NDArray[Any], chunk: Chunk, cursor: NDArray[np.int64]) -> tuple[int, int]:
        """Fill `chunk`: how many pairs, and how many rows were looked at for them.

        `cursor` (visit, x, y, row) starts as zeros and has come to the end when its first number is that of the visits.
        """
        table = self.starts.view(np.uint32), self.rows.reshape(-1).view(UNSIGNED[self.rows.dtype])
        out = visits.reshape(-1), chunk.probe, chunk.build, cursor
        if self.bits:
            found, examined = _probe_hashed(*table, self.bits, *out)
        else:
            found, examined = _probe_dense(*table, self.y.last + 1, *out)
        return int(found), int(examined)


def _rulers(x: Axis, y: Axis, size: int) -> tuple[Ruler, Ruler, int]:
    """How to divide both axes, and the bits of a hashed table."""
    rulers = x.ruler(size), y.ruler(size)
    if (rulers[0].last + 1) * (rulers[1].last + 1) <= DENSE_CELLS_PER_ROW * size + 1024:
        return *rulers, 0
    x_ruler, y_ruler = (
        Ruler(0, 1.0, EXACT) if axis.values is not None and not axis.width else ruler
        for axis, ruler in zip((x, y), rulers, strict=True)
    )
    return x_ruler, y_ruler, max((size - 1).bit_length(), 4)


def _numbered(
    x: Ruler, y: Ruler, bits: int, x_marks: Values, y_marks: Values, cell: NDArray[np.uint32]
) -> NDArray[np.uint32]:
    """The numbers of the cells, written to `cell`."""
    if bits:
        _hashed(x.cells(x_marks, np.int64), y.cells(y_marks, np.int64), bits, cell)
    else:
        _dense(x.cells(x_marks), y.cells(y_marks), y.last + 1, cell)
    return cell


@kernel
def _dense(x_cells: Any, y_cells: Any, ny: int, cell: Any) -> None:
    for j in range(cell.size):
        cell[j] = x_cells[j] * ny + y_cells[j]


@njit(inline="always")
def _bucket(x: Any, y: Any, bits: Any) -> Any:
    """The bucket of a cell in the hashed table."""
    mixed = (np.uint64(x) * _GOLDEN) >> (np.uint64(64) - bits)
    return (mixed + np.uint64(y)) & ((_U1 << bits) - _U1)


@kernel
def _hashed(x_cells: Any, y_cells: Any, bits: int, cell: Any) -> None:
    for j in range(cell.size):
        cell[j] = _bucket(x_cells[j], y_cells[j], np.uint64(bits))


@kernel
def _count(cell: Any, ends: Any) -> None:
    for j in range(cell.size):
        ends[cell[j] + _U2] += 1


@kernel
def _sum(counts: Any) -> None:
    total = np.int32(0)
    for c in range(counts.size):
        total = np.int32(total + counts[c])
        counts[c] = total


@kernel
def _place(place: Any, ends: Any) -> None:
    """From the numbers of cells to the places of rows, each where its cell goes on."""
    for j in range(place.size):
        cell = place[j] + _U1
        place[j] = ends[cell]
        ends[cell] += 1


@kernel
def _scatter(x: Any, y: Any, row: Any, tags: Any, place: Any, flat: Any) -> None:
    tagged = tags.size > 0
    stride = _HASHED if tagged else _DENSE
    for j in range(x.size):
        to = place[j] * stride
        flat[to], flat[to + _U1], flat[to + _U2] = x[j], y[j], row[j]
        if tagged:
            flat[to + _U3] = tags[j]


@kernel
def _visits(
    x_first: Any,
    x_last: Any,
    y_first: Any,
    y_last: Any,
    x_lower: Any,
    x_upper: Any,
    y_lower: Any,
    y_upper: Any,
    cell: Any,
    counts: Any,
    shift: int,
    most: int,
    visits: Any,
    wide: Any,
) -> Any:
    """A counting sort of the probes by the high bits of their first cell; how many of them do not touch too much."""
    far = 0
    for i in range(cell.size):
        across, along = np.int64(x_last[i]) - x_first[i] + 1, np.int64(y_last[i]) - y_first[i] + 1
        if not (0 < across <= most and 0 < along <= most and across * along <= most):
            wide[far] = i
            far += 1
        else:
            counts[(np.uint64(cell[i]) >> np.uint64(shift)) + _U1] += 1
    _sum(counts)
    skipped = 0
    for i in range(cell.size):
        if skipped < far and wide[skipped] == i:
            skipped += 1
            continue
        c = np.uint64(cell[i]) >> np.uint64(shift)
        to = counts[c]
        counts[c] = to + 1
        visit = visits[to]
        visit[_I] = i
        visit[_X], visit[_NX] = x_first[i], x_last[i] - x_first[i] + 1
        visit[_Y], visit[_NY] = y_first[i], y_last[i] - y_first[i] + 1
        visit[_X_LOWER], visit[_X_WIDTH] = x_lower[i], x_upper[i] - x_lower[i]
        visit[_Y_LOWER], visit[_Y_WIDTH] = y_lower[i], y_upper[i] - y_lower[i]
    return cell.size - far


@kernel
def _probe_dense(starts: Any, flat: Any, ny: int, visits: Any, probe: Any, build: Any, cursor: Any) -> Any:
    code = flat.dtype.type
    columns = np.uint64(ny)
    found, examined, capacity = _U0, _U0, np.uint64(probe.size)
    column, resumed = np.uint64(cursor[1]), cursor[3] > 0
    for q in range(cursor[0], visits.size // _ASKED):
        ask = np.uint64(q) * np.uint64(_ASKED)
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
                    cursor[0], cursor[1], cursor[3] = q, column, start + _U1
                    return found, examined
                stop = min(end, start + capacity - found)
                examined += stop - start
                at, stop_at = start * _DENSE, stop * _DENSE
                while at < stop_at:
                    probe[found], build[found] = i, flat[at + _U2]
                    found += np.uint64(inside(flat[at], a, u) & inside(flat[at + _U1], b, v))
                    at += _DENSE
                start = stop
            column += _U1
        column = _U0
    cursor[0] = visits.size // _ASKED
    return found, examined


@kernel
def _probe_hashed(starts: Any, flat: Any, bits: int, visits: Any, probe: Any, build: Any, cursor: Any) -> Any:
    code = flat.dtype.type
    found, examined, capacity = _U0, _U0, np.uint64(probe.size)
    column, line, resumed = np.uint64(cursor[1]), np.uint64(cursor[2]), cursor[3] > 0
    for q in range(cursor[0], visits.size // _ASKED):
        ask = np.uint64(q) * np.uint64(_ASKED)
        i = visits[ask + _I]
        a, u = code(visits[ask + _X_LOWER]), code(visits[ask + _X_WIDTH])
        b, v = code(visits[ask + _Y_LOWER]), code(visits[ask + _Y_WIDTH])
        while column < visits[ask + _NX]:
            x = visits[ask + _X] + column
            while line < visits[ask + _NY]:
                bucket = _bucket(x, visits[ask + _Y] + line, np.uint64(bits))
                start, end = np.uint64(starts[bucket]), np.uint64(starts[bucket + _U1])
                if resumed:
                    start, resumed = np.uint64(cursor[3] - 1), False
                while start < end:
                    if found == capacity:
                        cursor[0], cursor[1], cursor[2], cursor[3] = q, column, line, start + _U1
                        return found, examined
                    stop = min(end, start + capacity - found)
                    examined += stop - start
                    at, stop_at = start * _HASHED, stop * _HASHED
                    while at < stop_at:
                        probe[found], build[found] = i, flat[at + _U2]
                        same = flat[at + _U3] == code(x)
                        found += np.uint64(inside(flat[at], a, u) & inside(flat[at + _U1], b, v) & same)
                        at += _HASHED
                    start = stop
                line += _U1
            line = _U0
            column += _U1
        column = _U0
    cursor[0] = visits.size // _ASKED
    return found, examined
