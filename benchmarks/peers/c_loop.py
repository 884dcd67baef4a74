"""Plain C, the limit of a nested loop: counts pairs of values, on all cores, and does nothing else."""

import os
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from benchmarks.micro.nested_loop import compiled
from benchmarks.peers.peer import Outcome, Peer, Task


def run(task: Task) -> Outcome:
    count, cores = compiled([]), os.cpu_count() or 1
    names = {"l": ("x", "y"), "r": ("a", "b")}
    held = {side: [task.fill[side].column(name).to_numpy() for name in names[side]] for side in names}
    parts = {
        side: [[np.ascontiguousarray(column[n::cores]) for column in columns] for n in range(cores)]
        for side, columns in held.items()
    }
    begun = time.perf_counter()
    with ThreadPoolExecutor(cores) as pool:
        for each in task.steps:
            for side, other in (("l", "r"), ("r", "l")):
                fresh = [each[side].column(name).to_numpy() for name in names[side]]
                list(pool.map(lambda part: count(*fresh, *part), parts[other]))
    return Outcome(task.rows / (time.perf_counter() - begun), None)


PEER = Peer("plain C", "a nested loop over the columns of full windows that only counts", run, counts_only=True)
