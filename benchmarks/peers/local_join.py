"""Ours, within one process."""

import os
import time

from benchmarks.papers.systems import Counter, make
from benchmarks.peers.peer import Outcome, Peer, Task


def run(task: Task) -> Outcome:
    counter = Counter()
    with make(task.load, "auto", counter, os.cpu_count()) as join:
        join.push_right(task.fill["r"])
        join.push_left(task.fill["l"])
        join.read()
        before, begun = counter.found, time.perf_counter()
        for each in task.steps:
            join.push_right(each["r"])
            join.push_left(each["l"])
        join.read()
        return Outcome(task.rows / (time.perf_counter() - begun), counter.found - before)


PEER = Peer("streamjoin, one process", "LocalJoin, the layout it chooses", run, ours=True)
