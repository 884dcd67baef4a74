"""A segment goes to bytes and back without loss and without copying, and never comes back as something else."""

import os
import threading
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamjoin.pane import KeyColumn, Rows, Segment, no_columns, numbers
from tests.segments import (
    INDEX,
    KEYS,
    PAYLOADS,
    assert_same,
    everything,
    map_file,
    plain,
    rows_of_all_types,
    stamped,
    write,
)

SEGMENT = Segment("l17", everything(), INDEX)
BYTES = SEGMENT.to_bytes()


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
    assert 75e6 < (tmp_path / "l1.segment").stat().st_size < 90e6

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


def test_what_rows_share_with_their_payload_is_written_once() -> None:
    payload = pa.record_batch({"ts": pa.array(np.arange(1000), pa.timestamp("us")), "x": np.arange(1000) * 0.5})
    time, x = (numbers(column) for column in payload.columns)
    once = Segment("l1", Rows(time, (KeyColumn(x),), payload)).to_bytes()
    twice = Segment("l1", Rows(time.copy(), (KeyColumn(x.copy()),), payload)).to_bytes()
    assert len(twice) - len(once) > 15_000
    found, other = Segment.from_bytes(once, "l1").rows, Segment.from_bytes(twice, "l1").rows
    assert plain(found) == plain(other)
    assert (found.shared, other.shared) == ({"time": 0, "key 0": 1}, {})
    assert Segment.from_bytes(Segment("l1", found.with_rank(7)).to_bytes(), "l1").rows.shared == found.shared
