"""One process at a time makes a file; the others wait, and find it."""

import fcntl
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

log = logging.getLogger(__name__)

PATIENCE_SECONDS = 20.0
"""Longer than any kernel takes. Code that two processes compile is right all the same."""

_STEP_SECONDS = 0.02


@contextmanager
def alone(lock: Path, is_made: Callable[[], bool]) -> Iterator[None]:
    """Hold the lock, unless another process has made what it stands for. Raises OSError where files cannot be locked.

    Waits for `PATIENCE_SECONDS` at most.

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
    """Wait until the lock is ours, or for so long that whoever holds it must be stopped or stuck."""
    until = monotonic() + PATIENCE_SECONDS
    waiting = False
    while True:
        try:
            return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if monotonic() > until:
                return log.warning("%s is held for %g s: compiling without it", lock, PATIENCE_SECONDS)
        if not waiting:
            log.info("waiting for another process, which compiles %s", lock.stem)
        waiting = True
        sleep(_STEP_SECONDS)
