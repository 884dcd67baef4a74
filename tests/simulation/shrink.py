"""The smallest history that still fails: faults, joins, batches and rows are taken away while it does."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.simulation.history import Arriving, History
from tests.simulation.run import Failure

Run = Callable[[History], Failure | None]


def shrink(failure: Failure, run: Run, seconds: float = 60) -> Failure:
    """A failure that is smaller, if there is one, found within so many seconds."""
    until = time.monotonic() + seconds
    found = True
    while found and time.monotonic() < until:
        found = False
        for smaller in _smaller(failure.history):
            if time.monotonic() > until:
                break
            again = run(smaller)
            if again is not None:
                failure, found = again, True
                break
    return failure


def _smaller(history: History) -> Iterator[History]:
    """Histories with something less, the largest steps first."""
    if len(history.joins) == 2:
        yield replace(
            history,
            joins=history.joins[:1],
            delays={stream: delay for stream, delay in history.delays.items() if stream != "t"},
            faults=tuple(fault for fault in history.faults if fault.join == 0),
            batches=tuple(
                Arriving(b.number, {stream: rows for stream, rows in b.rows.items() if stream != "t"})
                for b in history.batches
            ),
        )
    if len(history.faults) > 1:
        yield replace(history, faults=())
    for at in range(len(history.faults)):
        yield replace(history, faults=history.faults[:at] + history.faults[at + 1 :])
    for at in range(len(history.batches)):
        yield replace(history, batches=history.batches[:at] + history.batches[at + 1 :])
    if history.partitions > 1:
        yield replace(history, partitions=1)
    if history.most_bytes is not None:
        yield replace(history, most_bytes=None)
    for batch in history.batches:
        for stream, rows in batch.rows.items():
            size = len(rows)
            while size:
                for start in range(0, len(rows), size):
                    rest = {**batch.rows, stream: rows[:start] + rows[start + size :]}
                    yield replace(
                        history,
                        batches=tuple(
                            Arriving(b.number, rest) if b.number == batch.number else b for b in history.batches
                        ),
                    )
                size //= 2
