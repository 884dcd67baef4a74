"""What a worker counts."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from time import perf_counter
from typing import Any, TypeVar

_T = TypeVar("_T")


@dataclass
class Counters:
    """What happened, in one call or in all of them; seconds are a worker's own, without those of who takes results.

    `decided` is the work as the papers count it: every probing row times the live opposite window. `examined` is what
    was compared to get there. `matches` are the pairs found, `results` the rows that came out.
    """

    rows_left: int = 0
    rows_right: int = 0
    late_left: int = 0
    late_right: int = 0
    invalid: int = 0
    decided: int = 0
    examined: int = 0
    matches: int = 0
    results: int = 0
    admit_seconds: float = 0.0
    probe_seconds: float = 0.0
    store_seconds: float = 0.0
    expire_seconds: float = 0.0

    def add(self, other: "Counters") -> None:
        """Add another's counts to these."""
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))

    def counts(self) -> dict[str, Any]:
        """All but the seconds: what is the same on every run."""
        return {f.name: getattr(self, f.name) for f in fields(self) if not f.name.endswith("seconds")}

    @contextmanager
    def clock(self, step: str) -> Iterator[None]:
        """Count the time that a step takes."""
        start = perf_counter()
        yield
        name = f"{step}_seconds"
        setattr(self, name, getattr(self, name) + perf_counter() - start)

    def timed(self, step: str, blocks: Iterator[_T]) -> Iterator[_T]:
        """Hand on what a step yields, counting only the time that the step itself takes."""
        while True:
            with self.clock(step):
                block = next(blocks, None)
            if block is None:
                return
            yield block


@dataclass(frozen=True)
class Size:
    """What a worker holds: rows that can still meet somebody, rows that wait to be ordered, all their bytes.

    `undecided` rows have met nobody so far, and will be let out if they never do.
    """

    live_left: int
    live_right: int
    waiting_left: int
    waiting_right: int
    undecided_left: int
    undecided_right: int
    segments: int
    bytes: int
