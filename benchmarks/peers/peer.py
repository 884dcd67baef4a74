"""What a peer is given and gives back: the same rows, full windows, then steps that are timed."""

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from benchmarks.papers.workload import Load, count_matches
from streamjoin.spec.side import Side

Batches = dict[Side, pa.RecordBatch]


@dataclass(frozen=True)
class Task:
    """Rows of equal rates: a window that is full, then steps of `step` seconds each."""

    load: Load
    fill: Batches
    steps: list[Batches]
    step: float
    patience: float
    """Seconds after which a contestant is left out."""

    @classmethod
    def draw(cls, rate: float, window: float, step: float, steps: int, patience: float = 60) -> "Task":
        load = Load.equal(rate, window)
        fill = {side: load.draw(side, 0, 0.0, window) for side in ("l", "r")}
        later = [{side: load.draw(side, 1 + n, window + n * step, step) for side in ("l", "r")} for n in range(steps)]
        return cls(load, fill, later, step, patience)  # type: ignore[arg-type]

    @property
    def rows(self) -> int:
        """Rows of one stream in the steps."""
        return sum(each["l"].num_rows for each in self.steps)

    def gather(self, side: Side) -> pa.RecordBatch:
        """All rows of a side."""
        return _concat([self.fill[side], *(each[side] for each in self.steps)])

    def count_results(self) -> int:
        """How many results the steps have: a row of theirs is in each, on the left or, else, on the right."""
        left, right = (_concat([each[side] for each in self.steps]) for side in ("l", "r"))
        window = self.load.window
        return count_matches(left, self.gather("r"), window) + count_matches(self.fill["l"], right, window)


def _concat(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]


TOO_FEW = "too few rows to be timed beside its start"


@dataclass(frozen=True)
class Outcome:
    """Rows/s of one stream in the steps, and the results found; or why there is none."""

    rows_per_s: float = 0.0
    results: int | None = None
    skipped: str = ""
    note: str = ""


@dataclass(frozen=True)
class Peer:
    """A contestant; `ours` is one of this project."""

    name: str
    about: str
    run: Callable[[Task], Outcome]
    ours: bool = False
    counts_only: bool = False
    """It does less than a join: a limit, not a rival."""
