"""DuckDB: SQL in a hand-written micro-batch loop."""

import duckdb
import pyarrow as pa

from benchmarks.papers.workload import ON
from benchmarks.peers.loop import run_loop
from benchmarks.peers.peer import Outcome, Peer, Task


def run(task: Task) -> Outcome:
    nearby = f"r.ts - l.ts BETWEEN {task.load.window.lower} AND {task.load.window.upper}"
    connection = duckdb.connect()

    def meet(left: pa.Table, right: pa.Table) -> int:
        connection.register("l", left)
        connection.register("r", right)
        return int(connection.sql(f"SELECT * FROM l JOIN r ON {ON} AND {nearby}").to_arrow_table().num_rows)

    try:
        return run_loop(task, meet)
    finally:
        connection.close()


PEER = Peer("DuckDB", "a micro-batch loop written by hand, windows as tables; no recovery", run)
