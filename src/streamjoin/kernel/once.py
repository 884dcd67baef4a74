"""Machine code on disk that one process makes for all: under a lock on a file, while the others wait, then find it.

Numba keeps what it compiled, but two processes that compile at the same time can leave an index that names the other's
code. Both the kernels (`match.warm`) and compiled conditions (`predicate.codecache`) are made in this way.
"""

import fcntl
import functools
import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numba
import numpy as np

T = TypeVar("T")

_FORMAT = "2"
"""To be raised when what is kept on disk is written in another way."""


def once(lock: Path, found: Callable[[], T | None], make: Callable[[], T]) -> T:
    """What `found` finds; else what `make` makes, while nobody else looks or makes. Raises OSError without locks."""
    while True:
        with lock.open("a") as file:
            for mode in (fcntl.LOCK_SH, fcntl.LOCK_EX):  # the shared one is given up first: another may have been here
                fcntl.flock(file, mode)
                if not os.fstat(file.fileno()).st_nlink:
                    break  # discarded while we waited: begin again with a new one
                if (it := found()) is not None:
                    return it
            else:
                return make()


def discard(lock: Path, remove: Callable[[], None]) -> None:
    """Remove what this lock guards, and the lock; leave both if somebody holds it."""
    with lock.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        remove()
        lock.unlink(missing_ok=True)


def fingerprint(*texts: str) -> str:
    """A name for machine code: changes with its source and with all that it depends on."""
    parts = (_FORMAT, sys.version, numba.__version__, np.__version__, *_processor(), *texts)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


@functools.cache
def _processor() -> tuple[str, ...]:
    """What Numba compiles for: triple, name and features of the processor."""
    from numba.core.registry import cpu_target

    return tuple(map(str, cpu_target.target_context.codegen().magic_tuple()))
