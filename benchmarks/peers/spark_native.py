"""Spark's own stream-stream join as an expert writes it: the band on x as an equality of buckets."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from benchmarks.papers.workload import ON
from benchmarks.peers.onspark import measure
from benchmarks.peers.peer import Outcome, Peer, Task

BUCKETS = "explode(array_distinct(array(floor((x - 10) / 20), floor((x + 10) / 20)))) AS bucket"
TOGETHER = 5
"""Steps a micro-batch. Not tuned, nor is the state store: `benchmarks/spark/sustained.py` seeks the best of both."""


def build(left: DataFrame, right: DataFrame, task: Task) -> DataFrame:
    """A left row goes into the one or two buckets that its band touches."""
    seconds = f"INTERVAL {task.load.windows.left:g} SECONDS"
    left = left.withWatermark("ts", "0 seconds").selectExpr("*", BUCKETS).alias("l")
    right = right.withWatermark("ts", "0 seconds").selectExpr("*", "floor(a / 20) AS bucket").alias("r")
    nearby = f"r.ts BETWEEN l.ts - {seconds} AND l.ts + {seconds}"
    joined = left.join(right, on=F.expr(f"l.bucket = r.bucket AND {ON} AND {nearby}"))
    return joined.selectExpr("l.ts", "l.x", "l.y", "l.z", "r.ts AS ts_r", "r.a", "r.b", "r.c", "r.d")


def run(task: Task) -> Outcome:
    return measure(task, build, TOGETHER)


PEER = Peer("Spark's own join", "buckets of the band as an equality, by hand; micro-batches of 5 steps", run)
