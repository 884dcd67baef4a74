"""Memory growth of `Grid(2, 2)` beside the join on one cell: segments are stored once and shared.

    python benchmarks/local/memory.py [--rows 10000000]

Each join is a process of its own. The growth is that of its resident set while windows of so many rows a side fill.
"""

import argparse
import subprocess
import sys
from pathlib import Path

import numpy as np
import psutil

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.bench import report
from benchmarks.papers.systems import Counter, make
from benchmarks.papers.workload import SECOND, Load, draw
from streamjoin import Grid

BLOCK = 50_000
RATE = 10_000


def fill(layout: Grid, rows: int) -> int:
    """Bytes that a join grows by while its windows fill."""
    random, me = np.random.default_rng(0), psutil.Process()
    with make(Load.equal(RATE, 10 * rows // RATE), layout, Counter()) as join:
        begun = me.memory_info().rss
        for at in range(0, rows, BLOCK):
            times = (at + np.arange(BLOCK)) * SECOND // RATE
            join.push_left(draw("l", times, random))
            join.push_right(draw("r", times, random))
        join.read()
        assert join.stats().live_left >= rows
        return me.memory_info().rss - begun


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--grid", type=int, nargs=2)
    given = parser.parse_args()
    if given.grid:
        print(fill(Grid(*given.grid), given.rows))
        return
    grown = {}
    for m, n in ((1, 1), (2, 2)):
        command = [sys.executable, __file__, "--rows", str(given.rows), "--grid", str(m), str(n)]
        grown[f"Grid({m}, {n})"] = int(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    base = grown["Grid(1, 1)"]
    table = [[name, size / 1e6, size / given.rows / 2, size / base] for name, size in grown.items()]
    head = ["layout", "MB grown", "bytes a row", "x one cell"]
    report("local-memory", f"Resident memory of windows of {given.rows:,} rows a side", head, table)


if __name__ == "__main__":
    main()
