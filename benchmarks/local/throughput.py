"""Rows/s of `LocalJoin` in each of the papers' systems, beside Polars and DuckDB in loops written by hand.

    python benchmarks/local/throughput.py [--windows 60 300 900] [--seconds 3] [--runs 3]

Windows are full at the given rate before anything is timed; then rows come in blocks of 1,000, for Polars and DuckDB
in micro-batches of a second, as fast as each takes them.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from rich.progress import track

from benchmarks.bench import Median, report
from benchmarks.papers.systems import SYSTEMS, measure_throughput
from benchmarks.papers.workload import Load
from benchmarks.peers import duckdb_loop, polars_loop
from benchmarks.peers.peer import Task

RATE = 2500
BLOCK = 1000
PEERS = {"Polars join_where": polars_loop.PEER, "DuckDB, buckets": duckdb_loop.PEER}


def measure_systems(window: float, seconds: float, runs: int) -> list[list[object]]:
    load = Load.equal(RATE, window)
    cases = [(name, layout(workers), workers) for name, layout in SYSTEMS.items() for workers in (1, 2)]
    speeds: dict[tuple[str, int], list[float]] = {(name, workers): [] for name, _, workers in cases}
    for _ in track(range(runs), f"systems, {window:g} s"):
        for name, layout, workers in cases:
            got = measure_throughput(load, layout, workers, seconds, BLOCK)
            speeds[name, workers].append(got["rows_per_s"])
    return [[window, name, workers, Median.of(each)] for (name, workers), each in speeds.items()]


def measure_peers(window: float, steps: int, runs: int) -> list[list[object]]:
    task = Task.draw(RATE, window, 1.0, steps)
    expected, table = task.count_results(), []
    for name, peer in PEERS.items():
        outcomes = [peer.run(task) for _ in track(range(runs), f"{name}, {window:g} s")]
        assert all(each.results == expected for each in outcomes), f"{name} did not find the {expected} results"
        table.append([window, name, "its own", Median.of(each.rows_per_s for each in outcomes)])
    return table


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--windows", type=float, nargs="+", default=[60, 300, 900])
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    table: list[list[object]] = []
    for window in given.windows:
        found = measure_systems(window, given.seconds, given.runs) + measure_peers(window, given.steps, given.runs)
        best = max(row[-1] for row in found if row[1] in PEERS)  # type: ignore[type-var]
        table += [[*row, float(row[-1]) / float(best)] for row in found]  # type: ignore[arg-type]
    about = f"Windows filled at {RATE:,} rows/s per stream; {given.runs} runs, the papers' condition and whole rows"
    report("local-throughput", about, ["window, s", "what", "workers", "rows/s per stream", "to the best peer"], table)


if __name__ == "__main__":
    main()
