"""What a worker counts."""

from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import TypeVar

_T = TypeVar("_T")


@dataclass
class Counters:
    """What happened in one batch.

    Rows, and late rows among them, are counted where their first copy is. `comparisons` is the work as the papers count
    it: every probing row times the live opposite window. `examined` is what was compared to get there. `matches` are
    the pairs found.
    """

    rows_left: int = 0
    rows_right: int = 0
    late_left: int = 0
    late_right: int = 0
    comparisons: int = 0
    examined: int = 0
    matches: int = 0
    probe_seconds: float = 0.0

    def time_probe(self, results: Iterator[_T]) -> Iterator[_T]:
        """Hand on what probing yields, counting the seconds that it takes itself, without its caller's."""
        while True:
            start = perf_counter()
            result = next(results, None)
            self.probe_seconds += perf_counter() - start
            if result is None:
                return
            yield result


@dataclass(frozen=True)
class Size:
    """What a worker holds: live rows, rows that wait until they are ready, bytes of all.

    `held` counts the waiting rows whose first copy is here. `undecided` rows are unmatched so far, and will be emitted
    if they stay so.
    """

    live_left: int
    live_right: int
    waiting_left: int
    waiting_right: int
    held: int
    undecided_left: int
    undecided_right: int
    segments: int
    bytes: int
