"""Intake: what a caller pushes becomes rows, with their times, keys and payload.

A push is an Arrow table or batch, a dict of columns, or a dict that is one row. One-sided conditions that may filter do
so here, and keys are computed here: what Spark SQL does before a join on Spark.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

from streamjoin.errors import StreamJoinError
from streamjoin.layout.base import mix
from streamjoin.local.row import RowReader, find_plain, make_reader
from streamjoin.operators.expr import Expr, Key
from streamjoin.operators.onesided import evaluate_column, find_column, read_column, read_type
from streamjoin.operators.types import TIMESTAMP_NTZ, Type
from streamjoin.pane import KeyColumn, Rows, key_column, no_columns, numbers
from streamjoin.plan import Plan
from streamjoin.predicate.conjunct import OneSided
from streamjoin.predicate.traits import may_raise
from streamjoin.spec.side import NAMED, Side

Pushed: TypeAlias = "pa.Table | pa.RecordBatch | Mapping[str, Any]"
"""What `push_left` and `push_right` take."""

Source: TypeAlias = "tuple[str, ...] | Expr"
"""What a payload column is: a column of a push, or what is computed of some."""

Hashes = NDArray[np.int64]


@dataclass(frozen=True)
class Taken:
    """Rows that were pushed: those that have a time and that no condition of their side excludes.

    `latest` is the latest time of all that have one, `invalid` counts those that have none, `count` all.
    """

    rows: Rows
    latest: int | None
    invalid: int
    count: int


@dataclass(frozen=True)
class Intake:
    """Reads the rows of one side."""

    side: Side
    schema: pa.Schema
    time: str
    carried: Sequence[Source]
    plan: Plan
    filters: Sequence[Expr]
    hashed: bool
    sortable: bool

    @cached_property
    def _keys(self) -> list[tuple[Key, list[Expr]]]:
        return [(key, self._guards(key)) for key in self.plan.keys[self.side]]

    def _guards(self, key: Key) -> list[Expr]:
        """The conditions of its side before a key that may raise: a row that they exclude must not fail on it."""
        own = [c for c in self.plan.predicate.conjuncts if isinstance(c, OneSided) and c.side == self.side]
        return [c.exact for c in takewhile(lambda c: c.key != key, own)] if may_raise(key.arg) else []

    def read(self, pushed: Pushed) -> Taken:
        """The rows of one push."""
        batch = to_batch(pushed, self.schema, f"push_{NAMED[self.side]}")
        count = batch.num_rows
        time = read_time(batch, self.time)
        invalid = time.null_count
        if invalid:
            valid = time.is_valid()
            batch, time = batch.filter(valid), time.filter(valid)
        latest = int(numbers(time).max()) if len(time) else None
        for condition in self.filters:
            passed = evaluate_column(condition, batch).fill_null(False)
            batch, time = batch.filter(passed), time.filter(passed)
        return Taken(self._to_rows(batch, numbers(time)), latest, invalid, count)

    def find_row_reader(self) -> "RowReader | None":
        """Reads single rows without Arrow, where all columns are plain and keys are columns of numbers; else None."""
        plain = [find_plain(key) for key, _ in self._keys]
        paths = [path for path in (*self.carried, *plain) if isinstance(path, tuple) and len(path) == 1]
        if self.filters or self.hashed or len(paths) < len(self.carried) + len(plain):
            return None
        names = [path[0] for path in paths]
        if not all(map(_is_number, map(self.schema.field, names[len(self.carried) :]))):
            return None
        return make_reader(self.schema, self.time, names[: len(self.carried)], names[len(self.carried) :])

    def _to_rows(self, batch: pa.RecordBatch, time: NDArray[np.int64]) -> Rows:
        keys = tuple(self._read_key(key, guards, batch) for key, guards in self._keys)
        schema = self.plan.payload(self.side)
        columns = [
            evaluate_column(source, batch) if isinstance(source, Expr) else find_column(batch, source)
            for source in self.carried
        ]
        route = hash_rows(batch, self.side) if self.hashed else None
        if self.sortable:
            columns += [pa.array(time), pa.array(route)]
        payload = pa.RecordBatch.from_arrays(columns, schema=schema) if columns else no_columns(len(time))
        return Rows(time, keys, payload, route=route)

    def _read_key(self, key: Key, guards: Sequence[Expr], batch: pa.RecordBatch) -> KeyColumn:
        able = np.ones(batch.num_rows, np.bool_)
        for guard in guards:
            able &= evaluate_column(guard, batch).fill_null(False).to_numpy(zero_copy_only=False)
        if able.all():
            values = evaluate_column(key, batch)
        else:
            at = np.cumsum(able) - 1
            spared = evaluate_column(key, batch.filter(pa.array(able)))
            values = spared.take(pa.array(at, mask=~able))
        return to_key(values, key.type)


def _is_number(field: pa.Field) -> bool:
    return bool(pa.types.is_integer(field.type) or pa.types.is_floating(field.type))


def to_key(values: pa.Array, type: Type) -> KeyColumn:
    """Computed values as a key column, with hashes where they are no numbers."""
    return key_column(values, type, None if type.is_machine else pa.array(hash_values(values)))


def read_time(batch: pa.RecordBatch, name: str) -> pa.Array:
    """The event times in microseconds."""
    column = find_column(batch, (name,))
    if column.type == pa.int64():
        return column
    try:
        return read_column(batch, (name,), TIMESTAMP_NTZ).view(pa.int64())
    except pa.ArrowInvalid as error:
        raise StreamJoinError(f"{name}: expected times of whole microseconds; {error}") from None


def check_time(name: str, schema: pa.Schema, side: Side) -> None:
    """Refuse a time column that is none."""
    if name not in schema.names:
        raise StreamJoinError(f"time: the {NAMED[side]} side has no column {name!r}; it has {', '.join(schema.names)}")
    type = schema.field(name).type
    if not (read_type(type).is_timestamp or type == pa.int64()):
        raise StreamJoinError(f"time: {side}.{name} is {type}; expected a timestamp, or an int64 of microseconds")


def to_batch(pushed: Pushed, schema: pa.Schema, verb: str) -> pa.RecordBatch:
    """What was pushed as one record batch of the schema."""
    if isinstance(pushed, pa.Table):
        pushed = pushed.combine_chunks()
        columns = {name: pushed.column(name) for name in pushed.column_names}
    elif isinstance(pushed, pa.RecordBatch):
        if pushed.schema == schema:
            return pushed
        columns = dict(zip(pushed.schema.names, pushed.columns, strict=True))
    elif isinstance(pushed, Mapping):
        columns = dict(pushed)
    else:
        raise StreamJoinError(
            f"{verb}: got {type(pushed).__name__}; expected an Arrow table or batch, a dict of columns, or a dict that "
            "is one row"
        )
    if columns.keys() != set(schema.names):
        missing, unknown = sorted(set(schema.names) - columns.keys()), sorted(columns.keys() - set(schema.names))
        raise StreamJoinError(
            f"{verb}: expected the columns {', '.join(schema.names)}"
            + (f"; {', '.join(missing)} missing" if missing else "")
            + (f"; {', '.join(map(str, unknown))} unknown" if unknown else "")
        )
    one = isinstance(pushed, Mapping) and not all(_is_column(columns[field.name], field.type) for field in schema)
    arrays = [_to_array([columns[f.name]] if one else columns[f.name], f, verb) for f in schema]
    lengths = {len(array) for array in arrays}
    if len(lengths) > 1:
        raise StreamJoinError(f"{verb}: expected columns of one length; got {sorted(lengths)}")
    return pa.RecordBatch.from_arrays(arrays, schema=schema) if arrays else no_columns(0)


def _is_column(value: Any, type: pa.DataType) -> bool:
    """Whether a value of a dict is a column: an array or a list, which for a list type holds lists."""
    if isinstance(value, pa.Array | pa.ChunkedArray | np.ndarray):
        return True
    if not isinstance(value, list | tuple):
        return False
    nested = pa.types.is_list(type) or pa.types.is_large_list(type)
    return not nested or all(item is None or isinstance(item, list | tuple | np.ndarray) for item in value)


def _to_array(values: Any, field: pa.Field, verb: str) -> pa.Array:
    try:
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks() if values.num_chunks != 1 else values.chunk(0)
        if isinstance(values, pa.Array):
            return values if values.type == field.type else values.cast(field.type)
        return pa.array(values, field.type)
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        raise StreamJoinError(f"{verb}: {field.name}: expected values of type {field.type}; {error}") from None


# Hashes


def hash_values(values: pa.Array) -> Hashes:
    """A hash of each value; those that hold the same bits have the same one."""
    if pa.types.is_null(values.type):
        return np.zeros(len(values), np.int64)
    if pa.types.is_primitive(values.type) and not pa.types.is_decimal(values.type):
        if pa.types.is_boolean(values.type):
            words = values.cast(pa.int8()).fill_null(2).to_numpy().astype(np.int64)
        else:
            words = numbers(values)
            words = words.astype(np.float64).view(np.int64) if words.dtype.kind == "f" else words.astype(np.int64)
            if values.null_count:
                words = np.where(values.is_null().to_numpy(zero_copy_only=False), np.int64(0x5EED), words)
        return mix(words)
    if pa.types.is_nested(values.type):
        return np.array([_hash_bytes(repr(value).encode()) for value in values.to_pylist()], np.int64)
    encoded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    known = [
        _hash_bytes(value if isinstance(value, bytes) else str(value).encode()) for value in _raw(encoded.dictionary)
    ]
    table = np.array([*known, 0x5EED], np.int64)
    codes = encoded.indices.fill_null(len(known)).to_numpy(zero_copy_only=False)
    hashes: Hashes = table[codes]
    return hashes


def _raw(values: pa.Array) -> list[Any]:
    return (values.view(pa.binary()) if pa.types.is_string(values.type) else values).to_pylist()  # type: ignore[no-any-return]


def _hash_bytes(content: bytes) -> int:
    digest = xxh3_64_intdigest(content)
    return digest - (1 << 64) if digest >> 63 else digest


def hash_rows(batch: pa.RecordBatch, side: Side) -> Hashes:
    """A hash of all that a row holds, signs of zeros too; equal rows of both sides have different ones."""
    found = np.full(batch.num_rows, 1 + (side == "r"), np.int64)
    for column in batch.columns:
        found = mix(found ^ hash_values(column))
    return found
