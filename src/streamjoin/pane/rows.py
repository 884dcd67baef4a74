"""Rows of one side as arrays: time and keys for the kernels, the payload for the results.

All of it is immutable, column by column, and moved without a Python object per row. The column-oriented window is
CellJoin's (section 4.2): a kernel reads the key columns alone, results fetch their payload afterwards.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Indices: TypeAlias = NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class KeyColumn:
    """One key column: machine numbers, with a mask where some are NULL.

    Booleans, integers and floats are themselves; dates are int32 days, timestamps and intervals int64 microseconds,
    decimals of up to 18 digits int64 unscaled. Values of any other type are int64 hashes of their content, and
    `exact` holds the values themselves, because equal hashes prove nothing.
    """

    values: NDArray[Any]
    valid: NDArray[np.bool_] | None = None
    exact: Any = None  # pa.Array

    def __post_init__(self) -> None:
        for part in (self.valid, self.exact):
            if part is not None and len(part) != len(self.values):
                raise ValueError(f"key column: {len(self.values)} values, but {len(part)} beside them")

    def take(self, indices: Indices) -> "KeyColumn":
        """The values at these positions."""
        return KeyColumn(
            self.values[indices],
            None if self.valid is None else self.valid[indices],
            None if self.exact is None else self.exact.take(pa.array(indices)),
        )

    def slice(self, offset: int, length: int) -> "KeyColumn":
        """So many values from `offset` on, without copying."""
        stop = offset + length
        return KeyColumn(
            self.values[offset:stop],
            None if self.valid is None else self.valid[offset:stop],
            None if self.exact is None else self.exact.slice(offset, length),
        )

    @classmethod
    def concat(cls, columns: Sequence["KeyColumn"]) -> "KeyColumn":
        """All values, one column after the other."""
        valid = exact = None
        if any(column.valid is not None for column in columns):
            valid = np.concatenate([np.ones(len(c.values), np.bool_) if c.valid is None else c.valid for c in columns])
        if any(column.exact is not None for column in columns):
            exact = pa.concat_arrays([column.exact for column in columns])
        return cls(_concat_arrays([column.values for column in columns]), valid, exact)


@dataclass(frozen=True, eq=False)
class Rows:
    """An immutable block of rows of one side.

    `keys` come in the order of ``predicate.keys(side)``; `payload` holds the columns that results carry and may have
    none at all; `rank`, a row's position within its own stream, is there under count windows only.

    >>> rows = Rows(np.array([10, 20, 30]), (KeyColumn(np.array([1.5, 2.5, 3.5])),), pa.record_batch({"id": [1, 2, 3]}))
    >>> rows.take(np.array([2, 0])).payload.to_pydict()
    {'id': [3, 1]}
    """

    time: NDArray[np.int64]
    keys: tuple[KeyColumn, ...]
    payload: Any  # pa.RecordBatch
    rank: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        for number in (self.time, self.rank):
            if number is not None and number.dtype != np.int64:
                raise ValueError(f"rows: time and rank are int64, not {number.dtype}")
        lengths = [len(key.values) for key in self.keys] + [self.payload.num_rows]
        if self.rank is not None:
            lengths.append(len(self.rank))
        if any(length != len(self.time) for length in lengths):
            raise ValueError(f"rows: {len(self.time)} times, but columns of {lengths} rows beside them")

    def __len__(self) -> int:
        return len(self.time)

    def take(self, indices: Indices) -> "Rows":
        """The rows at these positions, in this order, in buffers of their own."""
        return Rows(
            self.time[indices],
            tuple(key.take(indices) for key in self.keys),
            self.payload.take(pa.array(indices)),
            None if self.rank is None else self.rank[indices],
        )

    def slice(self, offset: int, length: int | None = None) -> "Rows":
        """At most so many rows from `offset` on, as Arrow slices: nothing is copied, whole buffers stay alive."""
        offset = min(offset, len(self))
        length = len(self) - offset if length is None else min(length, len(self) - offset)
        return Rows(
            self.time[offset : offset + length],
            tuple(key.slice(offset, length) for key in self.keys),
            self.payload.slice(offset, length),
            None if self.rank is None else self.rank[offset : offset + length],
        )

    @classmethod
    def concat(cls, blocks: Sequence["Rows"]) -> "Rows":
        """All rows, one block after the other, in buffers of their own; a single block is returned as it is."""
        if not blocks:
            raise ValueError("rows: nothing to concatenate, not even a schema")
        if len(blocks) == 1:
            return blocks[0]
        rank = None
        if any(block.rank is not None for block in blocks):
            rank = np.concatenate([block.rank for block in blocks if block.rank is not None])
        return cls(
            np.concatenate([block.time for block in blocks]),
            tuple(KeyColumn.concat(columns) for columns in zip(*(block.keys for block in blocks), strict=True)),
            _concat_batches([block.payload for block in blocks]),
            rank,
        )

    @property
    def nbytes(self) -> int:
        """The bytes of all buffers that these rows keep alive, a shared one counted once.

        A slice keeps the buffers it was cut from. Rows in a mapped file are counted by their own parts of it.
        """
        arrays: list[NDArray[Any] | None] = [self.time, self.rank]
        arrow = self.payload.columns
        for key in self.keys:
            arrays += [key.values, key.valid]
            arrow = [*arrow, key.exact] if key.exact is not None else arrow
        extents = [_extent(array) for array in arrays if array is not None]
        extents += [(b.address, b.address + b.size) for column in arrow for b in _buffers(column)]
        return _covered(extents)


def _concat_arrays(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    if len({array.dtype for array in arrays}) > 1:  # NumPy would find a common type, and 2**53 + 1 would become 2**53
        raise ValueError(f"key column: types differ: {', '.join(sorted({str(array.dtype) for array in arrays}))}")
    return np.concatenate(arrays)


def _concat_batches(batches: Sequence[Any]) -> Any:
    schema = batches[0].schema
    if not len(schema):
        return no_columns(sum(batch.num_rows for batch in batches)).replace_schema_metadata(schema.metadata)
    columns = [pa.concat_arrays(chunks) for chunks in zip(*(batch.columns for batch in batches), strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def no_columns(count: int) -> Any:
    """A record batch of so many rows and no column: the payload where results carry nothing of a side.

    >>> no_columns(3).num_rows
    3
    """
    return pa.RecordBatch.from_struct_array(pa.StructArray.from_buffers(pa.struct([]), count, [None]))


def _extent(array: NDArray[Any]) -> tuple[int, int]:
    """First and last address of the memory that an array keeps alive."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    address = array.__array_interface__["data"][0]
    return address, address + array.nbytes


def _buffers(column: Any) -> Iterator[Any]:
    yield from (buffer for buffer in column.buffers() if buffer is not None)
    if pa.types.is_dictionary(column.type):
        yield from _buffers(column.dictionary)


def _covered(extents: Iterable[tuple[int, int]]) -> int:
    """The number of addresses in the union of half-open intervals."""
    steps = sorted(step for start, stop in extents if stop > start for step in ((start, 1), (stop, -1)))
    covered = depth = 0
    for (address, change), (following, _) in pairwise(steps):
        depth += change
        covered += following - address if depth else 0
    return covered
