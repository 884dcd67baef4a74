"""A segment: rows, what is derived from them once, and their form as bytes."""

import mmap
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias
from uuid import uuid4

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.pane.container import Buffer, Contents, SegmentError, bound_size, pack, unpack
from streamjoin.pane.rows import KeyColumn, Rows

Number: TypeAlias = bool | int | float


@dataclass(frozen=True, slots=True)
class Zone:
    """One end of a segment's zone map: the least (or greatest) time, value of each key, and rank.

    NULL and NaN are left out; None where nothing is left. A hashed key has the zone of its hashes.
    """

    time: int | None
    keys: tuple[Number | None, ...]
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class Zones:
    """Where a segment's rows lie. `nan` says of each key whether some value is NaN, which is outside the zone."""

    low: Zone
    high: Zone
    nan: tuple[bool, ...]

    @classmethod
    def of(cls, rows: Rows) -> "Zones":
        """The zones of these rows."""
        time, rank = _ends(rows.time), (None, None) if rows.rank is None else _ends(rows.rank)
        keys = [_ends(_present(key)) for key in rows.keys]
        low, high = (Zone(time[end], tuple(key[end] for key in keys), rank[end]) for end in (0, 1))
        return cls(low, high, tuple(map(_has_nan, rows.keys)))


@dataclass(frozen=True, eq=False)
class Segment:
    """An immutable piece of one side's window: rows, zone maps, index.

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
    zones: Zones = None  # type: ignore[assignment]  # found in the rows if not given

    def __post_init__(self) -> None:
        if not self.parts:
            object.__setattr__(self, "parts", (self.name,))
        if self.zones is None:
            object.__setattr__(self, "zones", Zones.of(self.rows))

    @property
    def low(self) -> Zone:
        """The least time and values."""
        return self.zones.low

    @property
    def high(self) -> Zone:
        """The greatest time and values."""
        return self.zones.high

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def nbytes(self) -> int:
        """The bytes of rows and index."""
        return self.rows.nbytes + sum(array.nbytes for array in self.index.values())

    def with_index(self, index: Mapping[str, NDArray[Any]]) -> "Segment":
        """The same segment with this index."""
        return replace(self, index=index)

    def to_bytes(self) -> bytes:
        """The segment in one piece; the same rows and index give the same bytes, whatever the name."""
        return b"".join(self.packed())

    def packed(self) -> list[Buffer]:
        """The bytes of `to_bytes` in pieces, without copying them together."""
        return pack(self._contents(map(_canonical, self.rows.keys)))

    def bound_size(self) -> int:
        """At least as many bytes as `packed` gives, and few more; costs next to nothing."""
        return bound_size(self._contents(self.rows.keys))

    @classmethod
    def from_bytes(cls, buffer: Buffer, name: str, *, verify: bool = True) -> "Segment":
        """The segment in these bytes: all its arrays are read-only views on them.

        Raises `SegmentError` where the bytes are damaged, cut short, or something else. Without `verify` the columns
        are taken on trust: only for bytes that were verified since they were written.
        """
        contents = unpack(buffer, name, verify=verify)
        try:
            return cls._from_contents(contents, name)
        except (LookupError, TypeError, ValueError) as error:
            raise SegmentError(name, f"is not consistent: {type(error).__name__}: {error}") from error

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a file that is there wholly or not at all, also for other processes that write or read the same."""
        write_whole(Path(path), self.packed())

    @classmethod
    def open(cls, path: str | os.PathLike[str], name: str | None = None, *, verify: bool = True) -> "Segment":
        """The segment in a file, mapped into memory; it is named as the file (without suffix) if no name is given.

        The file may be deleted while the segment is in use, but not written to.
        """
        path = Path(path)
        name = path.stem if name is None else name
        with path.open("rb") as file:
            if not os.fstat(file.fileno()).st_size:
                raise SegmentError(name, "cut short: the file is empty")
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return cls.from_bytes(mapped, name, verify=verify)

    def _contents(self, keys: Iterable[KeyColumn]) -> Contents:
        arrays: dict[str, NDArray[Any]] = {"time": self.rows.time}
        if self.rows.rank is not None:
            arrays["rank"] = self.rows.rank
        batches = {"payload": self.rows.payload}
        for number, key in enumerate(keys):
            arrays[f"key {number}"] = key.values
            if key.valid is not None:
                arrays[f"valid {number}"] = key.valid
            if key.exact is not None:
                batches[f"exact {number}"] = pa.record_batch({"": key.exact})
        arrays |= {f"index {name}": self.index[name] for name in sorted(self.index)}
        low, high = ([zone.time, zone.keys, zone.rank] for zone in (self.low, self.high))
        return Contents({"low": low, "high": high, "nan": self.zones.nan}, arrays, batches)

    @classmethod
    def _from_contents(cls, contents: Contents, name: str) -> "Segment":
        arrays, batches, notes = contents.arrays, contents.batches, contents.notes
        low, high = (Zone(time, tuple(keys), rank) for time, keys, rank in (notes["low"], notes["high"]))
        exact = {name: batch.column(0) for name, batch in batches.items() if name != "payload"}
        keys = tuple(
            KeyColumn(arrays[f"key {number}"], arrays.get(f"valid {number}"), exact.get(f"exact {number}"))
            for number in range(len(notes["nan"]))
        )
        rows = Rows(arrays["time"], keys, batches["payload"], arrays.get("rank"))
        index = {key.removeprefix("index "): array for key, array in arrays.items() if key.startswith("index ")}
        return cls(name, rows, index, zones=Zones(low, high, tuple(notes["nan"])))


def _ends(values: NDArray[Any]) -> tuple[Any, Any]:
    return (values.min().item(), values.max().item()) if len(values) else (None, None)


def _present(key: KeyColumn) -> NDArray[Any]:
    """The values that are neither NULL nor NaN."""
    values = key.values if key.valid is None else key.values[key.valid]
    return values[~np.isnan(values)] if values.dtype.kind == "f" else values


def _has_nan(key: KeyColumn) -> bool:
    if key.values.dtype.kind != "f":
        return False
    nan = np.isnan(key.values)
    return bool(nan.any() if key.valid is None else (nan & key.valid).any())


def write_whole(path: Path, pieces: Iterable[Buffer]) -> None:
    """Write a file by one rename."""
    scratch = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        with scratch.open("xb") as file:
            file.writelines(pieces)
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)


def _canonical(key: KeyColumn) -> KeyColumn:
    """The same column with zero under each NULL, and no mask where it masks nothing."""
    if key.valid is None:
        return key
    if key.valid.all():
        return replace(key, valid=None)
    return replace(key, values=np.where(key.valid, key.values, np.zeros((), key.values.dtype)))
