"""Rows of one side as arrays: time and keys for the kernels, the payload for the results.

All of it is immutable, column by column, and moved without a Python object per row. The column-oriented window is
CellJoin's (section 4.2): a kernel reads the key columns alone, results fetch their payload afterwards.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.pane.columns import DTYPES, numbers
from streamjoin.pane.key import Indices, KeyColumn
from streamjoin.pane.zones import Zones


@dataclass(frozen=True, eq=False)
class Rows:
    """An immutable block of rows of one side.

    `keys` come in the order of ``predicate.keys(side)``; `payload` holds the columns that results carry and may have
    none at all; `rank` is a row's position within its own stream, where it is counted or its matches are flagged;
    `route` is the hash that the row was routed by, kept so that stored rows can be routed anew.

    >>> rows = Rows(np.array([10, 20, 30]), (KeyColumn(np.array([1.5, 2.5, 3.5])),), pa.record_batch({"id": [1, 2, 3]}))
    >>> rows.take(np.array([2, 0])).payload.to_pydict()
    {'id': [3, 1]}
    """

    time: NDArray[np.int64]
    keys: tuple[KeyColumn, ...]
    payload: Any  # pa.RecordBatch
    rank: NDArray[np.int64] | None = None
    route: NDArray[np.int64] | None = None
    source: Any = field(default=None, init=False, repr=False)
    """The container that these rows were read from or packed to, if it holds all of them and nothing else but ranks."""
    tidy: bool = field(default=False, init=False, repr=False)
    """Whether nothing lies under NULLs of the payload or beside its values: equal values are equal bytes."""

    def __post_init__(self) -> None:
        beside = [array for array in (self.rank, self.route) if array is not None]
        for array in (self.time, *beside):
            if array.dtype != np.int64:
                raise ValueError(f"rows: time, rank and route are int64, not {array.dtype}")
        lengths = [len(key.values) for key in self.keys] + [self.payload.num_rows, *map(len, beside)]
        if any(length != len(self.time) for length in lengths):
            raise ValueError(f"rows: {len(self.time)} times, but columns of {lengths} rows beside them")

    def __len__(self) -> int:
        return len(self.time)

    @cached_property
    def zones(self) -> Zones:
        """Between which values the rows lie."""
        return Zones.of(self.time, self.keys, self.rank)

    @cached_property
    def width(self) -> float:
        """The bytes of a row's payload, on average."""
        try:
            return float(sum(type.bit_width for type in self.payload.schema.types)) / 8
        except ValueError:  # strings and the like
            return float(self.payload.nbytes) / max(1, len(self))

    @cached_property
    def shared(self) -> dict[str, int]:
        """What lies in the memory of a payload column, "time" or "key 0", and of which: it is copied and kept once."""
        plain = {f"key {n}": k.values for n, k in enumerate(self.keys) if k.valid is None and k.exact is None}
        columns = {place: at for at, c in enumerate(self.payload.columns) if (place := _find_column(c)) is not None}
        arrays = {"time": self.time, **plain}.items() if len(self) else ()
        return {name: columns[place] for name, array in arrays if (place := _find_place(array)) in columns}

    def with_rank(self, first: int) -> "Rows":
        """The same rows, numbered from `first` on."""
        rows = replace(self, rank=np.arange(first, first + len(self)))
        whole = self.rank is None and len(self) > 0  # then ranks follow from the first, which the notes say
        rows.remember(self.zones.with_rank(first, len(self)), self.source if whole else None)
        rows.__dict__["tidy"] = self.tidy
        return rows

    def with_ranks(self, ranks: NDArray[np.int64]) -> "Rows":
        """The same rows with these ranks."""
        return self.with_rank(int(ranks[0])) if is_consecutive(ranks) else replace(self, rank=ranks)

    def remember(self, zones: Zones, source: Any) -> None:
        """Take over what is known of these rows already: their zones, and the container that they lie in."""
        self.__dict__.update(zones=zones, source=source)

    def take(self, indices: Indices) -> "Rows":
        """The rows at these positions, in this order, in buffers of their own."""
        payload = self.payload.take(pa.array(indices))
        views = view_columns(payload, self.shared)
        taken = Rows(
            views["time"] if "time" in views else self.time[indices],
            tuple(
                KeyColumn(views[name]) if (name := f"key {number}") in views else key.take(indices)
                for number, key in enumerate(self.keys)
            ),
            payload,
            None if self.rank is None else self.rank[indices],
            None if self.route is None else self.route[indices],
        )
        taken.__dict__["tidy"] = True
        return taken

    def slice(self, offset: int, length: int | None = None) -> "Rows":
        """At most so many rows from `offset` on, as Arrow slices: nothing is copied, whole buffers stay alive."""
        offset = min(offset, len(self))
        length = len(self) - offset if length is None else min(length, len(self) - offset)
        return Rows(
            self.time[offset : offset + length],
            tuple(key.slice(offset, length) for key in self.keys),
            self.payload.slice(offset, length),
            None if self.rank is None else self.rank[offset : offset + length],
            None if self.route is None else self.route[offset : offset + length],
        )

    @classmethod
    def concat(cls, blocks: Sequence["Rows"]) -> "Rows":
        """All rows, one block after the other, in buffers of their own; a single block is returned as it is."""
        if not blocks:
            raise ValueError("rows: nothing to concatenate, not even a schema")
        if len(blocks) == 1:
            return blocks[0]
        payload = _concat_batches([block.payload for block in blocks])
        views = view_columns(payload, dict(set.intersection(*({*block.shared.items()} for block in blocks))))
        columns = zip(*(block.keys for block in blocks), strict=True)
        return cls(
            views["time"] if "time" in views else np.concatenate([block.time for block in blocks]),
            tuple(
                KeyColumn(views[name]) if (name := f"key {number}") in views else KeyColumn.concat(parts)
                for number, parts in enumerate(columns)
            ),
            payload,
            _concat_present([block.rank for block in blocks]),
            _concat_present([block.route for block in blocks]),
        )

    @cached_property
    def nbytes(self) -> int:
        """The bytes of all buffers that these rows keep alive, a shared one counted once.

        A slice keeps the buffers it was cut from. Rows in a mapped file are counted by their own parts of it.
        """
        arrays: list[NDArray[Any] | None] = [self.time, self.rank, self.route]
        arrow = self.payload.columns
        for key in self.keys:
            arrays += [key.values, key.valid]
            arrow = [*arrow, key.exact] if key.exact is not None else arrow
        extents = [_find_extent(array) for array in arrays if array is not None]
        extents += [(b.address, b.address + b.size) for column in arrow for b in _iter_buffers(column)]
        return _count_covered(extents)


def is_consecutive(ranks: NDArray[np.int64]) -> bool:
    """Whether each rank follows the one before, so that the first says all of them."""
    return len(ranks) > 0 and bool((np.diff(ranks) == 1).all())


def view_columns(payload: Any, shared: Mapping[str, int]) -> dict[str, NDArray[Any]]:
    """Columns of a payload as arrays, by the names of what they are shared with."""
    return {name: numbers(payload.column(at)) for name, at in shared.items()}


Place = tuple[int, tuple[int, ...], np.dtype[Any]]
"""Where an array begins, how it goes on, and of what: all that two arrays of one length need have in common."""


def _find_place(array: NDArray[Any]) -> Place:
    return array.__array_interface__["data"][0], array.strides, array.dtype


def _find_column(column: Any) -> Place | None:
    """The place of a column of numbers, none of them NULL, as they lie in memory."""
    dtype = DTYPES.get(column.type.id)
    if dtype is None or column.null_count or (values := column.buffers()[1]) is None:
        return None
    return values.address + column.offset * dtype.itemsize, (dtype.itemsize,), dtype


def _concat_present(arrays: Sequence[NDArray[np.int64] | None]) -> NDArray[np.int64] | None:
    present = [array for array in arrays if array is not None]
    return np.concatenate(present) if present else None


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


def _find_extent(array: NDArray[Any]) -> tuple[int, int]:
    """First and last address of the memory that an array keeps alive."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    address = array.__array_interface__["data"][0]
    return address, address + array.nbytes


def _iter_buffers(column: Any) -> Iterator[Any]:
    yield from (buffer for buffer in column.buffers() if buffer is not None)
    if pa.types.is_dictionary(column.type):
        yield from _iter_buffers(column.dictionary)


def _count_covered(extents: Iterable[tuple[int, int]]) -> int:
    """The number of addresses in the union of half-open intervals."""
    covered = end = 0
    for start, stop in sorted(extents):
        if stop > end:
            covered += stop - max(start, end)
            end = stop
    return covered
