"""Levenshtein's distance of many pairs: our kernel beside the table that it replaced, and beside rapidfuzz.

rapidfuzz takes Python strings, which a worker would have to make of Arrow columns first: measure with and without that.

    pip install rapidfuzz
    python benchmarks/micro/levenshtein.py
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
import pyarrow as pa
from numba import njit
from rapidfuzz import __version__ as rapidfuzz_version
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cpdist

from benchmarks.bench import Median, report
from streamjoin.kernel.codes import unlock
from streamjoin.kernel.levenshtein import _decode, distances
from streamjoin.kernel.strings import Strings

PAIRS, RUNS = 8192, 15
LENGTHS = {"5 to 15": (5, 15), "20 to 40": (20, 40), "100": (100, 100)}
ALPHABETS = {"ASCII": "abcdefghijklmnopqrstuvwxyz ", "Cyrillic": "абвгдежзийклмнопрстуфхцчшщыьэюя "}
BASE = "rapidfuzz cpdist"


def draw(lengths: tuple[int, int], alphabet: str) -> list[pa.Array]:
    """Two columns; half of the pairs are of two strings that have nothing in common, half have few letters changed."""
    rng = np.random.default_rng(1)
    letters = list(alphabet)

    def text() -> list[str]:
        return list(rng.choice(letters, rng.integers(lengths[0], lengths[1] + 1)))

    left = [text() for _ in range(PAIRS)]
    right = [list(each) if k % 2 else text() for k, each in enumerate(left)]
    for each in right:
        for _ in range(3):
            each[rng.integers(len(each))] = rng.choice(letters)
    return [pa.array(["".join(each) for each in side], pa.large_string()) for side in (left, right)]


@njit
def table(ao: Any, ad: Any, bo: Any, bd: Any) -> Any:
    """The kernel as it was: cell by cell."""
    found = np.zeros(len(ao) - 1, np.int32)
    longest = 0
    for k in range(len(found)):
        longest = max(longest, ao[k + 1] - ao[k], bo[k + 1] - bo[k])
    x, y, row = np.empty(longest, np.int64), np.empty(longest, np.int64), np.empty(longest + 1, np.int32)
    for k in range(len(found)):
        n, m = _decode(ad, ao[k], ao[k + 1], x), _decode(bd, bo[k], bo[k + 1], y)
        for j in range(m + 1):
            row[j] = j
        for i in range(n):
            diagonal, row[0] = row[0], np.int32(i + 1)
            for j in range(m):
                changed = diagonal + (x[i] != y[j])
                diagonal = row[j + 1]
                row[j + 1] = min(changed, diagonal + 1, row[j] + 1)
        found[k] = row[m]
    return found


def contestants(left: pa.Array, right: pa.Array) -> dict[str, Callable[[], Any]]:
    """All from Arrow columns, but for the one that is given Python strings."""
    ready = left.to_pylist(), right.to_pylist()

    def each() -> list[int]:
        return [Levenshtein.distance(a, b) for a, b in zip(left.to_pylist(), right.to_pylist(), strict=True)]

    def together(a: list[str], b: list[str], cutoff: int | None = None) -> Any:
        return cpdist(a, b, scorer=Levenshtein.distance, score_cutoff=cutoff, dtype=np.int32, workers=1)

    def cell_by_cell() -> Any:
        arrays = [unlock(array) for side in (left, right) for array in Strings.of(side)]
        return table(*arrays)

    return {
        "streamjoin": lambda: distances(Strings.of(left), Strings.of(right)),
        "streamjoin, cut off at 2": lambda: distances(Strings.of(left), Strings.of(right), 2),
        "table, cell by cell": cell_by_cell,
        BASE: lambda: together(left.to_pylist(), right.to_pylist()),
        "rapidfuzz cpdist, cut off at 2": lambda: together(left.to_pylist(), right.to_pylist(), 2),
        "rapidfuzz cpdist, strings at hand": lambda: together(*ready),
        "rapidfuzz, pair by pair": each,
    }


def measure(runs: dict[str, Callable[[], Any]]) -> dict[str, list[float]]:
    """Nanoseconds a pair, all in turns after one warm-up."""
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for run in runs.values():
        run()
    for _ in range(RUNS):
        for name, run in runs.items():
            start = time.process_time_ns()
            run()
            taken[name].append((time.process_time_ns() - start) / PAIRS)
    return taken


def main() -> None:
    """Lengths by alphabets."""
    rows = []
    for alphabet, letters in ALPHABETS.items():
        for length, ends in LENGTHS.items():
            runs = contestants(*draw(ends, letters))
            wanted = list(runs[BASE]())
            for name, run in runs.items():
                assert "cut off" in name or list(run()) == wanted, name
            taken = measure(runs)
            medians = {name: Median.of(each) for name, each in taken.items()}
            rows += [[alphabet, length, name, median, medians[BASE] / median] for name, median in medians.items()]
    report(
        "micro-levenshtein",
        f"Levenshtein's distance of {PAIRS:,} pairs in Arrow columns, one thread: median and spread of {RUNS} runs in "
        f"turns. rapidfuzz {rapidfuzz_version} is given Python strings that are made of the columns first, but for "
        "`strings at hand`. Half of the pairs differ in three letters at most, half have nothing in common.",
        ["letters", "length", "", "ns/pair", f"x {BASE}"],
        rows,
    )


if __name__ == "__main__":
    main()
