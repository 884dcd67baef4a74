"""What a layout is.

A layout says which workers (cells) a row goes to, and what it does there: probe, be stored, or both. Its law: for every
pair (l, r) there is exactly one cell where l probes and r is stored, and exactly one where r probes and l is stored.
Routing is a pure function of the row's content, so that a task that is tried again routes as it did the first time.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamjoin.predicate.expr import Side

Hashes = NDArray[np.int64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Copy:
    """A cell that rows are sent to, and what they do there; one of a row's copies is `first`: that counts the row."""

    cell: int
    probes: bool = True
    stores: bool = True
    first: bool = False


@dataclass(frozen=True)
class Part:
    """Rows that go the same way: their positions, in order, and where to."""

    rows: Indices
    copies: tuple[Copy, ...]


class Layout(ABC):
    """Which cells the rows of each side go to."""

    @property
    @abstractmethod
    def cells(self) -> int:
        """How many cells there are, numbered from 0."""

    @abstractmethod
    def parts(self, side: Side, hashes: Hashes) -> Iterator[Part]:
        """The rows of a block by where they go, given a hash of each row's content."""


def split(groups: NDArray[np.int64], count: int) -> Iterator[tuple[int, Indices]]:
    """The positions of each group's members, in order; groups without members are left out.

    >>> [(group, rows.tolist()) for group, rows in split(np.array([1, 0, 1]), 3)]
    [(0, [1]), (1, [0, 2])]
    """
    order = np.argsort(groups, kind="stable")
    ends = np.cumsum(np.bincount(groups, minlength=count))
    for group, (start, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
        if end > start:
            yield group, order[start:end]
