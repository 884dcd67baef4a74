"""Throughput of blocks: rows/s per stream that each system sustains on full windows, beside Polars and DuckDB loops.

    python benchmarks/local/throughput.py [--windows 60 300 900] [--rate 2500] [--seconds 5] [--block 1000]

Windows are filled at `rate` rows/s per stream of event time; then blocks of both sides are pushed for `seconds` of wall
time as fast as they are taken. Peers join 1 s micro-batches with the window of the other side, kept as one table.
"""

import argparse
import time
from collections.abc import Callable

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
from latency import ON, SECOND, draw, make

import streamjoin as sj

SYSTEMS = {
    "Grid": lambda n: sj.Grid(1, n),
    "Scale": sj.Scale,
    "Cell": sj.Cell,
    "Keyed": sj.Keyed,
    "Handshake": sj.Handshake,
}


def run_system(layout: object, workers: int, window: int, rate: int, seconds: float, block: int) -> tuple[float, int]:
    random, found = np.random.default_rng(0), [0]

    def count(batch: pa.RecordBatch) -> None:
        found[0] += batch.num_rows

    with make(window, layout=layout, workers=workers, callback=count) as join:
        at = 0
        for step in (rate * 4,) * (window // 4):  # fill the window
            at = push(join, at, step, rate, random)
        join.read()
        filled, begun, rows = found[0], time.perf_counter(), 0
        while time.perf_counter() - begun < seconds:
            at = push(join, at, block, rate, random)
            rows += block
        join.read()
        return rows / (time.perf_counter() - begun), found[0] - filled


def push(join: sj.LocalJoin, at: int, count: int, rate: int, random: np.random.Generator) -> int:
    times = (at + np.arange(count)) * SECOND // rate
    join.push_left(draw("l", times, random))
    join.push_right(draw("r", times, random))
    return at + count


def run_peer(meet: Callable[[pa.Table, pa.Table], int], window: int, rate: int, seconds: float) -> tuple[float, int]:
    """1 s micro-batches: fresh left with all right, fresh right with the older left; the window is cut by time."""
    random, found = np.random.default_rng(0), 0
    times = np.arange(window * rate) * SECOND // rate
    left, right = (pa.Table.from_batches([draw(side, times, random)]) for side in ("l", "r"))
    at, begun, rows = window * rate, time.perf_counter(), 0
    while time.perf_counter() - begun < seconds:
        times = (at + np.arange(rate)) * SECOND // rate
        fresh_left, fresh_right = (pa.Table.from_batches([draw(side, times, random)]) for side in ("l", "r"))
        right = pa.concat_tables([right.slice(rate), fresh_right]).combine_chunks()
        found += meet(fresh_left, right) + meet(left, fresh_right)
        left = pa.concat_tables([left.slice(rate), fresh_left]).combine_chunks()
        at, rows = at + rate, rows + rate
    return rows / (time.perf_counter() - begun), found


def meet_polars(left: pa.Table, right: pa.Table) -> int:
    l, r = pl.from_arrow(left), pl.from_arrow(right)
    x, a, y, b = pl.col("x"), pl.col("a"), pl.col("y"), pl.col("b")
    return l.lazy().join_where(  # type: ignore[union-attr]
        r.lazy(), x <= a + 10, x >= a - 10, y <= b + 10, y >= b - 10, suffix="_r"  # type: ignore[union-attr]
    ).select(pl.len()).collect().item()  # fmt: skip


def meet_duckdb(left: pa.Table, right: pa.Table) -> int:
    connection = duckdb.connect()
    connection.register("l", left)
    connection.register("r", right)
    found: int = connection.sql(f"SELECT count(*) FROM l JOIN r ON {ON}").fetchall()[0][0]
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--windows", type=int, nargs="+", default=[60, 300, 900])
    parser.add_argument("--rate", type=int, default=2500)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--block", type=int, default=1000)
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS))
    given = parser.parse_args()
    print("window s | system | workers | rows/s per stream | results")
    for window in given.windows:
        for name in given.systems:
            for workers in (1, 2):
                layout = SYSTEMS[name](workers)
                rate, found = run_system(layout, workers, window, given.rate, given.seconds, given.block)
                print(f"{window} | {name} | {workers} | {rate:,.0f} | {found:,}", flush=True)
        for peer, meet in (("Polars", meet_polars), ("DuckDB", meet_duckdb)):
            rate, found = run_peer(meet, window, given.rate, given.seconds)
            print(f"{window} | {peer} | 2 | {rate:,.0f} | {found:,}", flush=True)


if __name__ == "__main__":
    main()
