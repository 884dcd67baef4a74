"""Simulated processes: what the product's modules remember belongs to one of them, and dies with it."""

import os
import pickle
import types
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from streamjoin.flow.cache import budget, directory, segments
from streamjoin.flow.job import Job

MEMORY: tuple[tuple[types.ModuleType, str], ...] = (
    (segments, "_verified"),
    (segments, "_warned"),
    (directory, "_locks"),
    (budget, "_sizes"),
)
"""All that modules of `flow` and below remember of a join, or of files; a test looks for more.

`OF_A_PLAN` are caches that go by the plan as an object, which each process here has of its own, and `CODE` what was
compiled, which depends on the condition alone, and Arrow's schemas by their bytes.
"""


OF_A_PLAN = {("streamjoin.worker.worker", "_analyze")}
CODE = {("streamjoin.worker.fold", "_compile"), ("streamjoin.pane.stream", "_read_schema")}


class Process:
    """A Python worker of Spark's: an empty memory at first, and jobs as they arrived by pickle."""

    current: "Process | None" = None

    def __init__(self) -> None:
        self._memory: list[dict[Any, Any]] = [{} for _ in MEMORY]
        self._jobs: dict[bytes, Job] = {}

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run what follows in this process."""
        before = Process.current
        self._enter()
        try:
            yield
        finally:
            if before is not None:
                before._enter()

    def _enter(self) -> None:
        Process.current = self
        for (module, name), memory in zip(MEMORY, self._memory, strict=True):
            setattr(module, name, memory)

    def unpack(self, packed: bytes) -> Job:
        """The job that arrived; kept as `spark.job.unpack_job` keeps it."""
        if packed not in self._jobs:
            self._jobs[packed] = pickle.loads(packed)
        return self._jobs[packed]

    def die(self) -> None:
        """Forget everything; the system closes the files."""
        locks: dict[Path, int] = self._memory[2]
        for file in locks.values():
            os.close(file)
        self._memory = [{} for _ in MEMORY]
        self._jobs.clear()
