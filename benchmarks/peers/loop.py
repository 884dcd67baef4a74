"""A micro-batch loop written by hand: fresh left rows with all right ones, fresh right with older left ones."""

import time
from collections.abc import Callable

import pyarrow as pa

from benchmarks.peers.peer import Outcome, Task


def run_loop(task: Task, meet: Callable[[pa.Table, pa.Table], int]) -> Outcome:
    """Time the steps; windows are tables that are cut by time, and `meet` counts the results of two tables."""
    left, right = (pa.Table.from_batches([task.fill[side]]) for side in ("l", "r"))
    found, begun = 0, time.perf_counter()
    for each in task.steps:
        fresh_left, fresh_right = (pa.Table.from_batches([each[side]]) for side in ("l", "r"))
        right = pa.concat_tables([right, fresh_right]).combine_chunks()
        found += meet(fresh_left, right) + meet(left, fresh_right)
        left = pa.concat_tables([left, fresh_left]).combine_chunks()
        oldest = each["l"].column("ts")[-1].as_py() - task.load.window.upper
        left, right = (side.filter(pa.compute.greater_equal(side["ts"], oldest)) for side in (left, right))
    return Outcome(task.rows / (time.perf_counter() - begun), found)
