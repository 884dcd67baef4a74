"""Payload columns of a ring, by slot: written row by row or block by block, taken as Arrow arrays.

Numbers lie in their slots. Of a text its slot says where it begins and how long it is; the bytes lie in a ring of their
own, which texts leave in the order in which they came.
"""

from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.errors import StreamJoinError
from streamjoin.kernel.codes import unlock
from streamjoin.kernel.texts import gather, scatter
from streamjoin.pane import numbers

Slots: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]

_SMALLEST = 1 << 12


def can_hold(type: pa.DataType) -> bool:
    """Whether values of a type can lie in slots."""
    return pa.types.is_boolean(type) or _is_text(type) or _is_plain(type)


def make_column(type: pa.DataType, size: int) -> "Numbers":
    """An empty column with so many slots."""
    kind = Booleans if pa.types.is_boolean(type) else Texts if _is_text(type) else Numbers
    return kind(type, size)


def _is_plain(type: pa.DataType) -> bool:
    return bool(pa.types.is_primitive(type) and 8 <= type.bit_width <= 64 and not pa.types.is_interval(type))


def _is_text(type: pa.DataType) -> bool:
    return type in (pa.string(), pa.binary(), pa.large_string(), pa.large_binary())


class Numbers:
    """Values of one width, times among them."""

    def __init__(self, type: pa.DataType, size: int) -> None:
        self.type = type
        self.values: NDArray[Any] = np.zeros(size, self._dtype)
        self.valid: Mask | None = None
        """Which values are not NULL; None while all are."""

    @property
    def _dtype(self) -> str:
        return f"{'f' if pa.types.is_floating(self.type) else 'i'}{self.type.bit_width // 8}"

    def move(self, size: int, old: Slots, new: Slots) -> None:
        """So many slots; what is held moves from its old slots to new ones, in the same order."""
        self.values = move(self.values, size, old, new)
        if self.valid is not None:
            self.valid = move(self.valid, size, old, new)

    def put(self, slots: Slots, column: pa.Array, oldest: int | None) -> None:
        """Values of newer rows; `oldest` is the slot of the oldest row that is held."""
        del oldest
        self._put_valid(slots, column)
        self.values[slots] = numbers(column).view(self.values.dtype)

    def _put_valid(self, slots: Slots, column: pa.Array) -> None:
        if column.null_count and self.valid is None:
            self.valid = np.ones(len(self.values), np.bool_)
        if self.valid is not None:
            self.valid[slots] = column.is_valid().to_numpy(zero_copy_only=False)

    def put_one(self, slot: int, value: Any, oldest: int | None) -> None:
        """The value of one newer row, not NULL; of a text its bytes."""
        del oldest
        self.values[slot] = value
        if self.valid is not None:
            self.valid[slot] = True

    def take(self, slots: Slots) -> pa.Array:
        """The values in these slots."""
        return pa.Array.from_buffers(self.type, len(slots), [self._take_valid(slots), pa.py_buffer(self.values[slots])])

    def _take_valid(self, slots: Slots) -> pa.Buffer | None:
        return None if self.valid is None else _pack(self.valid[slots])

    @property
    def nbytes(self) -> int:
        """The bytes of all slots."""
        return self.values.nbytes + (0 if self.valid is None else self.valid.nbytes)


class Booleans(Numbers):
    """A byte each."""

    @property
    def _dtype(self) -> str:
        return "?"

    def put(self, slots: Slots, column: pa.Array, oldest: int | None) -> None:
        """Values of newer rows."""
        del oldest
        self._put_valid(slots, column)
        self.values[slots] = column.fill_null(False).to_numpy(zero_copy_only=False)

    def take(self, slots: Slots) -> pa.Array:
        """The values in these slots."""
        return pa.Array.from_buffers(self.type, len(slots), [self._take_valid(slots), _pack(self.values[slots])])


class Texts(Numbers):
    """Strings and binary values: `values` are their lengths."""

    def __init__(self, type: pa.DataType, size: int) -> None:
        super().__init__(type, size)
        self._starts = np.zeros(size, np.int64)
        self._bytes = np.zeros(_SMALLEST, np.uint8)
        self._end = 0
        """How many bytes were ever written; byte n is at n modulo the room."""
        self._offset: Any = np.int64 if type in (pa.large_string(), pa.large_binary()) else np.int32

    @property
    def _dtype(self) -> str:
        return "i8"

    def move(self, size: int, old: Slots, new: Slots) -> None:
        """So many slots; the bytes of what is held are put together."""
        ends, content = self._gather(old)
        super().move(size, old, new)
        self._starts = np.zeros(size, np.int64)
        self._starts[new] = ends[:-1]
        self._bytes[: len(content)] = content
        self._end = len(content)

    def put(self, slots: Slots, column: pa.Array, oldest: int | None) -> None:
        """Values of newer rows."""
        if not len(slots):
            return
        self._put_valid(slots, column)
        _, offsets, content = column.buffers()
        ends = np.frombuffer(offsets, self._offset)[column.offset : column.offset + len(column) + 1]
        ends = unlock(ends).astype(np.int64)
        held = np.zeros(0, np.uint8) if content is None else unlock(np.frombuffer(content, np.uint8))
        self._make_room(int(ends[-1] - ends[0]), oldest)
        self._end = int(scatter(held, ends, self._bytes, self._end, slots, self._starts, self.values))

    def put_one(self, slot: int, value: Any, oldest: int | None) -> None:
        """The bytes of one newer row."""
        super().put_one(slot, len(value), oldest)
        self._make_room(len(value), oldest)
        self._starts[slot] = self._end
        _write(self._bytes, self._end, np.frombuffer(value, np.uint8))
        self._end += len(value)

    def _make_room(self, more: int, oldest: int | None) -> None:
        """Room for so many bytes more."""
        first = self._end if oldest is None else int(self._starts[oldest])
        size = len(self._bytes)
        while self._end + more - first > size:
            size *= 2
        if size > len(self._bytes):
            grown, at = np.zeros(size, np.uint8), first & (len(self._bytes) - 1)
            held = np.concatenate([self._bytes[at:], self._bytes[:at]])[: self._end - first]
            _write(grown, first, held)
            self._bytes = grown

    def take(self, slots: Slots) -> pa.Array:
        """The values in these slots."""
        ends, content = self._gather(slots)
        if ends[-1] > np.iinfo(self._offset).max:
            raise StreamJoinError(f"results: a block with more than 2 GiB of {self.type}; expected large_{self.type}")
        buffers = [self._take_valid(slots), pa.py_buffer(ends.astype(self._offset)), pa.py_buffer(content)]
        return pa.Array.from_buffers(self.type, len(slots), buffers)

    def _gather(self, slots: Slots) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """Where the texts in these slots end, and their bytes."""
        ends = np.zeros(len(slots) + 1, np.int64)
        np.cumsum(self.values[slots], out=ends[1:])
        content = np.empty(int(ends[-1]), np.uint8)
        gather(self._bytes, self._starts, slots, ends, content)
        return ends, content

    @property
    def nbytes(self) -> int:
        """The bytes of all slots, and of the texts."""
        return super().nbytes + self._starts.nbytes + self._bytes.nbytes


def move(array: NDArray[Any], size: int, old: Slots, new: Slots) -> NDArray[Any]:
    """A longer array with what lay in the old places in new ones."""
    grown = np.zeros((size, *array.shape[1:]), array.dtype)
    grown[new] = array[old]
    return grown


def _write(ring: NDArray[np.uint8], start: int, content: NDArray[np.uint8]) -> None:
    """Write bytes from byte number `start` on."""
    at = start & (len(ring) - 1)
    fits = min(len(content), len(ring) - at)
    ring[at : at + fits] = content[:fits]
    ring[: len(content) - fits] = content[fits:]


def _pack(mask: Mask) -> pa.Buffer:
    return pa.py_buffer(np.packbits(mask, bitorder="little"))
