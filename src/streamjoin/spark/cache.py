"""Segments on the local disk, mapped into the memory of whoever works on a cell.

State is the truth; this is what makes it cheap. A cell lands on another Python worker from batch to batch, and reading
its window from state would cost more than joining it. So every held segment, merged and indexed, is also a file:

    <root>/<query>/lock                         held shared by each Python worker that serves the query
    <root>/<query>/<join>/<cell>/l1-l8~<digest>  written by rename, never changed, named by its content

The manifest in state names the digest of each file, so a file of an attempt that failed is never taken for another.
A file is verified when a process first maps it, and looked at again when the batch is over: one that was changed
meanwhile fails the task, and the next attempt reads that segment from state. Whatever goes wrong with the disk, the
join goes on from state.

A cell deletes files once neither the state that its batch began with nor the one that it ends with names them: the
batch may still be tried again. What nobody deletes because a query or a machine died is removed by the first join
that starts on the host an hour later and can lock the query's directory.
"""

import contextlib
import fcntl
import hashlib
import logging
import mmap
import os
import shutil
import struct
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

from streamjoin.errors import StreamJoinError
from streamjoin.pane import Segment, SegmentError, digest, write_whole

ABANDONED_SECONDS = 3600
DEFAULT_BYTES = 16 << 30

_log = logging.getLogger(__name__)
_locks: dict[Path, IO[bytes]] = {}  # of this process
_verified: dict[Path, "_Stamp"] = {}  # of this process


@dataclass(frozen=True)
class CacheSpec:
    """Where the cache of a join lies ("": in the system's directory for temporary files), and how large it may grow."""

    directory: str
    most_bytes: int

    @property
    def root(self) -> Path:
        """The directory of all queries."""
        return Path(self.directory) if self.directory else Path(tempfile.gettempdir()) / f"streamjoin-{os.getuid()}"


class _Stamp(NamedTuple):
    inode: int
    size: int
    changed: int

    @classmethod
    def of(cls, file: int) -> "_Stamp":
        found = os.fstat(file)
        return cls(found.st_ino, found.st_size, found.st_mtime_ns)


class SegmentCache:
    """The files of one cell, for one batch."""

    def __init__(self, spec: CacheSpec, query: str, join: str, cell: int, most_bytes: int) -> None:
        self._directory = spec.root / query / hashlib.sha256(join.encode()).hexdigest()[:12] / str(cell)
        self._most_bytes = most_bytes
        self._mapped: list[tuple[int, _Stamp, Path]] = []
        try:
            _claim(spec.root, query)
            self._directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            _log.warning("no segment cache in %s: %s; windows are read from state", self._directory, error)

    def get(self, name: str, written: str) -> Segment | None:
        """The segment that was written with this digest, if it is here and whole."""
        path = self._path(name, written)
        try:
            file = os.open(path, os.O_RDONLY)
        except OSError:
            return None
        stamp = _Stamp.of(file)
        self._mapped.append((file, stamp, path))
        try:
            mapped = mmap.mmap(file, 0, access=mmap.ACCESS_READ)
            if digest(mapped) != written:
                raise SegmentError(name, "is another one")
            segment = Segment.from_bytes(mapped, name, verify=_verified.get(path) != stamp)
        except (OSError, ValueError, struct.error, SegmentError) as error:
            _log.warning("segment cache: %s is rebuilt from state: %s", path, error)
            _delete(path)
            return None
        _verified[path] = stamp
        return segment

    def put(self, segment: Segment) -> str | None:
        """Write a segment; its digest, or None where it found no room."""
        pieces = segment.packed()
        written = digest(b"".join(pieces[:2]))
        try:
            if self._used() + sum(map(len, pieces)) > self._most_bytes:
                return None
            write_whole(self._path(segment.name, written), pieces)
        except OSError as error:
            _log.warning("segment cache: cannot write to %s: %s", self._directory, error)
            return None
        return written

    def check(self) -> None:
        """Refuse the batch if a file was changed while it was in use: its results may be wrong."""
        for file, stamp, path in self._mapped:
            if _Stamp.of(file) != stamp:
                _delete(path)
                raise StreamJoinError(
                    f"segment cache: {path} was changed by somebody else while it was in use; this batch is tried again"
                )

    def sweep(self, keep: Iterable[tuple[str, str]]) -> None:
        """Delete all files but these, given as names and digests."""
        kept = {self._path(*entry).name for entry in keep}
        with contextlib.suppress(OSError):
            for path in self._directory.iterdir():
                if path.name not in kept:
                    _delete(path)

    def close(self) -> None:
        """Let go of the files; segments in use stay mapped."""
        for file, _, _ in self._mapped:
            os.close(file)
        self._mapped.clear()

    def _path(self, name: str, written: str) -> Path:
        return self._directory / f"{name}~{written}"

    def _used(self) -> int:
        return sum(entry.stat().st_size for entry in os.scandir(self._directory))


def _delete(path: Path) -> None:
    _verified.pop(path, None)
    with contextlib.suppress(OSError):
        path.unlink()


def _claim(root: Path, query: str) -> None:
    """Say that this process uses the query's directory; the first time also look for what others left behind."""
    lock = root / query / "lock"
    if lock in _locks and lock.exists():
        os.utime(lock)
        return
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    if root.stat().st_uid != os.getuid():
        raise PermissionError(f"{root} belongs to another user")
    lock.parent.mkdir(exist_ok=True)
    if lock in _locks:
        _locks.pop(lock).close()
    file = lock.open("ab")
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise
    _locks[lock] = file
    _remove_abandoned(root, query)


def _remove_abandoned(root: Path, query: str) -> None:
    for directory in root.iterdir():
        if directory.name == query:
            continue
        with contextlib.suppress(OSError), (directory / "lock").open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if time.time() - os.fstat(lock.fileno()).st_mtime > ABANDONED_SECONDS:
                shutil.rmtree(directory, ignore_errors=True)


def remove(spec: CacheSpec, query: str) -> None:
    """Delete what a query left on this host."""
    shutil.rmtree(spec.root / query, ignore_errors=True)
