"""Kernels compiled before they are needed: every one for every type, once per host.

The first process compiles everything, the others wait for it, and from then on nobody compiles: a process on a warm
host only loads.
"""

import contextlib
import functools
import itertools
from pathlib import Path
from typing import Any

import numpy as np

from streamjoin import kernel
from streamjoin.kernel.cells import Ruler
from streamjoin.kernel.codes import encode, widths
from streamjoin.kernel.grid import Axis, Grid
from streamjoin.kernel.intervals import outward, whole, widened
from streamjoin.kernel.nested import _nested, nested
from streamjoin.kernel.once import fingerprint, once
from streamjoin.kernel.ordered import Ordered
from streamjoin.kernel.pairs import Chunk, refine
from streamjoin.kernel.strings import Strings, contains, distances, ends_with, like, starts_with, substrings


@functools.cache
def warm() -> None:
    """Have all kernels compiled, by this process or another one."""
    cache = getattr(_nested, "_cache", None)
    if cache is None:  # NUMBA_DISABLE_JIT
        return
    directory = Path(cache.cache_path)
    sources = sorted(Path(kernel.__path__[0]).glob("*.py"))
    ready = directory / f"streamjoin-{fingerprint(*(path.read_text() for path in sources))}.ready"

    def make() -> bool:
        compile_all()
        for old in directory.glob("streamjoin-*.ready"):
            old.unlink(missing_ok=True)
        ready.touch()
        return True

    with contextlib.suppress(OSError):  # nowhere to write: then nothing is shared, and each compiles what it needs
        directory.mkdir(parents=True, exist_ok=True)
        once(directory / "streamjoin.lock", lambda: ready.exists() or None, make)


def compile_all() -> None:
    """Run every kernel once on a few rows of every type."""
    for name in ("f4", "f8", "i4", "i8"):
        values = np.zeros(1, name)
        for dtype in (np.int32, np.int64):
            Ruler.over(values, 1.0).cells(values, dtype)
        widened(values, True, 0.0, True, 0.0, 0.0, 0.0, 0.0)
        if values.dtype.kind == "f":
            encode(values)
            outward(np.zeros(1), np.zeros(1), values.dtype)
        else:
            for dtype in (np.int32, np.int64):
                whole(values, 0, 0, np.dtype(dtype))
    text, zero = Strings(np.zeros(2, np.int64), np.frombuffer(b"", np.uint8)), np.zeros(1, np.int64)
    for compare in (starts_with, ends_with, contains, distances):
        compare(text, text)
    like(text, text, ord("\\"))
    substrings(text, zero, zero)
    for x, y in itertools.product((np.int32, np.int64), repeat=2):
        _compile_for(np.zeros(2, x), np.zeros(2, y))


def _compile_for(x: Any, y: Any) -> None:
    """The kernels that see codes, for codes of these types."""
    row, hot_x, hot_y = np.zeros(2, np.int32), (x, widths(x, x)), (y, widths(y, y))
    nested(x, y, *hot_x, *hot_y, Chunk(1), np.zeros(3, np.int64))
    for far in (0, 1 << 30):  # dense, hashed
        spread = x + np.array([0, far], x.dtype)
        grid = Grid.build(Axis(spread), Axis(y, 1.0), row)
        visits, _ = grid.visits((x, x, x, x), (y, y, y, y))
        grid.probe(visits, Chunk(4), np.zeros(4, np.int64))
    ordered, chunk = Ordered.build(x, row), Chunk(4)
    count = ordered.probe(*ordered.ranges(x, x), chunk, np.zeros(2, np.int64))
    refine(chunk.probe, chunk.build, count, *(x, *hot_x))
