"""Bytes that are not the segment they should be are an error that says what is wrong."""

import json
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamjoin import StreamJoinError
from streamjoin.pane import Segment, SegmentError, no_columns
from streamjoin.pane.container import MAGIC, VERSION, Contents, pack
from tests.segments import INDEX, assert_same, everything

SEGMENT = Segment("l17", everything(), INDEX)
BYTES = SEGMENT.to_bytes()


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
