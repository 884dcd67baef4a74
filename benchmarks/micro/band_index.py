"""(b) The band index: 100,000 probes against a window of 1 M rows, beside Polars `join_where` and the nested loop."""

import os
import sys
from pathlib import Path

os.environ["POLARS_MAX_THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
import polars as pl

from benchmarks.bench import measure, report
from benchmarks.papers.workload import predicate, rows
from streamjoin import within
from streamjoin.match import Matcher
from streamjoin.pane import Segment

WINDOW, PROBES, FEW = 1_000_000, 100_000, 1_000


def main() -> None:
    """Probes per second of each, the index built once per 100,000 probes."""
    rng = np.random.default_rng(1)
    build, probe = rows(WINDOW, rng), rows(PROBES, rng)
    few = probe.slice(0, FEW)
    matchers = {kernel: Matcher(predicate(), within("15 minutes"), kernel=kernel) for kernel in ("auto", "nested")}
    segment = Segment("s", build)
    plain = matchers["nested"].prepare("r", segment)

    def indexed() -> int:
        index = matchers["auto"].prepare("r", segment)
        return sum(len(pairs.probe) for pairs in matchers["auto"].pairs("l", probe, index))

    def nested() -> int:
        return sum(len(pairs.probe) for pairs in matchers["nested"].pairs("l", few, plain))

    left = pl.DataFrame({"x": few.keys[0].values, "y": few.keys[1].values})
    right = pl.DataFrame({"a": build.keys[0].values, "b": build.keys[1].values})

    def polars() -> int:
        return left.join_where(
            right,
            pl.col("x") >= pl.col("a") - 10,
            pl.col("x") <= pl.col("a") + 10,
            pl.col("y") >= pl.col("b") - 10,
            pl.col("y") <= pl.col("b") + 10,
        ).height

    assert nested() == polars()
    seconds = measure({"index, built once per 100,000": indexed, "nested loop": nested, "Polars join_where": polars}, 5)
    probes = {"index, built once per 100,000": PROBES, "nested loop": FEW, "Polars join_where": FEW}
    each = {name: s / probes[name] * 1e6 for name, s in seconds.items()}
    fastest = each["index, built once per 100,000"]
    report(
        "micro-band-index",
        f"Two bands, {PROBES:,} probes (Polars and the nested loop: {FEW:,}) against {WINDOW:,} rows, one thread.",
        ["contestant", "us/probe", "index is faster by"],
        [[name, us, us / fastest] for name, us in each.items()],
    )


if __name__ == "__main__":
    main()
