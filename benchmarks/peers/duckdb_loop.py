"""DuckDB: SQL in a hand-written micro-batch loop, with the bucket trick."""

import duckdb
import pyarrow as pa

from benchmarks.papers.workload import ON
from benchmarks.peers.loop import run_loop
from benchmarks.peers.peer import Outcome, Peer, Task

JOIN = """
SELECT * EXCLUDE bucket FROM (SELECT *, unnest(list_distinct([(x - 10) // 20, (x + 10) // 20])) AS bucket FROM l) l
JOIN (SELECT *, a // 20 AS bucket FROM r) r ON l.bucket = r.bucket AND
"""


def run(task: Task) -> Outcome:
    nearby = f"r.ts - l.ts BETWEEN {task.load.window.lower} AND {task.load.window.upper}"
    connection = duckdb.connect()

    def meet(left: pa.Table, right: pa.Table) -> int:
        connection.register("l", left)
        connection.register("r", right)
        return int(connection.sql(f"{JOIN} {ON} AND {nearby}").to_arrow_table().num_rows)

    try:
        return run_loop(task, meet)
    finally:
        connection.close()


PEER = Peer(
    "DuckDB",
    "buckets of the band as an equality, in a micro-batch loop written by hand, windows as tables; no recovery",
    run,
)
