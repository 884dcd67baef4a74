"""What can go wrong, by name, and what of it was hit.

A fault is planned for a micro-batch of a join; its `salt` says where exactly. It counts as hit when it had an effect:
an attempt died before it was committed, a file that state names was damaged, a zombie changed files.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

from tests.simulation.joins import Join

RESTARTS = (
    "restart",
    "crash before cells",
    "crash, some state committed",
    "crash, state committed",
    "crash, sink committed",
)
"""The first goes on after the last commit, the others replay a batch from the log."""

DAMAGES = ("file lost", "file truncated", "file exchanged", "file flipped", "directory lost")
KINDS = (
    *RESTARTS,
    "emit dies",
    "emit runs twice",
    "cell dies",
    "cell killed in a write",
    "settle dies",
    "zombie",
    "disk full",
    "file touched in use",
    "cells move",
    "another host",
    *DAMAGES,
)
EVENTS = ("timer", "late row", "kept row", "row without a time", "empty batch", "chain", "disk full in settling")
"""No faults, but counted with them: what else histories must have had."""


@dataclass(frozen=True)
class Fault:
    """A fault of one kind in one micro-batch."""

    kind: str
    batch: int
    join: int
    salt: int

    def draw(self) -> Random:
        return Random(self.salt)

    def __str__(self) -> str:
        return f"{self.kind} (join {self.join}, salt {self.salt})"


_TOLD = 5

Place = tuple[str, str]
"""A layout and a `how`, or a window and a condition, each by its class."""


class Hits:
    """How often each kind was hit, by layout and `how`, and by the classes of window and condition."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str, str]] = Counter()
        self.conditions: Counter[tuple[str, str, str]] = Counter()
        self.batches: list[int] = []
        """How many micro-batches each history ran, replays aside."""

    def add(self, kind: str, join: Join) -> None:
        self.counts[kind, join.layout_kind, join.how] += 1
        self.conditions[kind, join.window_kind, join.condition_kind] += 1

    def table(self) -> str:
        """Kinds down, hows across for each layout, conditions across for each window."""
        return "\n".join([*_to_lines(self.counts), "", *_to_lines(self.conditions)])


def list_missing(counts: Counter[tuple[str, str, str]], places: Iterable[Place]) -> list[str]:
    """A line for each kind that was not hit in all of these places: where not, a few of them where they are many."""
    lines = []
    for kind in KINDS:
        missing = [" x ".join(place) for place in sorted(places) if not counts[kind, *place]]
        if missing:
            more = f" and {len(missing) - _TOLD} more" if len(missing) > _TOLD else ""
            lines.append(f"  {kind}: {', '.join(missing[:_TOLD])}{more}")
    return lines


def _to_lines(counts: Counter[tuple[str, str, str]]) -> list[str]:
    kinds = [kind for kind in (*KINDS, *EVENTS) if any(key[0] == kind for key in counts)]
    lines = []
    for row in sorted({place for _, place, _ in counts}):
        across = sorted({place for _, each, place in counts if each == row})
        lines += ["", f"{row:<28}" + "".join(f"{place:>11}" for place in across)]
        for kind in kinds:
            lines.append(f"  {kind:<26}" + "".join(f"{counts[kind, row, place]:>11}" for place in across))
    return lines[1:]
