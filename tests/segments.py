"""Rows and segments to test with: every type a payload or key may have, and comparison value by value."""

import datetime as dt
import mmap
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from streamjoin.pane import KeyColumn, Rows, Segment, write_whole

DAY = dt.date(2024, 2, 29)
PAYLOADS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "null": (pa.null(), [None] * 4),
    "boolean": (pa.bool_(), [True, None, False, True]),
    "tinyint": (pa.int8(), [-128, None, 127, 0]),
    "int": (pa.int32(), [1, None, -3, 2**31 - 1]),
    "bigint": (pa.int64(), [2**63 - 1, None, -(2**63), 0]),
    "float": (pa.float32(), [1.5, None, -0.0, float("inf")]),
    "double": (pa.float64(), [1e308, None, -0.0, float("-inf")]),
    "string": (pa.string(), ["a", None, "", "né\0\U0001f600"]),
    "large string": (pa.large_string(), ["a", None, "", "é"]),
    "binary": (pa.binary(), [b"a", None, b"", b"\0\xff"]),
    "fixed binary": (pa.binary(2), [b"ab", None, b"\0\0", b"ef"]),
    "decimal": (pa.decimal128(38, 2), [Decimal("1.10"), None, Decimal("-" + "9" * 36 + ".99"), Decimal("0.00")]),
    "date": (pa.date32(), [DAY, None, dt.date(1, 1, 1), dt.date(9999, 12, 31)]),
    "timestamp": (pa.timestamp("us", "UTC"), [0, None, -1, 2**62]),
    "timestamp elsewhere": (pa.timestamp("us", "Europe/Rome"), [0, None, -1, 2**62]),
    "timestamp_ntz": (pa.timestamp("us"), [0, None, -1, 2**62]),
    "interval day to second": (pa.duration("us"), [0, None, -1, 2**62]),
    "interval": (pa.month_day_nano_interval(), [(1, 2, 3), None, (-4, 5, -6), (0, 0, 0)]),
    "array": (pa.list_(pa.int32()), [[1], None, [], [2, None]]),
    "array of arrays": (pa.list_(pa.list_(pa.string())), [[["x"], []], None, [None], [["y", None]]]),
    "fixed array": (pa.list_(pa.int32(), 2), [[1, 2], None, [3, None], [4, 5]]),
    "map": (pa.map_(pa.string(), pa.int32()), [[("a", 1), ("b", None)], None, [], [("c", 2)]]),
    "struct": (
        pa.struct({"a": pa.int64(), "b": pa.list_(pa.string())}),
        [{"a": 1, "b": ["x"]}, None, {"a": None, "b": None}, {"a": 1, "b": []}],
    ),
    "struct of nothing": (pa.struct([]), [{}, None, {}, {}]),
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), ["a", None, "b", "a"]),
}
"""A type and four values of it, by Spark's name where it has one."""

KEYS: dict[str, KeyColumn] = {
    "boolean": KeyColumn(np.array([True, False, True, False])),
    "tinyint": KeyColumn(np.array([1, -128, 127, 0], np.int8), np.array([True, True, False, True])),
    "smallint": KeyColumn(np.array([1, -128, 127, 0], np.int16)),
    "int": KeyColumn(np.array([5, 0, 7, 2], np.int32), np.array([False, False, False, False])),
    "bigint": KeyColumn(np.array([2**63 - 1, -(2**63), 0, 1])),
    "float": KeyColumn(np.array([1.5, np.nan, -0.0, np.inf], np.float32)),
    "double": KeyColumn(np.array([np.nan, 1.0, -np.inf, 2.0]), np.array([False, True, True, True])),
    "all NaN": KeyColumn(np.array([np.nan, np.nan, np.nan, 1.0]), np.array([True, True, True, False])),
    "string": KeyColumn(np.array([11, -7, 0, 11]), np.array([True, True, False, True]), pa.array(["a", "", None, "a"])),
    "binary": KeyColumn(np.array([11, -7, 0, 11]), None, pa.array([b"a", b"", b"\0", b"a"])),
    "long decimal": KeyColumn(
        np.array([1, 2, 3, 4]), None, pa.array([Decimal(10) ** 30 + i for i in range(4)], pa.decimal128(38, 0))
    ),
}
"""Four values of every kind of key."""

INDEX = {
    "order": np.array([3, 1, 0, 2]),
    "cells": np.arange(6, dtype=np.float32).reshape(2, 3),
    "empty": np.zeros((0, 2), np.int32),
    "number": np.array(7, np.uint8),
    "flags": np.array([True, False]),
}


def everything(*, rank: bool = True, route: bool = True) -> Rows:
    """Four rows with a column of every type and a key of every kind."""
    payload = pa.record_batch({name: pa.array(values, kind) for name, (kind, values) in PAYLOADS.items()})
    time = np.array([30, -10, 20, 20])
    ranks, hashes = np.array([4, 5, 6, 7]), np.array([-1, 2**63 - 1, 0, -(2**63)])
    return Rows(time, tuple(KEYS.values()), payload, ranks if rank else None, hashes if route else None)


def stamped(times: Sequence[int] | np.ndarray, first: int = 0, *, rank: bool = False, route: bool = False) -> Rows:
    """Rows at these times, numbered from `first` on, with a key and a payload of fixed width."""
    time = np.asarray(times, np.int64)
    numbers = np.arange(first, first + len(time))
    payload = pa.record_batch({"id": numbers})
    return Rows(time, (KeyColumn(time * 0.5),), payload, numbers if rank else None, -numbers if route else None)


def write(segment: Segment, path: Path) -> None:
    """Write a segment to a file."""
    write_whole(path, segment.pack())


def map_file(path: Path, *, verify: bool = True) -> Segment:
    """The segment in a file, mapped into memory and named as the file."""
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return Segment.from_bytes(mapped, path.stem, verify=verify)


def plain(rows: Rows) -> list[tuple[Any, ...]]:
    """Rows value by value, as text, because NaN differs from itself and -0.0 does not differ from 0.0."""
    columns: list[list[Any]] = [rows.time.tolist()]
    columns += [array.tolist() for array in (rows.rank, rows.route) if array is not None]
    for key in rows.keys:
        valid = [True] * len(rows) if key.valid is None else key.valid.tolist()
        columns.append([v if ok else None for v, ok in zip(key.values.tolist(), valid, strict=True)])
        columns += [] if key.exact is None else [key.exact.to_pylist()]
    columns += [
        column.cast(pa.int64()).to_pylist() if _counts(column) else column.to_pylist() for column in rows.payload
    ]
    return [tuple(map(repr, row)) for row in zip(*columns, strict=True)]


def assert_same(found: Segment, given: Segment) -> None:
    """The same name, values, types and index."""
    assert (found.name, found.rows.zones) == (given.name, given.rows.zones)
    assert plain(found.rows) == plain(given.rows)
    assert [key.values.dtype for key in found.rows.keys] == [key.values.dtype for key in given.rows.keys]
    assert found.rows.payload.schema.equals(given.rows.payload.schema, check_metadata=True)
    assert found.index.keys() == given.index.keys()
    for name, array in given.index.items():
        np.testing.assert_array_equal(found.index[name], array, strict=True)


def _counts(column: pa.Array) -> bool:
    """Whether values are counted from the epoch, possibly further than Python's datetime reaches."""
    return pa.types.is_timestamp(column.type) or pa.types.is_duration(column.type)


@st.composite
def rows_of_all_types(draw: st.DrawFn) -> Rows:
    """A few rows of a few types, repeated and in any order."""
    rows = everything(rank=draw(st.booleans()), route=draw(st.booleans()))
    columns = draw(st.lists(st.sampled_from(range(len(PAYLOADS))), unique=True, max_size=4))
    keys = tuple(draw(st.lists(st.sampled_from(rows.keys), max_size=3)))
    rows = Rows(rows.time, keys, rows.payload.select(columns), rows.rank, rows.route)
    return rows.take(np.array(draw(st.lists(st.integers(0, 3), max_size=12)), np.int64))
