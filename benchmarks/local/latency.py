"""Latency of `LocalJoin` on rows that come one by one at their due times, and of Handshake join on short windows.

    python benchmarks/local/latency.py [--runs 5] [--seconds 60]

Milliseconds from the push of a pair's later row to the callback with the result (DP-Join Def. 4.2). Windows are full
before the first row is timed. Handshake join finds a pair when its rows meet in the chain: a quarter of the window.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from rich.progress import track

from benchmarks.bench import Median, report
from benchmarks.papers.systems import measure_latency
from benchmarks.papers.workload import Load
from streamjoin import Grid, Handshake

RATE = 2500
CASES = ((Grid(1, 2), 300, 1), (Handshake(2), 4, 50), (Handshake(2), 8, 50))
"""Layout, seconds of the window, rows of a push."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=60)
    given = parser.parse_args()
    table: list[list[object]] = []
    for layout, window, block in CASES:
        seconds = given.seconds if isinstance(layout, Grid) else max(given.seconds / 4, 2 * window)
        load, shown = Load.equal(RATE, window), f"{layout}, {window} s"
        runs = [measure_latency(load, layout, seconds, block) for _ in track(range(given.runs), shown)]
        medians = [Median.of(run[key] for run in runs) for key in ("p50", "mean", "p99")]
        table.append([layout, window, block, *medians, sum(run["results"] for run in runs)])
    about = f"{RATE:,} rows/s per stream, pushed at their due times, {given.runs} runs of {given.seconds:g} s"
    header = ["layout", "window, s", "rows a push", "p50, ms", "mean, ms", "p99, ms", "results"]
    report("local-latency", about, header, table)


if __name__ == "__main__":
    main()
