"""Latency of single rows: pushed one by one at their due times, windows of 300 s prefilled by blocks.

python benchmarks/local/latency.py [--seconds 60] [--rate 2500] [--runs 5] [--layout grid|handshake]
"""

import argparse
import threading
import time

import numpy as np
import pyarrow as pa

import streamjoin as sj

SECOND = 1_000_000
SCHEMAS = {
    "l": pa.schema([("ts", pa.int64()), ("x", pa.int32()), ("y", pa.float32())]),
    "r": pa.schema([("ts", pa.int64()), ("a", pa.int32()), ("b", pa.float32())]),
}
ON = "abs(l.x - r.a) <= 10 AND abs(l.y - r.b) <= 10"
"""The papers' predicate, over numbers from 1 to 10,000."""


def make(window: int, **more: object) -> sj.LocalJoin:
    arguments = {"on": ON, "window": sj.within(f"{window} seconds"), "time": "ts", "delay": "0 seconds"}
    return sj.LocalJoin(left=SCHEMAS["l"], right=SCHEMAS["r"], **arguments, **more)  # type: ignore[arg-type]


def draw(side: str, times: "np.ndarray", random: np.random.Generator) -> pa.RecordBatch:
    count = len(times)
    numbers = [times, random.integers(1, 10_001, count, np.int32), random.uniform(1, 10_000, count).astype(np.float32)]
    return pa.RecordBatch.from_arrays([pa.array(column) for column in numbers], schema=SCHEMAS[side])


def prefill(join: sj.LocalJoin, seconds: int, rate: int, random: np.random.Generator) -> None:
    for second in range(seconds):
        times = second * SECOND + np.arange(rate) * SECOND // rate
        join.push_left(draw("l", times, random))
        join.push_right(draw("r", times, random))
    join.read()


def push_singly(join: sj.LocalJoin, start: int, seconds: float, rate: int, random: np.random.Generator) -> float:
    """Push rows at their due times; the share of time in which pushing was behind by more than 10 ms."""
    count = int(seconds * rate)
    times = start + np.arange(count) * SECOND // rate
    sides = [("l", draw("l", times, random).to_pylist()), ("r", draw("r", times, random).to_pylist())]
    rows = [row for pair in zip(*(mine for _, mine in sides), strict=True) for row in pair]
    begun, behind = time.perf_counter(), 0
    for number, row in enumerate(rows):
        due = begun + (number // 2) / rate + (number % 2) * 0.5 / rate
        while (left := due - time.perf_counter()) > 0:
            if left > 0.0002:
                time.sleep(left - 0.0001)
        behind += left < -0.01
        (join.push_right if number % 2 else join.push_left)(row)
    return behind / len(rows)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rate", type=int, default=2500)
    parser.add_argument("--window", type=int, default=300)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--layout", choices=["grid", "handshake"], default="grid")
    given = parser.parse_args()
    layout = sj.Grid(1, 2) if given.layout == "grid" else sj.Handshake(2)
    for run in range(given.runs):
        random = np.random.default_rng(run)
        counted = [0]

        def count(batch: pa.RecordBatch) -> None:
            counted[0] += batch.num_rows

        with make(given.window, layout=layout, callback=count) as join:
            prefill(join, given.window, given.rate, random)
            join._latency.__init__()  # type: ignore[misc]  # what was prefilled is not measured
            behind = push_singly(join, given.window * SECOND, given.seconds, given.rate, random)
            stats = join.stats()
        print(
            f"run {run}: p50 {stats.latency_p50:.3f} ms, p99 {stats.latency_p99:.3f} ms, "
            f"max {stats.latency_max:.1f} ms, "
            f"{counted[0]:,} results in all, {stats.live_left:,} + {stats.live_right:,} rows, "
            f"{100 * behind:.2f} % of rows pushed more than 10 ms late, threads left {threading.active_count() - 1}"
        )


if __name__ == "__main__":
    main()
