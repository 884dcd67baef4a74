"""The loops that the SIMD ablations compare, on one core: with branches, without, blocked and emitting; and C."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.micro.nested_loop import compiled, scalar, vectorized
from benchmarks.papers.systems import time_median
from benchmarks.papers.workload import values
from streamjoin.kernel.codes import encode, widths
from streamjoin.kernel.nested import nested
from streamjoin.kernel.pairs import Chunk

PLAIN, EAGER, OURS, LIMIT = "with branches", "without branches", "ours: tiles, two probes, emitting", "plain C"


class Window:
    """Columns of a window, and the probing rows' intervals as our kernel takes them."""

    def __init__(self, rows: int, probes: int, seed: int = 1) -> None:
        rng = np.random.default_rng(seed)
        (self.x, self.y), (self.a, self.b) = values(probes, rng), values(rows, rng)
        self.ends = self.x - 10, self.x + 10, self.y - np.float32(10), self.y + np.float32(10)
        self.codes = encode(self.b)
        low, high = encode(self.ends[2]), encode(self.ends[3])
        self.intervals = (self.ends[0], widths(self.ends[0], self.ends[1]), low, widths(low, high))
        self._chunk = Chunk(1 << 16)

    def scan(self, start: int = 0, stop: int | None = None) -> int:
        """Our nested loop over part of the window; the number of pairs that were found."""
        a, codes = self.a[start:stop], self.codes[start:stop]
        cursor, found = np.zeros(3, np.int64), 0
        while cursor[0] < len(a):
            found += nested(a, codes, *self.intervals, self._chunk, cursor)
        return found


def measure_loops(rows: int, probes: int, repetitions: int) -> dict[str, float]:
    """Comparisons/s of each loop on one core; all must find the same number of pairs."""
    window = Window(rows, probes)
    count = compiled([])
    loops: dict[str, Callable[[], Any]] = {
        PLAIN: lambda: scalar(window.a, window.b, *window.ends),
        EAGER: lambda: vectorized(window.a, window.b, *window.ends),
        OURS: window.scan,
        LIMIT: lambda: count(window.x, window.y, window.a, window.b),
    }
    found = {name: loop() for name, loop in loops.items()}
    if len(set(found.values())) != 1:
        raise AssertionError(f"the loops do not agree: {found}")
    return {name: rows * probes / max(time_median(loop, repetitions), 1e-9) for name, loop in loops.items()}
