"""How many bytes a cell may still add to the segment cache.

Without a setting, all caches of a user on a host together take at most a quarter of the disk that is free or theirs:
what is written moves bytes from the one to the other, so the bound stays where it is until somebody else takes or frees
disk. It is measured on the host that runs the cell, once a batch that has something to write. Cells of several
processes that measure at the same moment may together pass it by what they write in one batch.

With `spark.streamjoin.cache.maxBytes` each cell of a join has an equal part of that many bytes, which is never passed.
"""

import contextlib
import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

PART_OF_DISK = 4
"""Without a setting, one part in so many of the disk that is free or already ours."""

_sizes: dict[str, tuple[int, int]] = {}  # of this process: when the directory of a cell changed, and its bytes then


class Room:
    """What a cell may write in one batch: into `directory`, below `root`, which all cells of the host share."""

    def __init__(self, root: Path, directory: Path, most_bytes: int | None) -> None:
        self._root, self._directory, self._most_bytes = root, directory, most_bytes
        self._added = 0

    def has(self, size: int) -> bool:
        """Whether so many bytes may be added."""
        used, allowed = self._limits
        return used + self._added + size <= allowed

    def add(self, size: int) -> None:
        """Count what was written."""
        self._added += size

    def __str__(self) -> str:
        used, allowed = self._limits
        if self._most_bytes is not None:
            return f"this cell's part of spark.streamjoin.cache.maxBytes is {allowed:,} bytes, {used:,} are used"
        return (
            f"caches may take 1/{PART_OF_DISK} of the disk that is free or theirs, {allowed:,} bytes, and take {used:,}"
        )

    @cached_property
    def _limits(self) -> tuple[int, int]:
        """The bytes that count, before this batch, and how many they may be."""
        if self._most_bytes is not None:
            return _measure(self._directory), self._most_bytes
        used, disk = _measure_all(self._root), os.statvfs(self._root)
        return used, (disk.f_bavail * disk.f_frsize + used) // PART_OF_DISK


def _measure(directory: str | Path) -> int:
    """The bytes of the files in a directory, without those that are deleted meanwhile."""
    size = 0
    with os.scandir(directory) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):
                size += entry.stat(follow_symlinks=False).st_size
    return size


def _measure_all(root: Path) -> int:
    """The bytes of all cells of all queries; files are looked at only in directories that have changed.

    A change within a tick of the file system's clock may be missed until the next one: a batch later, as a rule.
    """
    sizes: dict[str, tuple[int, int]] = {}
    for cell in _list_directories(root, 3):
        try:
            changed = cell.stat(follow_symlinks=False).st_mtime_ns
            known = _sizes.get(cell.path)
            sizes[cell.path] = known if known and known[0] == changed else (changed, _measure(cell.path))
        except FileNotFoundError:  # its query has ended
            continue
    _sizes.clear()
    _sizes.update(sizes)
    return sum(size for _, size in sizes.values())


def _list_directories(root: str | Path, depth: int) -> Iterator[os.DirEntry[str]]:
    try:
        entries = [entry for entry in os.scandir(root) if entry.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return
    for entry in entries:
        if depth == 1:
            yield entry
        else:
            yield from _list_directories(entry.path, depth - 1)
