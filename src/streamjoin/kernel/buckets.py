"""Build rows sorted into buckets, so that a probe looks only at the buckets that its intervals touch.

A bucket is a pair (x, y) of numbers from the `Ruler`s of both axes. With buckets about as wide as the band, a probe
touches two or three along each axis.

- **Dense**, when the buckets between the least and the greatest are not many more than the rows: bucket (x, y) has the
  number ``x * ny + y``, and the y buckets of one x are neighbours in memory: a probe reads one run of rows per x.
- **Hashed** otherwise, so that memory is bounded by the rows however far the values spread: bucket (x, y) shares slot
  ``(hash(x) + y) % slots`` with others. The x of each row is kept and compared, or a row in a slot that two x of
  a probe share would be found twice. This is also the hash table of an equality: one x, one slot.

Rows lie in the order of their buckets with both codes side by side: a candidate costs one cache line, not three.
`visit` probes them. Memory is allocated by NumPy, which asks for huge pages, and as little of it as can be: a fresh
page costs as much as sorting the rows that it holds. So columns are worked on a block at a time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamjoin.compile.ondisk import kernel
from streamjoin.kernel.codes import UNSIGNED, Codes, encode, unlock
from streamjoin.kernel.pairs import Chunk, Indices
from streamjoin.kernel.ruler import EXACT, Ruler, Values
from streamjoin.kernel.visit import (
    ASKED,
    DENSE,
    HASHED,
    U1,
    U2,
    U3,
    order_probes,
    probe_dense,
    probe_hashed,
    slot_of,
    sum_up,
)

DENSE_BUCKETS_PER_ROW = 4
_MOST_BUCKETS = 64  # that a probe touches; or a sixteenth of a dense table
_BLOCK = 1 << 16
_SORTED_FROM = 1 << 14  # rows: below, everything a probe touches is in the second-level cache anyway
_COARSE = 1 << 14  # steps in the order of probes

Asked = tuple[Codes, Codes, Values, Values]
"""The intervals of all probes on one axis, ends included: as codes, and as what the buckets are cut from."""


@dataclass(frozen=True)
class Axis:
    """A column, and the width of its buckets: 0 for an equality, whose codes are buckets. No column: one bucket."""

    values: Values | None = None
    width: float = 0.0

    def codes(self, rows: slice) -> Codes:
        """What the intervals are tested on."""
        return np.zeros(rows.stop - rows.start, np.int32) if self.values is None else encode(self.values[rows])

    def marks(self, rows: slice) -> Values:
        """What the buckets are cut from."""
        floating = self.values is not None and self.values.dtype.kind == "f"
        return self.values[rows] if self.values is not None and floating and self.width else self.codes(rows)

    def ruler(self, size: int) -> Ruler:
        """The buckets of all values."""
        return Ruler.over(self.marks(slice(0, size if self.values is not None else 0)), self.width or 1.0)


@dataclass(frozen=True)
class Buckets:
    """Where each bucket's rows start, the rows, and the rulers; `bits` of a hashed table, 0 of a dense one."""

    starts: NDArray[np.int32]
    rows: NDArray[Any]
    x: Ruler
    y: Ruler
    bits: int

    @classmethod
    def build(cls, x: Axis, y: Axis, row: Indices) -> "Buckets":
        """Index the rows numbered `row`: a counting sort by bucket."""
        size = len(row)
        x_ruler, y_ruler, bits = _divide(x, y, size)
        blocks = [slice(start, min(start + _BLOCK, size)) for start in range(0, size, _BLOCK)]
        buckets = (1 << bits) if bits else (x_ruler.last + 1) * (y_ruler.last + 1)
        ends = np.zeros(
            buckets + 2, np.int32
        )  # the start of bucket b at b + 1, and when its rows are in place, its end
        place = np.empty(size, np.uint32)
        for block in blocks:
            _count(_number_buckets(x_ruler, y_ruler, bits, x.marks(block), y.marks(block), place[block]), ends)
        sum_up(ends)
        _place(place, ends)
        none = slice(0, 0)
        narrow = x.codes(none).dtype == y.codes(none).dtype == np.int32
        rows = np.empty((size, int(HASHED if bits else DENSE)), np.int32 if narrow else np.int64)
        for block in blocks:
            x_codes, y_codes = (axis.codes(block).astype(rows.dtype, copy=False) for axis in (x, y))
            tags = x_ruler.buckets(x.marks(block), np.int64) if bits else np.empty(0, np.int64)
            narrowed = tags.astype(rows.dtype, copy=False)  # neighbours differ in their low bits
            columns = (unlock(column) for column in (x_codes, y_codes, row[block]))
            _scatter(*columns, narrowed, place[block], rows.reshape(-1))
        return cls(ends[:-1], rows, x_ruler, y_ruler, bits)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "Buckets":
        """The index from the arrays that `arrays` gave."""
        x, y = (Ruler.from_arrays(arrays[f"{name}_origin"], arrays[f"{name}_scale"]) for name in "xy")
        return cls(arrays["starts"], arrays["rows"], x, y, int(arrays["bits"][0]))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The index as named arrays."""
        rulers = {"x": self.x.arrays(), "y": self.y.arrays()}
        named = {f"{axis}_{name}": array for axis, arrays in rulers.items() for name, array in arrays.items()}
        return {"starts": self.starts, "rows": self.rows, "bits": np.array([self.bits], np.int64), **named}

    def visits(self, x: Asked, y: Asked) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """What the probes ask, in the order in which to visit them; and those that touch too many buckets to visit."""
        size, buckets = len(x[0]), len(self.starts) - 1
        dtype: Any = np.int64 if self.bits else np.int32
        ends = [ruler.buckets(end, dtype) for ruler, asked in ((self.x, x), (self.y, y)) for end in asked[2:]]
        bucket = _number_buckets(self.x, self.y, self.bits, x[2], y[2], np.empty(size, np.uint32))
        codes = [unlock(end.astype(self.rows.dtype, copy=False)) for asked in (x, y) for end in asked[:2]]
        ordered = len(self.rows) >= _SORTED_FROM and size >= _MOST_BUCKETS
        shift = max(buckets.bit_length() - _COARSE.bit_length() + 1, 0) if ordered else 32
        most = _MOST_BUCKETS if self.bits else max(_MOST_BUCKETS, buckets // 16)
        narrow = not self.bits and self.rows.dtype == np.int32
        visits = np.empty((size, ASKED), np.uint32 if narrow else np.uint64)
        wide = np.empty(size, np.int64)
        steps = np.zeros((buckets >> shift) + 2, np.int32)
        order: Any = order_probes
        count = order(*ends, *codes, bucket, steps, shift, most, visits, wide)
        return visits[:count], wide[: size - count]

    def probe(self, visits: NDArray[Any], chunk: Chunk, cursor: NDArray[np.int64]) -> tuple[int, int]:
        """Fill `chunk`: how many pairs, and how many rows were looked at for them.

        `cursor` (visit, x, y, row) starts as zeros and has come to the end when its first number is that of the visits.
        """
        table = self.starts.view(np.uint32), self.rows.reshape(-1).view(UNSIGNED[self.rows.dtype])
        out = visits.reshape(-1), chunk.probe, chunk.build, cursor
        if self.bits:
            found, examined = probe_hashed(*table, self.bits, *out)
        else:
            found, examined = probe_dense(*table, self.y.last + 1, *out)
        return int(found), int(examined)


def _divide(x: Axis, y: Axis, size: int) -> tuple[Ruler, Ruler, int]:
    """How to divide both axes, and the bits of a hashed table."""
    rulers = x.ruler(size), y.ruler(size)
    if (rulers[0].last + 1) * (rulers[1].last + 1) <= DENSE_BUCKETS_PER_ROW * size + 1024:
        return *rulers, 0
    x_ruler, y_ruler = (
        Ruler(0, 1.0, EXACT) if axis.values is not None and not axis.width else ruler
        for axis, ruler in zip((x, y), rulers, strict=True)
    )
    return x_ruler, y_ruler, max((size - 1).bit_length(), 4)


def _number_buckets(
    x: Ruler, y: Ruler, bits: int, x_marks: Values, y_marks: Values, bucket: NDArray[np.uint32]
) -> NDArray[np.uint32]:
    """The numbers of the buckets, written to `bucket`."""
    if bits:
        _number_hashed(x.buckets(x_marks, np.int64), y.buckets(y_marks, np.int64), bits, bucket)
    else:
        _number_dense(x.buckets(x_marks), y.buckets(y_marks), y.last + 1, bucket)
    return bucket


@kernel
def _number_dense(x_buckets: Any, y_buckets: Any, ny: int, bucket: Any) -> None:
    for j in range(bucket.size):
        bucket[j] = x_buckets[j] * ny + y_buckets[j]


@kernel
def _number_hashed(x_buckets: Any, y_buckets: Any, bits: int, bucket: Any) -> None:
    for j in range(bucket.size):
        bucket[j] = slot_of(x_buckets[j], y_buckets[j], np.uint64(bits))


@kernel
def _count(bucket: Any, ends: Any) -> None:
    for j in range(bucket.size):
        ends[bucket[j] + U2] += 1


@kernel
def _place(place: Any, ends: Any) -> None:
    """From the numbers of buckets to the places of rows, each where its bucket goes on."""
    for j in range(place.size):
        bucket = place[j] + U1
        place[j] = ends[bucket]
        ends[bucket] += 1


@kernel
def _scatter(x: Any, y: Any, row: Any, tags: Any, place: Any, flat: Any) -> None:
    tagged = tags.size > 0
    stride = HASHED if tagged else DENSE
    for j in range(x.size):
        to = place[j] * stride
        flat[to], flat[to + U1], flat[to + U2] = x[j], y[j], row[j]
        if tagged:
            flat[to + U3] = tags[j]
