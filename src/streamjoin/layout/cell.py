"""CellJoin's partitioning of the window (sections 4.1 and 5): basic windows are the unit of placement.

The paper hands each of N workers a run of consecutive basic windows, moves the borders as windows fill and expire, and
gives every input block to all workers. Rows on Spark cannot move, so basic windows are dealt round: the row's time says
its basic window, and that its cell.

    time ->   | w0 | w1 | w2 | w3 | w4 | w5 | ...   basic windows of one side
    stored in   0    1    2    3    0    1          each row probes in all n cells

With `hashed`, an equi-join's form (section 7.2): every hash bucket of the key has basic windows of its own, and those
of bucket b begin at cell b, so that also what comes at one time is stored all over.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from streamjoin.layout.base import Hashes, Line, Part, Router, describe_lengths, mix, send_everywhere, slot_length
from streamjoin.spec.side import Side

if TYPE_CHECKING:
    from streamjoin.layout.keys import KeyHash
    from streamjoin.pane import Rows
    from streamjoin.plan import Plan

BASIC_WINDOWS = 16
"""A window has at least this many basic windows, and one more than a multiple of the number of cells n. So what comes
back after a window's length, such as a peak every hour, goes to all cells in turn; and since the deal begins one cell
further on after every n windows' lengths, so does what comes back after n of them."""

FRESH = 64
"""After so many windows' lengths the deal begins anew, at a cell that a hash names: no period falls in with it."""


@dataclass(frozen=True)
class Cell(Line):
    """n cells; a row is sent to all of them and stored where its basic window (with `hashed`: and its key) says.

    >>> print(Cell(4), Cell(4, hashed=True))
    Cell(4) Cell(4, hashed=True)
    """

    hashed: bool = False

    def router(self, plan: "Plan") -> Router:
        """To all cells, at home where the basic window says."""
        from streamjoin.layout.keys import key_hash

        buckets = key_hash(plan, "Cell(hashed=True)") if self.hashed else None
        return partial(self._route, {"l": self.basic_window(plan, "l"), "r": self.basic_window(plan, "r")}, buckets)

    def _route(
        self, lengths: dict[Side, int], buckets: "KeyHash | None", side: Side, rows: "Rows", hashes: Hashes
    ) -> Iterator[Part]:
        numbers = rows.time // lengths[side]
        windows = numbers // self._in_a_window
        start = windows // self.n + np.mod(mix(windows // FRESH), self.n)
        if buckets is not None:
            start += np.mod(buckets(side, rows, hashes), self.n)
        return send_everywhere(np.mod(numbers + start, self.n), self.n)

    @property
    def _in_a_window(self) -> int:
        return self.n * -(-BASIC_WINDOWS // self.n) + 1

    def basic_window(self, plan: "Plan", side: Side) -> int:
        """The length of a basic window in microseconds."""
        return slot_length(plan.window, side, self._in_a_window)

    def describe_routing(self, plan: "Plan") -> str:
        """Basic windows."""
        key = ", and a hash of the key" if self.hashed else ""
        return f"basic windows: {describe_lengths(self.basic_window(plan, 'l'), self.basic_window(plan, 'r'))}{key}"

    def evenness(self, plan: "Plan") -> str:
        """But for what one has and another not yet."""
        del plan
        return "but for a basic window, at times two"

    def __str__(self) -> str:
        return f"Cell({self.n}, hashed=True)" if self.hashed else f"Cell({self.n})"
