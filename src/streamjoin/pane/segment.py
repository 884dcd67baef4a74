"""A segment: rows, what is derived from them once, and their form as bytes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.pane.container import (
    Buffer,
    Contents,
    SegmentError,
    bound_size,
    find_streams,
    pack,
    replace_notes,
    unpack,
)
from streamjoin.pane.key import KeyColumn
from streamjoin.pane.rows import Rows, is_consecutive, view_columns
from streamjoin.pane.stream import write_stream
from streamjoin.pane.zones import Zone, Zones

REMEMBERED = 1 << 16
"""Rows of at most so many bytes remember them once they are packed: soon after, a cache asks for them too."""


@dataclass(frozen=True, eq=False)
class Segment:
    """An immutable piece of one side's window: rows and an index.

    The name is its owner's, unique and free of content: "l17" for the 17th block of the left side. `index` holds named
    plain arrays; what they mean is known to the matcher that built them. `parts` are the names of the segments that
    arrived and that this one was merged from: its own name alone where it arrived as it is.

    >>> key = KeyColumn(np.array([1.5, np.nan, 0.5]))
    >>> rows = Rows(np.array([10, 30, 20]), (key,), pa.record_batch({"id": [1, 2, 3]}))
    >>> segment = Segment("l17", rows)
    >>> segment.high
    Zone(time=30, keys=(1.5,), rank=None)
    >>> Segment.from_bytes(segment.to_bytes(), "l17").rows.payload.to_pydict()
    {'id': [1, 2, 3]}
    """

    name: str
    rows: Rows
    index: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    parts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.parts:
            object.__setattr__(self, "parts", (self.name,))

    @property
    def low(self) -> Zone:
        """The least time and values."""
        return self.rows.zones.low

    @property
    def high(self) -> Zone:
        """The greatest time and values."""
        return self.rows.zones.high

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def nbytes(self) -> int:
        """The bytes of rows and index."""
        return self.rows.nbytes + sum(array.nbytes for array in self.index.values())

    def to_bytes(self) -> bytes:
        """The segment in one piece; the same rows and index give the same bytes, whatever the name.

        Rows that were read from bytes are these bytes again, unless they have an index now.
        """
        pieces = self.pack()
        content = pieces[0] if len(pieces) == 1 and isinstance(pieces[0], bytes) else b"".join(pieces)
        if not self.index and len(content) <= REMEMBERED:
            self.rows.remember(self.rows.zones, content)
        return content

    def pack(self) -> list[Buffer]:
        """The bytes of `to_bytes` in pieces, without copying them together; the digest is in the first."""
        source = self.rows.source
        if source is not None and not self.index:
            return [source] if self.rows.rank is None else replace_notes(source, self._to_notes())
        contents = self._to_contents(map(_canonicalize, self.rows.keys))
        if source is not None:
            streams = find_streams(source)
            contents = replace(contents, batches={name: streams[name] for name in contents.batches})
        elif self.rows.tidy:
            payload = memoryview(write_stream(self.rows.payload))
            contents = replace(contents, batches={**contents.batches, "payload": payload})
        return pack(contents)

    def bound_size(self) -> int:
        """At least as many bytes as `pack` gives, and few more; costs next to nothing."""
        return bound_size(self._to_contents(self.rows.keys))

    @classmethod
    def from_bytes(cls, buffer: Buffer, name: str, *, verify: bool = True) -> "Segment":
        """The segment in these bytes: all its arrays are read-only views on them.

        Raises `SegmentError` where the bytes are damaged, cut short, or something else. Without `verify` the columns
        are taken on trust: only for bytes that were verified since they were written.
        """
        contents = unpack(buffer, name, verify=verify)
        try:
            return cls._from_contents(contents, name, buffer)
        except (LookupError, TypeError, ValueError) as error:
            raise SegmentError(name, f"is not consistent: {type(error).__name__}: {error}") from error

    def _to_notes(self) -> dict[str, Any]:
        low, high = ([zone.time, zone.keys, zone.rank] for zone in (self.low, self.high))
        return {"low": low, "high": high, "nan": self.rows.zones.nan, "shared": self.rows.shared}

    def _to_contents(self, keys: Iterable[KeyColumn]) -> Contents:
        arrays: dict[str, NDArray[Any]] = {"time": self.rows.time}
        if self.rows.rank is not None and (self.index or not is_consecutive(self.rows.rank)):
            arrays["rank"] = self.rows.rank  # else the zone map says it all
        if self.rows.route is not None:
            arrays["route"] = self.rows.route
        batches = {"payload": self.rows.payload}
        for number, key in enumerate(keys):
            arrays[f"key {number}"] = key.values
            if key.valid is not None:
                arrays[f"valid {number}"] = key.valid
            if key.exact is not None:
                batches[f"exact {number}"] = pa.record_batch({"": key.exact})
        arrays = {name: array for name, array in arrays.items() if name not in self.rows.shared}
        arrays |= {f"index {name}": self.index[name] for name in sorted(self.index)}
        return Contents(self._to_notes(), arrays, batches)

    @classmethod
    def _from_contents(cls, contents: Contents, name: str, source: Buffer) -> "Segment":
        batches, notes = contents.batches, contents.notes
        arrays = {**contents.arrays, **view_columns(batches["payload"], notes.get("shared", {}))}
        low, high = (Zone(time, tuple(keys), rank) for time, keys, rank in (notes["low"], notes["high"]))
        exact = {name: batch.column(0) for name, batch in batches.items() if name != "payload"}
        keys = tuple(
            KeyColumn(arrays[f"key {number}"], arrays.get(f"valid {number}"), exact.get(f"exact {number}"))
            for number in range(len(notes["nan"]))
        )
        rank = arrays.get("rank")
        if rank is None and low.rank is not None:
            rank = np.arange(low.rank, low.rank + len(arrays["time"]))
        rows = Rows(arrays["time"], keys, batches["payload"], rank, arrays.get("route"))
        index = {key.removeprefix("index "): array for key, array in arrays.items() if key.startswith("index ")}
        rows.remember(Zones(low, high, tuple(notes["nan"])), None if index else source)
        return cls(name, rows, index)


def write_whole(path: Path, pieces: Iterable[Buffer]) -> None:
    """Write a file by one rename: it is there wholly or not at all, also for others that write or read the same."""
    scratch = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        with scratch.open("xb") as file:
            file.writelines(pieces)
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)


def _canonicalize(key: KeyColumn) -> KeyColumn:
    """The same column with zero under each NULL, and no mask where it masks nothing."""
    if key.valid is None:
        return key
    if key.valid.all():
        return replace(key, valid=None)
    return replace(key, values=np.where(key.valid, key.values, np.zeros((), key.values.dtype)))
