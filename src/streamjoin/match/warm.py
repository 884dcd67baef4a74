"""Kernels compiled before they are needed: every one for every type, once per host.

Numba keeps what it compiled on disk, but two processes that compile at the same time can leave an index that names
the other's code. So the first process compiles everything under a lock, the others wait for it, and from then on
nobody compiles: a process on a warm host only loads.
"""

import fcntl
import functools
import hashlib
import itertools
from pathlib import Path
from typing import Any

import numba
import numpy as np

from streamjoin import kernel
from streamjoin.kernel.codes import cells, encode, widened, widths
from streamjoin.kernel.grid import Grid
from streamjoin.kernel.nested import _nested, nested
from streamjoin.kernel.ordered import Ordered
from streamjoin.kernel.pairs import Chunk, refine


@functools.cache
def warm() -> None:
    """Have all kernels compiled, by this process or another one."""
    cache = getattr(_nested, "_cache", None)
    if cache is None:  # NUMBA_DISABLE_JIT
        return
    directory = Path(cache.cache_path)
    ready = directory / f"streamjoin-{_fingerprint()}.ready"
    try:
        if ready.exists():
            return
        directory.mkdir(parents=True, exist_ok=True)
        with (directory / "streamjoin.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not ready.exists():
                compile_all()
                ready.touch()
    except OSError:  # nowhere to write: then nothing is shared, and each process compiles what it needs
        return


def _fingerprint() -> str:
    sources = sorted(Path(path) for path in Path(kernel.__path__[0]).glob("*.py"))
    text = "".join(path.read_text() for path in sources) + numba.__version__ + np.__version__
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def compile_all() -> None:
    """Run every kernel once on a few rows of every type."""
    for name in ("f4", "f8"):
        encode(np.zeros(1, name))
    for name in ("f4", "f8", "i4", "i8"):
        cells(np.zeros(1, name), 1.0)
    widened(np.zeros(1), True, 0.0, True, 0.0, 0.0, 0.0, 0.0)
    for x, y in itertools.product((np.int32, np.int64), repeat=2):
        _compile_for(np.zeros(2, x), np.zeros(2, y))
    many: Any = np.zeros(1 << 14, np.int64)
    Grid.build(many, many, many, many, many.astype(np.int32)).order(many, many)


def _compile_for(x: Any, y: Any) -> None:
    """The kernels that see codes, for codes of these types."""
    row, zero = np.zeros(2, np.int32), np.zeros(2, np.int64)
    hot_x, hot_y = (x, widths(x, x)), (y, widths(y, y))
    nested(x, y, *hot_x, *hot_y, Chunk(1), np.zeros(3, np.int64))
    for x_cells in (zero, np.array([0, 1 << 40])):  # dense, hashed
        grid = Grid.build(x, y, x_cells, zero, row)
        grid.probe(row, (zero, zero), (zero, zero), hot_x, hot_y, Chunk(4), np.array([0, 0, 0, -1]))
    ordered, chunk = Ordered.build(x, row), Chunk(4)
    count = ordered.probe(*ordered.ranges(x, x), chunk, np.zeros(2, np.int64))
    refine(chunk.probe, chunk.build, count, *(x, *hot_x))
