"""Ours, on Spark."""

from pyspark.sql import DataFrame

import streamjoin as sj
from benchmarks.papers.workload import ON
from benchmarks.peers.onspark import measure
from benchmarks.peers.peer import Outcome, Peer, Task
from benchmarks.peers.spark_native import TOGETHER


def build(left: DataFrame, right: DataFrame, task: Task) -> DataFrame:
    """The same join, as a user of this project writes it."""
    return sj.join(left, right, on=ON, window=task.load.window, time="ts", delay="0 seconds")


def run(task: Task) -> Outcome:
    return measure(task, build, TOGETHER)


PEER = Peer("streamjoin on Spark", "join, the layout it chooses; micro-batches of 5 steps", run, ours=True)
