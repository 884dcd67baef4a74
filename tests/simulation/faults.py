"""What can go wrong, by name, and what of it was hit.

A fault is planned for a micro-batch of a join; its `salt` says where exactly. It counts as hit when it had an effect:
an attempt died before it was committed, a file that state names was damaged, a zombie changed files.
"""

from collections import Counter
from dataclasses import dataclass
from random import Random

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


class Hits:
    """How often each kind was hit, by layout and `how`."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str, str]] = Counter()
        self.batches: list[int] = []
        """How many micro-batches each history ran, replays aside."""

    def add(self, kind: str, layout: str, how: str) -> None:
        self.counts[kind, layout, how] += 1

    def missing(self, places: set[tuple[str, str]]) -> list[tuple[str, str, str]]:
        """What was never hit, of all kinds in all of these layouts and hows."""
        return [
            (kind, layout, how)
            for kind in KINDS
            for layout, how in sorted(places)
            if not self.counts[kind, layout, how] and not (kind == "settle dies" and not settles(layout, how))
        ]

    def table(self) -> str:
        """Kinds down, layouts and hows across."""
        places = sorted({(layout, how) for _, layout, how in self.counts})
        kinds = [kind for kind in (*KINDS, *EVENTS) if any(key[0] == kind for key in self.counts)]
        layouts = sorted({layout for layout, _ in places})
        lines = []
        for layout in layouts:
            hows = [how for each, how in places if each == layout]
            lines += ["", f"{layout:<28}" + "".join(f"{how:>11}" for how in hows)]
            for kind in kinds:
                lines.append(f"  {kind:<26}" + "".join(f"{self.counts[kind, layout, how]:>11}" for how in hows))
        return "\n".join(lines[1:])


def settles(layout: str, how: str) -> bool:
    """Whether several cells decide together in some layout of this kind."""
    return layout.startswith("Grid") and how not in ("inner", "left_semi")
