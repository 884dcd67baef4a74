"""Segments on the local disk, mapped into the memory of whoever works on a cell.

State is the truth; this is what makes it cheap. A cell lands on another Python worker from batch to batch, and reading
its window from state would cost more than joining it. So every held segment, merged and indexed, is also a file:

    <root>/<query>/<join>/<cell>/l1-l8~<digest>  written by rename, never changed, named by its content

The manifest in state names the digest of each file, so a file of an attempt that failed is never taken for another.
A file is verified when a process first maps it, and looked at again when the batch is over: one that was changed
meanwhile fails the task, and the next attempt reads that segment from state. Whatever goes wrong with the disk, the
join goes on from state.

A cell deletes files once neither the state that its batch began with nor the one that it ends with names them: the
batch may still be tried again. Whole directories are the business of `directory`, sizes that of `budget`.
"""

import contextlib
import hashlib
import logging
import mmap
import os
import re
import struct
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from streamjoin.errors import StreamJoinError
from streamjoin.flow.cache.budget import Room
from streamjoin.flow.cache.directory import claim, make_directory
from streamjoin.pane import Segment, SegmentError, read_digest, write_whole

MOST_VERIFIED = 1 << 13
"""Of so many files a process remembers that it has verified them; those used least recently are verified again."""

SMALL = 1 << 12
"""A segment of at most so many bytes is packed before there is known to be room: to bound its size costs as much."""

_SEGMENT = re.compile(r"\.?[lr]\d.*~.*")  # a file of ours, or its draft

_log = logging.getLogger(__name__)
_verified: dict[str, "_Stamp"] = {}  # of this process, used most recently last
_warned: dict[tuple[str, ...], None] = {}  # of this process


@dataclass(frozen=True)
class CacheSpec:
    """Where the cache of a join lies, and how many bytes it may have.

    An empty directory stands for the system's one for temporary files; None for the part of the disk in `budget`.
    """

    directory: str
    most_bytes: int | None

    @property
    def root(self) -> Path:
        """The directory of ours that holds all queries."""
        return Path(self.directory or tempfile.gettempdir()) / f"streamjoin-segments-{os.geteuid()}"


class _Stamp(NamedTuple):
    inode: int
    size: int
    changed: int

    @classmethod
    def of(cls, file: int) -> "_Stamp":
        found = os.fstat(file)
        return cls(found.st_ino, found.st_size, found.st_mtime_ns)


class SegmentCache:
    """The files of one cell, out of `cells` of its join, for one batch."""

    def __init__(self, spec: CacheSpec, query: str, join: str, cell: int, cells: int) -> None:
        self._query, self._join = query, join
        self._directory: Path | None = None
        self._mapped: list[tuple[int, _Stamp, Path]] = []
        try:
            own = claim(spec.root, query)
            of_join = make_directory(own / hashlib.sha256(join.encode()).hexdigest()[:12])
            self._directory = make_directory(of_join / str(cell))
        except (OSError, ValueError) as error:
            _warn_once(
                ("no directory", str(spec.root), type(error).__name__),
                f"no segment cache in {spec.root}: {error}. Windows are read from state in every batch, which is slow. "
                "Set spark.streamjoin.cache.directory to a directory in which only this user may write",
            )
            return
        share = None if spec.most_bytes is None else spec.most_bytes // cells
        self._room = Room(own.parent, self._directory, share)

    def get(self, name: str, written: str) -> Segment | None:
        """The segment that was written with this digest, if it is here and whole."""
        if self._directory is None:
            return None
        path = self._directory / f"{name}~{written}"
        try:
            file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return None
        stamp = _Stamp.of(file)
        self._mapped.append((file, stamp, path))
        try:
            mapped = mmap.mmap(file, 0, access=mmap.ACCESS_READ)
            if read_digest(mapped) != written:
                raise SegmentError(name, "is another one")
            segment = Segment.from_bytes(mapped, name, verify=_verified.get(str(path)) != stamp)
        except (OSError, ValueError, struct.error, SegmentError) as error:
            _log.warning("segment cache: %s is rebuilt from state: %s", path, error)
            _delete(path)
            return None
        _remember(path, stamp)
        return segment

    def put(self, segment: Segment) -> str | None:
        """Write a segment; its digest, or None where it found no room."""
        if self._directory is None:
            return None
        try:
            pieces = segment.pack() if segment.nbytes <= SMALL else None
            size = segment.bound_size() if pieces is None else sum(map(len, pieces))
            if not self._room.has(size):
                self._warn_full(segment, size)
                return None
            pieces = pieces or segment.pack()
            written = read_digest(pieces[0])
            write_whole(self._directory / f"{segment.name}~{written}", pieces)
        except FileNotFoundError:
            return None  # the query was stopped, and its directory is gone
        except OSError as error:
            _warn_once(
                ("cannot write", self._query, type(error).__name__),
                f"segment cache: cannot write to {self._directory}: {error}",
            )
            return None
        self._room.add(sum(map(len, pieces)))
        return written

    def _warn_full(self, segment: Segment, size: int) -> None:
        _warn_once(
            ("full", self._query),
            f"segment cache: no room for segment {segment.name} ({size:,} bytes) of join {self._join!r} in "
            f"{self._directory}: {self._room}. Segments without room are read from state in every batch, which is "
            "slow. Set spark.streamjoin.cache.maxBytes higher, or spark.streamjoin.cache.directory to a larger disk",
        )

    def check(self) -> None:
        """Refuse the batch if a file was changed while it was in use: its results may be wrong."""
        for file, stamp, path in self._mapped:
            if _Stamp.of(file) != stamp:
                _delete(path)
                raise StreamJoinError(
                    f"segment cache: {path} was changed by somebody else while it was in use; this batch is tried again"
                )

    def sweep(self, keep: Iterable[tuple[str, str]]) -> None:
        """Delete all segments but these, given as names and digests; what is no segment stays."""
        kept = {f"{name}~{written}" for name, written in keep}
        with contextlib.suppress(OSError):
            for path in self._directory.iterdir() if self._directory else ():
                if path.name not in kept and _SEGMENT.fullmatch(path.name):
                    _delete(path)

    def close(self) -> None:
        """Let go of the files; segments in use stay mapped."""
        for file, _, _ in self._mapped:
            os.close(file)
        self._mapped.clear()


def _remember(path: Path, stamp: _Stamp) -> None:
    _verified.pop(str(path), None)
    _verified[str(path)] = stamp
    if len(_verified) > MOST_VERIFIED:
        del _verified[next(iter(_verified))]


def _delete(path: Path) -> None:
    _verified.pop(str(path), None)
    with contextlib.suppress(OSError):
        path.unlink()


def _warn_once(about: tuple[str, ...], message: str) -> None:
    """Log a warning, in this process once about the same thing: Python workers log to the executor's stderr."""
    if about not in _warned:
        _warned[about] = None
        if len(_warned) > MOST_VERIFIED:
            del _warned[next(iter(_warned))]
        _log.warning(message)
