"""What every system in this process is to its join: rows in under a watermark, results out, state that can be kept."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from itertools import zip_longest
from typing import Any, TypeAlias

import pyarrow as pa

from streamjoin.errors import StreamJoinError
from streamjoin.pane import Rows
from streamjoin.spec.side import Side
from streamjoin.worker import Counters, Size
from streamjoin.worker.expiry import ENDED
from streamjoin.worker.store import Fetch

State: TypeAlias = tuple[dict[str, Any], dict[str, bytes]]
"""Plain data that JSON can say, and bytes under names."""

MOST_ROWS = 1 << 16

FEW = 64
"""Rows that are not worth waking a thread for."""


class Engine(ABC):
    """Joins admitted rows; one step at a time, from whichever thread."""

    most_rows = MOST_ROWS
    """Steps that wait are run together up to so many rows."""

    def __init__(self) -> None:
        self.counted = Counters()
        self.loads: list[int] = []
        """The comparisons of each worker so far, where workers count by themselves."""

    @abstractmethod
    def run(self, rows: Mapping[Side, Rows], watermark: int | None) -> list[pa.RecordBatch]:
        """Join admitted rows with what is stored and with each other, then expire what the watermark has passed."""

    def finish(self) -> list[pa.RecordBatch]:
        """The input has ended: decide every row that waits."""
        return self.run({}, ENDED)

    @property
    @abstractmethod
    def size(self) -> Size:
        """What is stored now."""

    @abstractmethod
    def to_state(self) -> State:
        """What goes on exactly from here."""

    @abstractmethod
    def from_state(self, told: Mapping[str, Any], fetch: Fetch) -> None:
        """Become the engine that the state was taken of."""

    def resize(self, layout: Any, n: int) -> Any:
        """Go on with n workers; returns the layout that it is then."""
        del n
        raise StreamJoinError(f"resize: {layout} has a fixed number of cells; Cell and Scale can be resized")

    def close(self) -> None:  # noqa: B027  most have none
        """End the threads that are the engine's own."""

    def count(self, counted: Sequence[Counters]) -> None:
        """Add up what each worker counted."""
        each = (worker.comparisons for worker in counted)
        self.loads = [sum(load) for load in zip_longest(self.loads, each, fillvalue=0)]
        self.counted = Counters(*map(sum, zip(*map(astuple, (self.counted, *counted)), strict=True)))


def add_sizes(sizes: Sequence[Size]) -> Size:
    """What several workers hold together."""
    return Size(*map(sum, zip(*map(astuple, sizes), strict=True)))
