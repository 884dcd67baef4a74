"""A segment goes to bytes and back without loss and without copying, and never comes back as something else."""

import json
import math
import os
import pickle
import threading
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamjoin import StreamJoinError
from streamjoin.pane import KeyColumn, Rows, Segment, SegmentError, no_columns
from streamjoin.pane.container import MAGIC, VERSION, Contents, pack
from streamjoin.pane.zones import Zone
from tests.segments import INDEX, KEYS, PAYLOADS, everything, map_file, plain, rows_of_all_types, stamped, write

SEGMENT = Segment("l17", everything(), INDEX)
BYTES = SEGMENT.to_bytes()


def assert_same(found: Segment, given: Segment) -> None:
    assert (found.name, found.rows.zones) == (given.name, given.rows.zones)
    assert plain(found.rows) == plain(given.rows)
    assert [key.values.dtype for key in found.rows.keys] == [key.values.dtype for key in given.rows.keys]
    assert found.rows.payload.schema.equals(given.rows.payload.schema, check_metadata=True)
    assert found.index.keys() == given.index.keys()
    for name, array in given.index.items():
        np.testing.assert_array_equal(found.index[name], array, strict=True)


# There and back


@given(rows_of_all_types())
def test_what_was_written_is_read(rows: Rows) -> None:
    segment = Segment("r3", rows, INDEX)
    assert_same(Segment.from_bytes(segment.to_bytes(), "r3"), segment)


@pytest.mark.parametrize("rows", [0, 1, 4])
@pytest.mark.parametrize("name", PAYLOADS)
def test_every_payload_type_survives(name: str, rows: int) -> None:
    kind, values = PAYLOADS[name]
    field = pa.field(name, kind, metadata={"k": "v"})
    payload = pa.record_batch([pa.array(values[:rows], kind)], schema=pa.schema([field], metadata={"of": "all"}))
    segment = Segment("l1", Rows(np.arange(rows), (), payload))
    assert_same(Segment.from_bytes(segment.to_bytes(), "l1"), segment)


@pytest.mark.parametrize("count", [0, 1, 1000])
def test_rows_without_columns_keep_their_number(count: int) -> None:
    segment = Segment("l1", Rows(np.arange(count), (), no_columns(count)))
    assert Segment.from_bytes(segment.to_bytes(), "l1").rows.payload.num_rows == count


def test_exact_values_stay_with_the_key_they_belong_to() -> None:
    found = Segment.from_bytes(BYTES, "l17").rows.keys
    kept = {name: key.exact.to_pylist() for name, key in zip(KEYS, found, strict=True) if key.exact is not None}
    assert kept.keys() == {"string", "binary", "long decimal"}
    assert kept["string"] == ["a", "", None, "a"]


def test_a_key_may_be_named_anything_in_the_payload() -> None:
    payload = pa.record_batch([pa.array([1]), pa.array(["x"]), pa.array([2])], names=["time", "", "time"])
    segment = Segment("l1", Rows(np.array([1]), (), payload), {"key 0": np.array([5]), "": np.array([6])})
    assert_same(Segment.from_bytes(segment.to_bytes(), "l1"), segment)


def test_an_index_of_objects_is_refused() -> None:
    with pytest.raises(TypeError, match="plain numbers, not object"):
        Segment("l1", stamped([1]), {"words": np.array(["a"], object)}).to_bytes()


# Zone maps


def test_zones_leave_out_null_and_nan() -> None:
    low, high, nan = (
        dict(zip(KEYS, end, strict=True)) for end in (SEGMENT.low.keys, SEGMENT.high.keys, SEGMENT.rows.zones.nan)
    )
    assert (SEGMENT.low.time, SEGMENT.high.time, SEGMENT.low.rank, SEGMENT.high.rank) == (-10, 30, 4, 7)
    assert {name: (low[name], high[name], nan[name]) for name in KEYS} == {
        "boolean": (False, True, False),
        "tinyint": (-128, 1, False),
        "smallint": (-128, 127, False),
        "int": (None, None, False),
        "bigint": (-(2**63), 2**63 - 1, False),
        "float": (0.0, math.inf, True),
        "double": (-math.inf, 2.0, False),
        "all NaN": (None, None, True),
        "string": (-7, 11, False),
        "binary": (-7, 11, False),
        "long decimal": (1, 4, False),
    }


def test_no_rows_have_no_zones() -> None:
    empty = Segment("l1", stamped([]))
    assert empty.low == empty.high == Zone(None, (None,))
    assert_same(Segment.from_bytes(empty.to_bytes(), "l1"), empty)


@given(st.lists(st.tuples(st.integers(-5, 5), st.floats(width=32) | st.none()), max_size=6))
def test_zones_are_the_least_and_greatest(rows: list[tuple[int, float | None]]) -> None:
    values = np.array([value or 0.0 for _, value in rows], np.float32)
    key = KeyColumn(values, np.array([value is not None for _, value in rows], np.bool_))
    segment = Segment("l1", Rows(np.array([t for t, _ in rows], np.int64), (key,), no_columns(len(rows))))
    known = [value for _, value in rows if value is not None and not math.isnan(value)]
    assert segment.low.time == min((t for t, _ in rows), default=None)
    assert segment.high.time == max((t for t, _ in rows), default=None)
    assert (segment.low.keys, segment.high.keys) == ((min(known, default=None),), (max(known, default=None),))
    assert segment.rows.zones.nan == (any(value is not None and math.isnan(value) for _, value in rows),)


# The same bytes


@given(rows_of_all_types(), st.lists(st.integers(0, 12), max_size=4))
def test_the_same_rows_give_the_same_bytes(rows: Rows, cuts: list[int]) -> None:
    at = sorted(min(cut, len(rows)) for cut in cuts)
    pieces = [rows.slice(a, b - a) for a, b in zip([0, *at], [*at, len(rows)], strict=True)]
    first = Segment("l1", rows, INDEX).to_bytes()
    assert Segment("l2", Rows.concat(pieces), INDEX).to_bytes() == first
    assert Segment("l3", rows.take(np.arange(len(rows))), dict(reversed(INDEX.items()))).to_bytes() == first
    assert Segment.from_bytes(first, "l4").to_bytes() == first


@given(rows_of_all_types(), st.integers(0, 12), st.integers(0, 12))
def test_the_same_rows_give_the_same_bytes_wherever_they_were_cut_from(rows: Rows, offset: int, length: int) -> None:
    cut = rows.slice(offset, length)
    assert Segment("l1", cut).to_bytes() == Segment("l1", cut.take(np.arange(len(cut)))).to_bytes()


def test_what_lies_under_a_null_does_not_show() -> None:
    valid = np.array([True, False])
    clean, dirty = (KeyColumn(np.array([1, under]), valid) for under in (0, 99))
    column = pa.array([1, None])
    dirty_column = pa.Array.from_buffers(pa.int64(), 2, [pa.py_buffer(b"\xfd"), pa.py_buffer(np.array([1, 99]))])
    assert column.equals(dirty_column)
    one, other = (
        Segment("l1", Rows(np.zeros(2, np.int64), (key,), pa.record_batch({"c": c}))).to_bytes()
        for key, c in ((clean, column), (dirty, dirty_column))
    )
    assert one == other
    unmasked, masked = KeyColumn(np.array([1, 2])), KeyColumn(np.array([1, 2]), np.array([True, True]))
    one, other = (
        Segment("l1", Rows(np.zeros(2, np.int64), (k,), no_columns(2))).to_bytes() for k in (unmasked, masked)
    )
    assert one == other


@given(rows_of_all_types(), st.integers(0, 9))
def test_rows_that_were_read_are_given_back_as_the_bytes_they_were_read_from(rows: Rows, first: int) -> None:
    written = Segment("l1", rows).to_bytes()
    read = Segment.from_bytes(written, "l2")
    assert read.to_bytes() == Segment("l3", read.rows.slice(0)).to_bytes() == written
    assert rows.rank is not None or replace(read, name="l4").to_bytes() is written
    ranked = read.rows.with_rank(first)
    assert Segment("l5", ranked).to_bytes() == Segment("l6", ranked.slice(0)).to_bytes()
    assert_same(Segment.from_bytes(Segment("l7", ranked).to_bytes(), "l7"), Segment("l7", rows.with_rank(first)))


@given(rows_of_all_types(), st.data())
def test_rows_that_changed_since_they_were_read_are_not(rows: Rows, data: st.DataObject) -> None:
    read = Segment.from_bytes(Segment("l1", rows).to_bytes(), "l2").rows
    at = np.array(data.draw(st.lists(st.integers(0, len(rows) - 1)) if len(rows) else st.just([])), np.int64)
    for changed in (
        read.take(at),
        read.slice(0, len(rows) // 2),
        Rows.concat([read, read]),
        replace(read, payload=no_columns(len(rows))),
        replace(read, route=None),
    ):
        assert changed.source is None
        assert_same(Segment.from_bytes(Segment("l3", changed).to_bytes(), "l3"), Segment("l3", changed))
    indexed = Segment("l4", read, INDEX)
    assert indexed.to_bytes() == Segment("l5", read.slice(0), INDEX).to_bytes()
    assert_same(Segment.from_bytes(indexed.to_bytes(), "l4"), indexed)


# Without copying


def address(buffer: Any) -> int:
    return np.frombuffer(buffer, np.uint8).ctypes.data


def extents(segment: Segment) -> dict[str, tuple[int, int]]:
    """First and last address of every buffer of a segment."""
    rows = segment.rows
    arrays = {
        "time": rows.time,
        "rank": rows.rank,
        "route": rows.route,
        **{f"index {name}": a for name, a in segment.index.items()},
    }
    columns = {f"payload {name}": column for name, column in zip(rows.payload.schema.names, rows.payload, strict=True)}
    for i, key in enumerate(rows.keys):
        arrays |= {f"key {i}": key.values, f"valid {i}": key.valid}
        columns |= {} if key.exact is None else {f"exact {i}": key.exact}
    found = {name: (a.ctypes.data, a.ctypes.data + a.nbytes) for name, a in arrays.items() if a is not None and a.size}
    for name, column in columns.items():
        buffers = [*column.buffers(), *(column.dictionary.buffers() if pa.types.is_dictionary(column.type) else [])]
        found |= {
            f"{name} {i}": (b.address, b.address + b.size) for i, b in enumerate(buffers) if b is not None and b.size
        }
    return found


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, pa.py_buffer])
def test_arrays_are_read_only_views_on_the_bytes(kind: Callable[[bytes], Any]) -> None:
    buffer = kind(BYTES)
    segment = Segment.from_bytes(buffer, "l17")
    start = address(buffer)
    found = extents(segment)
    assert len(found) > 50
    assert {name: e for name, e in found.items() if not start <= e[0] <= e[1] <= start + len(BYTES)} == {}
    plain_arrays = {n: e[0] for n, e in found.items() if n.split()[0] in ("time", "rank", "key", "valid", "index")}
    assert {name: at for name, at in plain_arrays.items() if (at - start) % 64} == {}
    for array in (segment.rows.time, segment.rows.keys[0].values, segment.index["order"], segment.index["empty"]):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    assert not segment.rows.payload.column("int").buffers()[1].is_mutable


def test_a_large_file_is_used_where_it_lies(tmp_path: Path) -> None:
    count = 2_500_000
    time = np.arange(count)
    payload = pa.record_batch({"a": time, "s": pa.array(["word"] * 1000).take(pa.array(time % 1000))})
    rows = Rows(time, (KeyColumn(time * 0.5),), payload)
    write(Segment("l1", rows, {"order": time[::-1]}), tmp_path / "l1.segment")
    del rows, payload
    assert 100e6 < (tmp_path / "l1.segment").stat().st_size < 120e6

    arrow_before = pa.total_allocated_bytes()
    tracemalloc.start()
    try:
        segment = map_file(tmp_path / "l1.segment")
        assert segment.index["order"][:3].tolist() == [count - 1, count - 2, count - 3]
        assert segment.rows.keys[0].values.sum() == (count - 1) * count / 4
        assert segment.rows.payload.column("s")[count - 1].as_py() == "word"
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1e6
    assert pa.total_allocated_bytes() - arrow_before < 1e6
    lowest, highest = (f(e[end] for e in extents(segment).values()) for end, f in ((0, min), (1, max)))
    assert highest - lowest < 120e6  # one stretch of memory: the mapped file


# Damage


def test_every_flipped_byte_is_noticed() -> None:
    damaged = bytearray(BYTES)
    for i in range(len(BYTES)):
        for flip in (0x01, 0x80, 0xFF):
            damaged[i] ^= flip
            with pytest.raises(SegmentError):
                Segment.from_bytes(damaged, "l17")
            damaged[i] ^= flip
    assert damaged == BYTES


def test_every_cut_is_noticed() -> None:
    for length in range(len(BYTES)):
        with pytest.raises(SegmentError, match=r"^segment l17: cut short.*\d+ bytes"):
            Segment.from_bytes(BYTES[:length], "l17")


Edit = Callable[[bytearray], None]


@st.composite
def edits(draw: st.DrawFn) -> Edit:
    """Some damage: bytes overwritten, removed, put in, or moved."""
    places = st.integers(0, len(BYTES) - 1)
    a, b = sorted((draw(places), draw(places)))
    some = draw(st.binary(min_size=1, max_size=20))
    return draw(
        st.sampled_from(
            [
                lambda x: x.__setitem__(slice(a, a + len(some)), some),
                lambda x: x.__delitem__(slice(a, a + len(some))),
                lambda x: x.__setitem__(slice(a, a), some),
                lambda x: x.__setitem__(slice(a, b), bytes(b - a)),
                lambda x: x.__setitem__(slice(a, b), x[a:b][::-1]),
                lambda x: x.extend(some),
            ]
        )
    )


@given(st.lists(edits(), min_size=1, max_size=3))
def test_damaged_bytes_are_an_error_or_no_different(damage: list[Edit]) -> None:
    damaged = bytearray(BYTES)
    for edit in damage:
        edit(damaged)
    if damaged == BYTES:
        assert_same(Segment.from_bytes(damaged, "l17"), SEGMENT)
    else:
        with pytest.raises(SegmentError):
            Segment.from_bytes(damaged, "l17")


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_not_a_segment(content: bytes) -> None:
    for prefix in (b"", MAGIC, BYTES[:64]):
        with pytest.raises(SegmentError):
            Segment.from_bytes(prefix + content, "l17")


def versioned(version: int) -> bytes:
    return MAGIC + version.to_bytes(4, "little") + BYTES[12:]


def parquet() -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"a": [1]}), sink)
    return sink.getvalue().to_pybytes()


def holding(notes: dict[str, Any], arrays: dict[str, Any]) -> bytes:
    """Bytes with the right checksum, but not of a segment."""
    return b"".join(pack(Contents(notes, arrays, {"payload": no_columns(1)})))


ZONES = {"low": [0, [], None], "high": [0, [], None], "nan": []}
DAMAGED: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "cut short: 0 bytes, a header alone has 64"),
    "a beginning": (BYTES[:3], "cut short: 3 bytes, a header alone has 64"),
    "a word": (b"hello", "not a segment: it begins with b'hello'"),
    "another format": (parquet(), "not a segment: it begins with b'PAR1"),
    "an older format": (versioned(0), f"format version 0, this streamjoin reads version {VERSION}"),
    "a newer format": (versioned(VERSION + 1), "format version 2, this streamjoin reads version 1: a newer streamjoin"),
    "half": (BYTES[: len(BYTES) // 2], f"cut short: {len(BYTES) // 2} bytes, {len(BYTES)} were written"),
    "half a directory": (BYTES[:100], f"cut short within its directory: 100 bytes of {len(BYTES)}"),
    "more": (BYTES + b"x", f"followed by something else: {len(BYTES) + 1} bytes, {len(BYTES)} were written"),
    "a damaged directory": (BYTES.replace(b'"notes"', b'"NOTES"'), "damaged: the checksum of its directory is wrong"),
    "a damaged body": (BYTES[:-65] + bytes(64) + BYTES[-1:], "damaged: its checksum is "),
    "a body of another": (holding({}, {}), "is not consistent: KeyError: 'low'"),
    "columns of two lengths": (holding(ZONES, {"time": np.arange(2)}), "is not consistent: ValueError: rows: 2 times"),
    "a column of another type": (holding(ZONES, {"time": np.arange(2.0)}), "is not consistent: ValueError: rows: time"),
}


@pytest.mark.parametrize("what", DAMAGED)
def test_the_error_names_the_segment_and_what_is_wrong(what: str) -> None:
    content, reason = DAMAGED[what]
    with pytest.raises(SegmentError) as caught:
        Segment.from_bytes(content, "l3-l17")
    assert str(caught.value).startswith(f"segment l3-l17: {reason}")
    assert isinstance(caught.value, StreamJoinError)
    again = pickle.loads(pickle.dumps(caught.value))  # as Spark's Python workers hand errors over
    assert (str(again), again.name, again.reason) == (str(caught.value), "l3-l17", caught.value.reason)


def test_a_wrong_directory_under_the_right_checksum_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    dumps = json.dumps

    def write(change: Callable[[dict[str, Any]], object]) -> bytes:
        def changed(directory: dict[str, Any], **how: Any) -> str:
            directory = json.loads(dumps(directory))
            change(directory)
            return dumps(directory, **how)

        with monkeypatch.context() as patch:
            patch.setattr(json, "dumps", changed)
            return SEGMENT.to_bytes()

    assert write(lambda d: None) == BYTES
    for change in (
        lambda d: d.pop("notes"),
        lambda d: d["arrays"].update(time=["<i8", [4], 2**40]),
        lambda d: d["arrays"].update(time=["<i8", [2**40], 0]),
        lambda d: d["arrays"].update(time=["|O", [4], 0]),
        lambda d: d["arrays"].update(time=["no type", [4], 0]),
        lambda d: d["arrays"].update(time=["<i8", [4], -8]),
        lambda d: d["arrays"].update(time=["<i8", [-1], 0]),
        lambda d: d["arrays"].update(time=4),
        lambda d: d["batches"].update(payload=[0, 64]),
        lambda d: d["batches"].update(payload=[2**40, 64]),
        lambda d: d["batches"].pop("payload"),
    ):
        with pytest.raises(SegmentError, match=r"^segment l17: (cannot be read|is not consistent): "):
            Segment.from_bytes(write(change), "l17")


def test_without_verification_the_directory_is_still_checked() -> None:
    assert_same(Segment.from_bytes(BYTES, "l17", verify=False), SEGMENT)
    for damaged in (BYTES[:-1], BYTES.replace(b'"notes"', b'"NOTES"'), b"x" + BYTES[1:]):
        with pytest.raises(SegmentError):
            Segment.from_bytes(damaged, "l17", verify=False)


# Files


def test_a_segment_outlives_its_file(tmp_path: Path) -> None:
    write(SEGMENT, tmp_path / "l17")
    segment = map_file(tmp_path / "l17")
    write(Segment("l17", stamped([1])), tmp_path / "l17")
    (tmp_path / "l17").unlink()
    assert_same(segment, SEGMENT)


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(SEGMENT, tmp_path / "l17")

    def full(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", full)
    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="no space left"):
        write(Segment("l17", stamped([1])), tmp_path / "l17")
    assert [path.name for path in tmp_path.iterdir()] == ["l17"]
    assert_same(map_file(tmp_path / "l17"), SEGMENT)


def test_a_file_that_many_write_is_always_whole(tmp_path: Path) -> None:
    versions = [Segment("l1", stamped(range(1000 * i))) for i in range(1, 5)]
    write(versions[0], tmp_path / "l1")
    writers = [
        threading.Thread(target=lambda v=version: [write(v, tmp_path / "l1") for _ in range(20)])  # type: ignore[misc]
        for version in versions
    ]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        assert len(map_file(tmp_path / "l1")) % 1000 == 0
    assert [path.name for path in tmp_path.iterdir()] == ["l1"]


@given(rows_of_all_types(), st.integers(0, 3))
def test_the_size_is_bounded_without_packing(rows: Rows, start: int) -> None:
    segment = Segment("l1", rows.slice(start), INDEX)
    assert 0 <= segment.bound_size() - len(segment.to_bytes()) <= 1024 + 256 * len(rows.payload.columns)
