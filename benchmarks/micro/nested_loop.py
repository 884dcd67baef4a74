"""(a) The nested loop beside plain C that only counts, and what each step brings (CellJoin Fig. 7-8 in spirit)."""

import ctypes
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.bench import measure, report
from benchmarks.papers.workload import values
from streamjoin.kernel.codes import encode, widths
from streamjoin.kernel.nested import nested
from streamjoin.kernel.pairs import Chunk

WINDOWS = ((50_000, 2_000, "fits the second-level cache"), (40_000_000, 16, "320 MB: beyond the third-level cache"))
FLAGS = {
    "C, AVX2": ["-mno-avx512f"],
    "C, all of -march=native": [],
}


def compiled(flags: list[str]) -> Callable[..., int]:
    """The C loop as a function."""
    library = Path(tempfile.mkdtemp()) / "nested_loop.so"
    source = Path(__file__).with_suffix(".c")
    subprocess.run(["gcc", "-O3", "-march=native", *flags, "-shared", "-fPIC", "-o", library, source], check=True)
    function = ctypes.CDLL(str(library)).count
    function.restype = ctypes.c_int64
    return lambda *arrays: function(
        *(a.ctypes.data_as(ctypes.c_void_p) for a in arrays), *map(ctypes.c_int64, (len(arrays[0]), len(arrays[2])))
    )


@njit(nogil=True)
def scalar(a: Any, b: Any, x0: Any, x1: Any, y0: Any, y1: Any) -> int:
    """A loop with branches, as one would write it first."""
    found = 0
    for i in range(x0.size):
        for j in range(a.size):
            if a[j] >= x0[i] and a[j] <= x1[i] and b[j] >= y0[i] and b[j] <= y1[i]:
                found += 1
    return found


@njit(nogil=True)
def vectorized(a: Any, b: Any, x0: Any, x1: Any, y0: Any, y1: Any) -> int:
    """Without branches and with a narrow sum: LLVM vectorizes it. Not blocked: every probe reads all of the window."""
    total = 0
    for i in range(x0.size):
        found = np.int32(0)
        for j in range(a.size):
            found = np.int32(found + np.int32((a[j] >= x0[i]) & (a[j] <= x1[i]) & (b[j] >= y0[i]) & (b[j] <= y1[i])))
        total += found
    return total


def main() -> None:
    """Time all loops on windows that fit a cache and that do not."""
    rng = np.random.default_rng(1)
    baselines = {name: compiled(flags) for name, flags in FLAGS.items()}
    table = []
    for size, probes, about in WINDOWS:
        (x, y), (a, b) = values(probes, rng), values(size, rng)
        ends = x - 10, x + 10, y - np.float32(10), y + np.float32(10)
        codes = encode(b)
        low, high = encode(ends[2]), encode(ends[3])
        intervals = (ends[0], widths(ends[0], ends[1]), low, widths(low, high))
        chunk = Chunk(1 << 16)

        def ours(a: Any = a, codes: Any = codes, intervals: Any = intervals, chunk: Chunk = chunk) -> int:
            cursor, found = np.zeros(3, np.int64), 0
            while cursor[0] < len(a):
                found += nested(a, codes, *intervals, chunk, cursor)
            return found

        contestants: dict[str, Callable[[], int]] = {
            **{name: lambda c=count: c(x, y, a, b) for name, count in baselines.items()},
            "scalar": lambda: scalar(a, b, *ends),
            "vectorized": lambda: vectorized(a, b, *ends),
            "vectorized and blocked, emitting (ours)": ours,
        }
        found = {name: run() for name, run in contestants.items()}
        assert len(set(found.values())) == 1, found
        seconds = measure(contestants)
        base = seconds["C, AVX2"]
        table += [[about, name, probes * size / s / 1e9, base / s, found[name]] for name, s in seconds.items()]
    report(
        "micro-nested-loop",
        "Nested loop on the papers' predicate, one thread; the C loop only counts.",
        ["window", "loop", "G pairs/s", "x C (AVX2)", "matches"],
        table,
    )


if __name__ == "__main__":
    main()
