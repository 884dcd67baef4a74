"""The directory of a user's segment caches on one host, and the only code that deletes directories in it.

    <root>/README         what this is, for whoever finds it
    <root>/<query>/lock   begins with `MARK`; held shared by each Python worker that serves the query

Nobody but the user (and root) may write to it, so what lies there is what we wrote. A query's directory is deleted when
the query ends, or, if a process or machine died, by the first query that starts on the host an hour later and can lock
it. It is deleted only if it bears the name of a query and our mark; links in it are deleted, not followed.
"""

import contextlib
import fcntl
import os
import re
import shutil
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

from streamjoin.private import check_private, make_private

ABANDONED_SECONDS = 3600
LOCK, README = "lock", "README"
MARK = b"streamjoin segment cache 1\n"
"""How a lock of ours begins: a directory without it is somebody else's."""

_WORDS = MARK + (
    b"\nCopies of windows that running stream joins work on; the originals are in the checkpoints of the queries.\n"
    b"To delete it is safe at any time: what is missing is read from the checkpoint again.\n"
    b"Setting: spark.streamjoin.cache.directory. Everything in here is made and deleted by streamjoin.\n"
)
_QUERY = re.compile(r"batch|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_DELETABLE = re.compile(rf"({_QUERY.pattern})(\.[0-9a-f]{{32}})?")  # also what is being deleted
_JOIN = re.compile(r"[0-9a-f]{12}")
_OPEN = os.O_CLOEXEC | os.O_NOFOLLOW

_locks: dict[Path, int] = {}  # of this process: lock files and their descriptors


def claim(root: Path, query: str) -> Path:
    """The directory of a query, made if it was missing and marked as used by this process.

    Raises OSError where others may write to it or it holds what is not ours. The first time, also deletes what dead
    queries left behind.
    """
    root = make_private(root)
    lock = _find_directory(root, query) / LOCK
    if lock in _locks and _is_at(_locks[lock], lock):
        os.utime(_locks[lock])
        return lock.parent
    _release_deleted()
    with contextlib.suppress(FileExistsError), (root / README).open("xb") as readme:
        readme.write(_WORDS)
    make_directory(lock.parent)
    _locks[lock] = _hold(lock)
    _remove_abandoned(root, query)
    return lock.parent


def make_directory(directory: Path) -> Path:
    """The directory, made if it was missing; what a link leads to does not count as one."""
    directory.mkdir(mode=0o700, exist_ok=True)
    if not stat.S_ISDIR(directory.lstat().st_mode):
        raise NotADirectoryError(f"{directory} is a link")
    return directory


def remove(root: Path, query: str) -> None:
    """Delete what a query left on this host; nothing that lacks our mark."""
    with contextlib.suppress(OSError):
        directory = _find_directory(check_private(root), query)
        with _open_lock(directory):
            _delete(directory)


def _find_directory(root: Path, query: str) -> Path:
    if not _QUERY.fullmatch(query):
        raise ValueError(f"query: expected the id of a streaming query, a UUID; got {query!r}")
    return root / query


def _hold(lock: Path) -> int:
    """Lock a query's directory together with other processes that serve it."""
    others = [  # listed before the mark is read: it comes first. Only directories of joins: somebody deleted the lock
        path for path in lock.parent.iterdir() if path != lock and not _JOIN.fullmatch(path.name)
    ]
    try:
        file = os.open(lock, os.O_RDWR | _OPEN | (0 if others else os.O_CREAT), 0o600)
    except FileNotFoundError:
        raise FileExistsError(f"{lock.parent} holds files that streamjoin did not write") from None
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        if not _is_at(file, lock):
            raise FileNotFoundError(f"{lock} was deleted meanwhile")
        found = os.pread(file, len(MARK), 0)
        if found != MARK and (found or others):
            raise FileExistsError(f"{lock.parent} holds files that streamjoin did not write")
        os.pwrite(file, _WORDS, 0)
    except OSError:
        os.close(file)
        raise
    return file


def _is_at(file: int, path: Path) -> bool:
    """Whether this is still the file of that name."""
    try:
        return os.path.samestat(os.fstat(file), path.lstat())
    except OSError:
        return False


def _release_deleted() -> None:
    """Close the locks of queries that have ended: a worker may outlive many."""
    for lock, file in list(_locks.items()):
        if not _is_at(file, lock):
            del _locks[lock]
            os.close(file)


@contextlib.contextmanager
def _open_lock(directory: Path) -> Iterator[int]:
    """The lock of a directory that is ours; OSError for any other."""
    if not stat.S_ISDIR(directory.lstat().st_mode):
        raise NotADirectoryError(str(directory))
    file = os.open(directory / LOCK, os.O_RDONLY | _OPEN)
    try:
        if os.pread(file, len(MARK), 0) != MARK:
            raise PermissionError(f"{directory} is not streamjoin's")
        yield file
    finally:
        os.close(file)


def _remove_abandoned(root: Path, query: str) -> None:
    for directory in root.iterdir():
        if directory.name == query or not _DELETABLE.fullmatch(directory.name):
            continue
        with contextlib.suppress(OSError), _open_lock(directory) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if time.time() - os.fstat(lock).st_mtime > ABANDONED_SECONDS and _is_at(lock, directory / LOCK):
                _delete(directory)


def _delete(directory: Path) -> None:
    """Delete a directory of ours; the lock last and only if nothing is left: what stays must be known as ours.

    It gets another name first: a query that starts anew meanwhile makes a directory of its own.
    """
    directory = directory.rename(directory.with_name(f"{directory.name[:36]}.{uuid4().hex}"))
    lock = directory / LOCK
    for path in directory.iterdir():
        if path == lock:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    if list(directory.iterdir()) == [lock]:
        lock.unlink()
        directory.rmdir()
