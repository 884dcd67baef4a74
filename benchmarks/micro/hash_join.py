"""(c) The hash table beside Polars, one thread: 1 M x 1 M rows with 1 M distinct keys.

And what a pair costs when one key holds half of the rows, beside keys of equal weight.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path

os.environ["POLARS_MAX_THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.bench import measure, report
from streamjoin import within
from streamjoin.match import Matcher
from streamjoin.pane import KeyColumn, Rows, Segment
from streamjoin.predicate import Schema, parse

SIZE = 1_000_000
STORED, HOT_PROBES, EVEN_PROBES = 40_000, 1_000, 100_000
SCHEMA = Schema({"ts": "timestamp", "k": "bigint"})
Keys = NDArray[np.int64]


def contestants(left: Keys, right: Keys) -> dict[str, Callable[[], int]]:
    """The same join by both, building included."""
    matcher = Matcher(parse("l.k = r.k", SCHEMA, SCHEMA), within("1 second"))
    probe, build = (
        Rows(np.zeros(len(k), np.int64), (KeyColumn(k),), pa.record_batch([pa.array(np.arange(len(k)))], ["id"]))
        for k in (left, right)
    )
    frames = [pl.DataFrame({"k": k, "id": np.arange(len(k))}) for k in (left, right)]

    def ours() -> int:
        segment = matcher.prepare("r", Segment("s", build))
        return sum(len(pairs.probe) for pairs in matcher.pairs("l", probe, segment))

    return {"streamjoin": ours, "Polars": lambda: frames[0].join(frames[1], on="k", how="inner").height}


def distinct(rng: np.random.Generator) -> None:
    """Every key once on each side: dense and sparse."""
    table = []
    for about, spread in (("keys 0..1 M", 1), ("keys spread over 64 bits", 0x9E3779B97F4A7)):
        both = contestants(*(rng.permutation(SIZE).astype(np.int64) * spread for _ in range(2)))
        assert {run() for run in both.values()} == {SIZE}
        seconds = measure(both)
        table += [[about, name, s / SIZE * 1e9, seconds["Polars"] / s] for name, s in seconds.items()]
    report(
        "micro-hash-join",
        "Equi-join of 1 M x 1 M rows, 1 M distinct keys, building included; Polars emits rows, we emit index pairs.",
        ["keys", "engine", "ns/row", "x Polars"],
        table,
    )


def skewed(rng: np.random.Generator) -> None:
    """About the same number of pairs from keys of equal weight, and from one that holds half of the rows."""
    unique = rng.integers(1, 2**62, STORED + HOT_PROBES)
    hot = unique.copy()
    hot[::2] = 0
    each = STORED // 100
    sides = {
        "100 rows to a key": (rng.integers(0, each, EVEN_PROBES), np.arange(STORED) % each),
        "half of the rows to one key": (hot[STORED:], hot[:STORED]),
    }
    runs = {about: contestants(*keys) for about, keys in sides.items()}
    pairs = {about: {run() for run in both.values()} for about, both in runs.items()}
    assert all(len(found) == 1 for found in pairs.values()), pairs
    seconds = measure({f"{about}|{name}": run for about, both in runs.items() for name, run in both.items()})
    table = []
    for label, s in seconds.items():
        about, name = label.split("|")
        (count,) = pairs[about]
        even = seconds[f"100 rows to a key|{name}"] / min(pairs["100 rows to a key"])
        table.append([about, name, count, s / count * 1e9, s / count / even])
    report(
        "micro-hash-hot-key",
        f"Equi-join against {STORED:,} rows, building included: what a pair costs when one key holds half of them.",
        ["keys", "engine", "pairs", "ns/pair", "x even keys"],
        table,
    )


def main() -> None:
    """Both tables."""
    rng = np.random.default_rng(1)
    distinct(rng)
    skewed(rng)


if __name__ == "__main__":
    main()
