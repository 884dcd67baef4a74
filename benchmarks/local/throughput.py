"""Rows/s of `LocalJoin` in each of the papers' systems, beside Polars and DuckDB in loops written by hand.

    python benchmarks/local/throughput.py [--windows 60 300 900] [--only Grid Scale Cell Handshake Polars DuckDB]
        [--seconds 3] [--runs 3] [--pieces FILE]

Windows are full at the given rate before anything is timed; then rows come in blocks of 1,000, for Polars and DuckDB
in micro-batches of a second, as fast as each takes them. Handshake join scans, also while its windows fill: at 900 s
that alone takes minutes. With `--pieces`, runs are added to those that the file holds, and the table is made of all.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from rich.progress import track

from benchmarks.bench import Median, Pieces, report
from benchmarks.papers.systems import SYSTEMS, measure_throughput
from benchmarks.papers.workload import Load
from benchmarks.peers import duckdb_loop, polars_loop
from benchmarks.peers.peer import Task

RATE = 2500
BLOCK = 1000
PEERS = {"Polars": polars_loop.PEER, "DuckDB": duckdb_loop.PEER}


def measure_system(pieces: Pieces, name: str, window: float, seconds: float) -> None:
    for workers in (1, 2):
        got = measure_throughput(Load.equal(RATE, window), SYSTEMS[name](workers), workers, seconds, BLOCK)
        pieces.add(f"{window:g}|{name}|{workers}", got["rows_per_s"])


def measure_peer(pieces: Pieces, name: str, window: float, steps: int) -> None:
    task = Task.draw(RATE, window, 1.0, steps)
    expected = task.count_results()
    outcome = PEERS[name].run(task)
    assert outcome.results == expected, f"{name} did not find the {expected} results"
    pieces.add(f"{window:g}|{name}|its own", outcome.rows_per_s)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--windows", type=float, nargs="+", default=[60, 300, 900])
    parser.add_argument("--only", nargs="+", choices=[*SYSTEMS, *PEERS], default=[*SYSTEMS, *PEERS])
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--pieces", type=Path)
    given = parser.parse_args()
    pieces = Pieces(given.pieces)
    for window in given.windows:
        for _ in track(range(given.runs), f"windows of {window:g} s"):
            for name in given.only:
                if name in PEERS:
                    measure_peer(pieces, name, window, given.steps)
                else:
                    measure_system(pieces, name, window, given.seconds)
    cases = [(*case.split("|"), Median.of(runs), len(runs)) for case, runs in pieces.found.items()]
    best = {window: max((m for w, name, _, m, _ in cases if w == window and name in PEERS), default=None)
            for window, *_ in cases}  # fmt: skip
    table = [
        [window, name, workers, runs, speed, speed / float(best[window]) if best[window] else "not measured"]
        for window, name, workers, speed, runs in sorted(cases, key=lambda case: float(case[0]))
    ]
    about = f"Windows filled at {RATE:,} rows/s per stream; the papers' condition and whole rows"
    header = ["window, s", "what", "workers", "runs", "rows/s per stream", "to the best peer"]
    report("local-throughput", about, header, table)


if __name__ == "__main__":
    main()
