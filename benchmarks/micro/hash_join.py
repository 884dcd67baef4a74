"""(c) The hash table beside Polars: 1 M x 1 M rows with 1 M distinct keys, one thread."""

import os
import sys
from pathlib import Path

os.environ["POLARS_MAX_THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
import polars as pl
import pyarrow as pa

from benchmarks.bench import report, timed
from streamjoin import within
from streamjoin.match import Matcher
from streamjoin.pane import KeyColumn, Rows, Segment
from streamjoin.predicate import Schema, parse

SIZE = 1_000_000


def main() -> None:
    """Join on an equality: dense and sparse keys."""
    rng = np.random.default_rng(1)
    schema = Schema({"ts": "timestamp", "k": "bigint"})
    table = []
    for about, spread in (("keys 0..1 M", 1), ("keys spread over 64 bits", 0x9E3779B97F4A7)):
        left, right = (rng.permutation(SIZE).astype(np.int64) * spread for _ in range(2))
        matcher = Matcher(parse("l.k = r.k", schema, schema), within("1 second"))
        probe, build = (
            Rows(np.zeros(SIZE, np.int64), (KeyColumn(keys),), pa.record_batch([pa.array(np.arange(SIZE))], ["id"]))
            for keys in (left, right)
        )

        def ours() -> int:
            segment = matcher.prepare("r", Segment("s", build))
            return sum(len(pairs.probe) for pairs in matcher.pairs("l", probe, segment))

        frames = [pl.DataFrame({"k": keys, "id": np.arange(SIZE)}) for keys in (left, right)]

        def polars() -> int:
            return frames[0].join(frames[1], on="k", how="inner").height

        assert ours() == polars() == SIZE
        seconds = timed({"streamjoin": ours, "Polars": polars})
        table += [[about, name, s / SIZE * 1e9, seconds["Polars"] / s] for name, s in seconds.items()]
    report(
        "micro-hash-join",
        "Equi-join of 1 M x 1 M rows, 1 M distinct keys, building included; Polars emits rows, we emit index pairs.",
        ["keys", "engine", "ns/row", "x Polars"],
        table,
    )


if __name__ == "__main__":
    main()
