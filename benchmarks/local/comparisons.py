"""Comparisons/s of the papers' systems with the nested loop, beside the loop in C on the same cores.

    python benchmarks/local/comparisons.py [--blocks 64 1000] [--ways pushed step] [--seconds 5] [--runs 5]
        [--pieces FILE]

"pushed": a join is pushed blocks as fast as it takes them; what arrives while a step runs shares the next one, and
reading rows counts too. "step": blocks go straight to the engine, each in a step of its own. The systems find pairs,
make results and move their windows; the loop in C (`-O3 -march=native`) only counts. With `--pieces`, runs are added to
those that the file holds, and the table is made of all.
"""

import argparse
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from rich.progress import track

from benchmarks.bench import Median, Pieces, report
from benchmarks.papers.systems import CORES, SYSTEMS, measure_c, measure_comparisons, measure_pushed

NAMES = ("Grid", "Scale", "Cell")
WAYS: dict[str, Callable[..., float]] = {
    "pushed": measure_pushed,
    "step": lambda *given: float(measure_comparisons(*given)["per_s"]),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--blocks", type=int, nargs="+", default=[64, 1000])
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--pieces", type=Path)
    given = parser.parse_args()
    pieces = Pieces(given.pieces)
    for block in given.blocks:
        size = given.rows, block, given.seconds
        for _ in track(range(given.runs), f"blocks of {block}"):
            for name, way in product(NAMES, given.ways):
                limit = measure_c(CORES, given.rows, block, 1.0)
                speed = WAYS[way](SYSTEMS[name](CORES), CORES, *size)
                pieces.add(f"{block} {name} {way}", [speed / 1e9, speed / limit])
    table: list[list[object]] = []
    for case, runs in pieces.found.items():
        rows, name, way = case.split()
        table.append([int(rows), name, way, len(runs), *map(Median.of, zip(*runs, strict=True))])
    about = f"{CORES} threads, windows of {given.rows:,} rows a side; each run beside the loop in C, which only counts"
    header = ["rows a block", "system", "way", "runs", "10^9 comparisons/s", "to C"]
    report("local-comparisons", about, header, table)


if __name__ == "__main__":
    main()
