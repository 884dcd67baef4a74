"""Run histories: one, or one after the other for as long as asked."""

import gc
import logging
import math
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import pyarrow as pa

from tests.simulation.check import check_results, check_state
from tests.simulation.faults import RESTARTS, Hits
from tests.simulation.history import History, make_history
from tests.simulation.reach import Branch, traced
from tests.simulation.runtime import Runtime

_MEMORY = Path("/dev/shm")
_TRACED = 20
"""Of so many histories one is traced, where branches are asked for."""


@dataclass(frozen=True)
class Failure:
    """A history that went wrong, and how."""

    history: History
    error: Exception

    def __str__(self) -> str:
        return f"{self.history}\n{type(self.error).__name__}: {self.error}"


@contextmanager
def workspace() -> Iterator[Path]:
    """A directory for caches, in memory if the system has such; nothing is logged, and rubbish waits its time."""
    parent = _MEMORY if _MEMORY.is_dir() else None
    pa.set_cpu_count(1)
    logging.getLogger("streamjoin").setLevel(logging.CRITICAL)
    gc.disable()
    try:
        with tempfile.TemporaryDirectory(prefix="sj", dir=parent) as directory:
            yield Path(directory)
    finally:
        gc.enable()
        logging.getLogger("streamjoin").setLevel(logging.NOTSET)


def run_history(history: History, root: Path, hits: Hits | None = None) -> Failure | None:
    """Run a history and check what came out."""
    for left in root.iterdir():
        shutil.rmtree(left)
    runtime = Runtime(history, root, hits or Hits())
    try:
        with runtime.patched():
            runtime.run()
            check_results(runtime)
            check_state(runtime)
        runtime.hits.batches.append(len(runtime.log))
    except Exception as error:  # noqa: BLE001 - whatever goes wrong is a finding
        return Failure(history, error)
    return None


@dataclass
class Tally:
    """What many histories had."""

    hits: Hits = field(default_factory=Hits)
    rows: list[int] = field(default_factory=list)
    restarts: list[int] = field(default_factory=list)
    faults: list[int] = field(default_factory=list)
    seconds: float = 0.0
    """Of one core."""

    def add(self, history: History) -> None:
        restarts = sum(fault.kind in RESTARTS for fault in history.faults)
        self.rows.append(history.rows)
        self.restarts.append(restarts)
        self.faults.append(len(history.faults) - restarts)

    @property
    def count(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        if not self.count:
            return "no histories"
        rate = self.count / max(self.seconds, 1e-9) * 60
        had = {"batches": self.hits.batches, "rows": self.rows, "restarts": self.restarts, "faults": self.faults}
        medians = ", ".join(f"{name} {median(values):g}" for name, values in had.items() if values)
        return f"{self.count} histories, {rate:.0f} a minute of one core; medians: {medians}"


def run_seeds(
    seeds: Iterator[int],
    tally: Tally,
    root: Path,
    until: float = math.inf,
    taken: set[Branch] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Failure | None:
    """Run seeds until a time of the clock, or the first failure; some add to the branches that were taken."""
    start, before = time.process_time(), tally.seconds
    for seed in seeds:
        if clock() > until:
            break
        history = make_history(seed)
        with nullcontext() if taken is None or tally.count % _TRACED else traced(taken):
            failure = run_history(history, root, tally.hits)
        tally.add(history)
        tally.seconds = before + time.process_time() - start
        if failure is not None:
            return failure
        if tally.count % 50 == 0:
            gc.collect()
            gc.freeze()  # what is left is code and tables: not to be looked at again
    return None
