"""Comparisons/s of the papers' systems with the nested loop, beside the loop in C on the same cores.

    python benchmarks/local/comparisons.py [--blocks 64 1000] [--seconds 3] [--runs 5]

The systems find pairs, make results and move their windows; the loop in C (`-O3 -march=native`) only counts.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from rich.progress import track

from benchmarks.bench import Median, report
from benchmarks.papers.systems import CORES, SYSTEMS, measure_c, measure_comparisons

NAMES = ("Grid", "Scale", "Cell")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--blocks", type=int, nargs="+", default=[64, 1000])
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    table: list[list[object]] = []
    for block in given.blocks:
        ratios: dict[str, list[float]] = {name: [] for name in NAMES}
        speeds: dict[str, list[float]] = {name: [] for name in NAMES}
        for _ in track(range(given.runs), f"blocks of {block}"):
            limit = measure_c(CORES, given.rows, block, given.seconds)
            for name in NAMES:
                size = given.rows, block, given.seconds
                speed = measure_comparisons(SYSTEMS[name](CORES), CORES, *size)["per_s"]
                speeds[name].append(speed / 1e9)
                ratios[name].append(speed / limit)
        table += [[block, name, Median.of(speeds[name]), Median.of(ratios[name])] for name in NAMES]
    about = f"{CORES} threads, windows of {given.rows:,} rows a side; each run beside the loop in C, which only counts"
    report("local-comparisons", about, ["rows a block", "system", "10^9 comparisons/s", "to C"], table)


if __name__ == "__main__":
    main()
