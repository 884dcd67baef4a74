"""Polars: `join_where` in a hand-written micro-batch loop."""

import polars as pl
import pyarrow as pa

from benchmarks.peers.loop import run_loop
from benchmarks.peers.peer import Outcome, Peer, Task


def run(task: Task) -> Outcome:
    lower, upper = task.load.window.lower, task.load.window.upper
    x, a, y, b, t, u = (pl.col(name) for name in ("x", "a", "y", "b", "ts", "ts_r"))

    def meet(left: pa.Table, right: pa.Table) -> int:
        l, r = pl.from_arrow(left).lazy(), pl.from_arrow(right).rename({"ts": "ts_r"}).lazy()  # type: ignore[union-attr]
        bands = (x <= a + 10, x >= a - 10, y <= b + 10, y >= b - 10)
        near = l.join_where(r, *bands, u - t >= lower, u - t <= upper)
        return int(near.collect().height)

    return run_loop(task, meet)


PEER = Peer("Polars join_where", "a micro-batch loop written by hand, windows as tables; no recovery", run)
