"""Comparisons/s of the papers' systems with the nested loop, beside plain C on the same number of cores.

    python benchmarks/local/comparisons.py [--window 200000] [--block 64 1000] [--seconds 3] [--rounds 3]

Windows hold `window` rows a side. The loop in C (`-march=native`) only counts: a core has its part of the window.
"""

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from latency import SECOND, draw, make

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.bench import Median, report
from benchmarks.micro.nested_loop import compiled
from streamjoin import Cell, Grid, Scale
from streamjoin.local.pool import Pool
from streamjoin.local.systems import build_engine

SYSTEMS = {"Grid": lambda n: Grid(1, n), "Scale": Scale, "Cell": Cell}
FILLED_IN = 60


def run_system(system: str, workers: int, window: int, block: int, seconds: float) -> float:
    """Comparisons/s of wall time on full windows."""
    rate, random = window // FILLED_IN, np.random.default_rng(0)
    with make(FILLED_IN, layout=SYSTEMS[system](workers)) as join:
        plan = replace(join._asked.plan, kernel="nested")
        pool = Pool(workers)
        engine = build_engine(join.layout, plan, pool)
        at = 0

        def push(count: int) -> None:
            nonlocal at
            times = (at + np.arange(count)) * SECOND // rate
            rows = {side: join._intakes[side].read(draw(side, times, random)).rows for side in ("l", "r")}
            engine.run(rows, int(times[0]))
            at += count

        while at < window + 10 * block:
            push(window // 20 if at < window else block)
        before, begun = engine.counted.comparisons, time.perf_counter()
        while time.perf_counter() - begun < seconds:
            push(block)
        found = (engine.counted.comparisons - before) / (time.perf_counter() - begun)
        engine.close()
        pool.close()
    return found


def run_c(workers: int, window: int, block: int, seconds: float) -> float:
    """The same of the loop in C, each core with its part of the window."""
    count, random = compiled([]), np.random.default_rng(0)
    rows = draw("r", np.zeros(window, np.int64), random)
    a, b = (rows.column(at).to_numpy() for at in (1, 2))
    parts = [(np.ascontiguousarray(a[n::workers]), np.ascontiguousarray(b[n::workers])) for n in range(workers)]
    probe = draw("l", np.zeros(block, np.int64), random)
    x, y = (probe.column(at).to_numpy() for at in (1, 2))
    with ThreadPoolExecutor(workers) as pool:
        done, begun = 0, time.perf_counter()
        while time.perf_counter() - begun < seconds:
            list(pool.map(lambda part: count(x, y, *part), parts))
            done += block * window
        return done / (time.perf_counter() - begun)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--window", type=int, default=200_000)
    parser.add_argument("--block", type=int, nargs="+", default=[64, 1000])
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    table = []
    for block in given.block:
        for workers in (1, 2):
            runs = {"C": run_c} | {name: partial(run_system, name) for name in SYSTEMS}
            found: dict[str, list[float]] = {name: [] for name in runs}
            for _ in range(given.rounds):
                for name, run in runs.items():
                    found[name].append(run(workers, given.window, block, given.seconds))
            limit = Median.of(found["C"])
            for name, each in found.items():
                table.append([block, workers, name, Median.of(each) / 1e9, Median.of(each) / limit])
    head = ["rows a block", "cores", "system", "10^9 comparisons/s", "of C"]
    report("local-comparisons", f"Comparisons/s, windows of {given.window:,} rows a side", head, table)


if __name__ == "__main__":
    main()
