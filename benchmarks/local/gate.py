"""Rows/s through the gate, as ScaleJoin's Fig. 7a: sources add blocks, and every reader is given all rows in order.

    python benchmarks/local/gate.py [--rows 2000000] [--runs 5]

Each source and each reader is a thread.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from rich.progress import track

from benchmarks.bench import Median, report
from benchmarks.papers.scale_gate import measure
from benchmarks.papers.systems import CORES

COUNTS = (1, 2, 4, 8)
BLOCK = 1000


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    speeds: dict[tuple[int, int], list[float]] = {(n, m): [] for n in COUNTS for m in COUNTS}
    for _ in track(range(given.runs)):
        for (sources, readers), found in speeds.items():
            found.append(measure(sources, readers, given.rows, BLOCK) / 1e6)
    table = [[sources, *(Median.of(speeds[sources, readers]) for readers in COUNTS)] for sources in COUNTS]
    about = f"10^6 rows/s through the gate, each of which every reader sees; blocks of {BLOCK:,}, {CORES} cores"
    report("local-gate", about, ["sources", *(f"readers: {n}" for n in COUNTS)], table)


if __name__ == "__main__":
    main()
