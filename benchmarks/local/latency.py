"""Latency of `LocalJoin` on rows that come one by one at their due times, and of Handshake join on short windows.

    python benchmarks/local/latency.py [--runs 5] [--seconds 60] [--cases grid chain-4 chain-8] [--pieces FILE]

Milliseconds from the push of a pair's later row to the callback with the result (DP-Join Def. 4.2). Windows are full
before the first row is timed. Handshake join finds a pair when its rows meet: in a long chain after a quarter of the
window on average, in one of two after an eighth.
The longest latencies of a run are pauses of Python's garbage collector, which walks all results that this script keeps.
With `--pieces`, runs are added to those that the file holds, and the table is made of all.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from rich.progress import track

from benchmarks.bench import Median, Pieces, report
from benchmarks.papers.systems import measure_latency
from benchmarks.papers.workload import Load
from streamjoin import Grid, Handshake

RATE = 2500
CASES = {
    "grid": (Grid(1, 2), 300, 1),
    "chain-4": (Handshake(2), 4, 50),
    "chain-8": (Handshake(2), 8, 50),
}
"""Layout, seconds of the window, rows of a push."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--pieces", type=Path)
    given = parser.parse_args()
    pieces = Pieces(given.pieces)
    for name in given.cases:
        layout, window, block = CASES[name]
        seconds = given.seconds if isinstance(layout, Grid) else max(given.seconds / 4, 2 * window)
        for _ in track(range(given.runs), name):
            pieces.add(name, measure_latency(Load.equal(RATE, window), layout, seconds, block))
    table: list[list[object]] = []
    for name, runs in pieces.found.items():
        medians = [Median.of(run[key] for run in runs) for key in ("p50", "mean", "p99", "most")]
        table.append([*CASES[name], len(runs), *medians, sum(run["results"] for run in runs)])
    about = f"{RATE:,} rows/s per stream, pushed at their due times for {given.seconds:g} s, chains for a quarter of it"
    header = ["layout", "window, s", "rows a push", "runs", "p50, ms", "mean, ms", "p99, ms", "max, ms", "results"]
    report("local-latency", about, header, table)


if __name__ == "__main__":
    main()
