"""One process at a time makes a file; the others wait, and find it."""

import fcntl
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

log = logging.getLogger(__name__)


@contextmanager
def alone(lock: Path, is_made: Callable[[], bool]) -> Iterator[None]:
    """Hold the lock, unless another process has made what it stands for. Raises OSError where files cannot be locked.

    The lock goes when its work is done, so that a directory holds nothing but code.
    """
    while not is_made():
        with lock.open("a") as file:
            _wait_for(file.fileno(), lock)
            if not os.fstat(file.fileno()).st_nlink:
                continue  # removed by whoever held it before: look again
            try:
                yield
            finally:
                lock.unlink(missing_ok=True)
            return
    yield


def _wait_for(file: int, lock: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        log.info("waiting for another process, which compiles %s", lock.stem)
        fcntl.flock(file, fcntl.LOCK_EX)
