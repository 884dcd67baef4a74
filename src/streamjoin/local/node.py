"""A core of the handshake join (section 4, Figures 9 and 13): two windows, two queues, one message at a time.

                    rows of l, acknowledgements of r
         node k-1  ----------------------------------->  node k
                   <-----------------------------------
                              rows of r

    from the left   rows of l   scan the window of r, sent rows included; store them
                    ack of r    drop the copies of sent rows up to this one
    from the right  rows of r   scan the window of l; store them; acknowledge them to the right
    then            send the oldest l to the right if there are fewer there, and forget them;
                    send the oldest r to the left if there are fewer there, and keep copies until acknowledged

Rows of l and r that pass each other between two nodes miss each other on the left, where l has left, but meet on the
right, where the copy of r waits; the acknowledgement, in one queue with l, removes it before any l that met r on the
left. Acknowledgements carry the rank of the row they mean: in the paper they mean the oldest, which may be another one.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from streamjoin.match import Matcher
from streamjoin.pane import Rows, Segment
from streamjoin.spec.side import OTHER, Side
from streamjoin.worker.expiry import ranks_of

Ranks = NDArray[np.int64]
Report = Callable[[Ranks, Ranks], None]
"""Is told the ranks of left and right rows that match."""


@dataclass(frozen=True)
class Travelling:
    """Rows on their way, oldest first."""

    rows: Rows


@dataclass(frozen=True)
class Acknowledged:
    """The neighbour on the left has all right rows up to this rank."""

    rank: int


@dataclass(frozen=True)
class Expired:
    """From the driver to the far end of a stream: its rows before this rank have left the window."""

    rank: int


@dataclass(frozen=True)
class Look:
    """A neighbour has fewer rows than before: there may be some to send."""


Message: TypeAlias = "Travelling | Acknowledged | Expired | Look"
Send = Callable[["Node", Side, Message], None]
"""Puts a message into the queue that a node has on the left ("l") or on the right ("r")."""


@dataclass
class Window:
    """The rows of one side in one node, oldest first; `sent` of them are copies of rows that were sent on."""

    rows: Rows | None = None
    sent: int = 0
    segment: Segment | None = None  # prepared for scans; None after a change

    def __len__(self) -> int:
        return 0 if self.rows is None else len(self.rows) - self.sent

    def add(self, rows: Rows) -> None:
        """Newer rows."""
        self._become(rows if self.rows is None or not len(self.rows) else Rows.concat([self.rows, rows]))

    def oldest(self, count: int) -> Rows:
        """The oldest rows that were not sent."""
        assert self.rows is not None
        return self.rows.slice(self.sent, count)

    def drop(self, count: int) -> None:
        """Forget the oldest rows, copies first."""
        if count and self.rows is not None:
            self.sent = max(0, self.sent - count)
            self._become(self.rows.slice(count))

    def count_before(self, rank: int) -> int:
        """How many rows, copies included, have a rank before this one."""
        return 0 if self.rows is None else int(np.searchsorted(ranks_of(self.rows), rank))

    def _become(self, rows: Rows) -> None:
        self.rows, self.segment = rows, None


@dataclass
class Node:
    """One core of the chain."""

    number: int
    matcher: Matcher
    report: Report
    send: Send
    ahead: dict[Side, "Node | None"] = field(default_factory=lambda: {"l": None, "r": None})
    """Where the rows of each side go: left rows to the right, right rows to the left."""
    windows: dict[Side, Window] = field(default_factory=lambda: {"l": Window(), "r": Window()})
    queues: dict[Side, deque[Message]] = field(default_factory=lambda: {"l": deque(), "r": deque()})
    expired: dict[Side, int] = field(default_factory=lambda: {"l": 0, "r": 0})
    promised: dict[Side, int] = field(default_factory=lambda: {"l": 0, "r": 0})
    accepted: dict[Side, int] = field(default_factory=lambda: {"l": 0, "r": 0})
    """Rows that a neighbour has sent here, counted by the neighbour, and those that have arrived."""
    draining: bool = False
    """Whether rows are sent on as far as they go, because no others will push them."""
    comparisons: int = 0

    def step(self) -> int:
        """Process a message of each queue, then send rows on; returns how many messages there were."""
        taken = 0
        sizes = {side: len(window) for side, window in self.windows.items()}
        for side, queue in self.queues.items():
            if queue:
                self._process(side, queue.popleft())
                taken += 1
        self._forward()
        for side, other in OTHER.items():
            if (behind := self.ahead[other]) is not None and len(self.windows[side]) < sizes[side]:
                self.send(behind, other, Look())
        return taken

    def _process(self, side: Side, message: Message) -> None:
        """What came from the left ("l") or from the right ("r")."""
        match message:
            case Travelling(rows):
                self._accept(side, rows)
                if side == "r" and (right := self.ahead["l"]) is not None:
                    self.send(right, "l", Acknowledged(int(ranks_of(rows)[-1])))
            case Acknowledged(rank):
                self.windows["r"].drop(self.windows["r"].count_before(rank + 1))
            case Expired(rank):
                self._expire(OTHER[side], rank)

    def _accept(self, side: Side, rows: Rows) -> None:
        """Scan the other window, then store; at the far end what is expired already is not stored."""
        other = self.windows[OTHER[side]]
        if other.rows is not None and len(other.rows):
            if other.segment is None:
                other.segment = self.matcher.prepare(OTHER[side], Segment("window", other.rows))
            self.comparisons += len(rows) * len(other.rows)
            for pairs in self.matcher.pairs(side, rows, other.segment):
                if len(pairs.probe):
                    mine, theirs = ranks_of(rows)[pairs.probe], ranks_of(other.rows)[pairs.build]
                    self.report(*((mine, theirs) if side == "l" else (theirs, mine)))
        self.accepted[side] += len(rows)
        gone = int(np.searchsorted(ranks_of(rows), self.expired[side]))
        if gone < len(rows):
            self.windows[side].add(rows.slice(gone))

    def _expire(self, side: Side, rank: int) -> None:
        self.expired[side] = rank
        self.windows[side].drop(self.windows[side].count_before(rank))

    def _forward(self) -> None:
        """Autonomous load balancing (4.3): like water in a pipe, rows go where there are fewer."""
        for side in ("r", "l"):
            mine, ahead = self.windows[side], self.ahead[side]
            if ahead is not None and (count := self._count_surplus(side, ahead)):
                self.send(ahead, side, Travelling(mine.oldest(count)))
                ahead.promised[side] += count
                if side == "l":
                    mine.drop(count)
                else:
                    self._mark_sent(count)

    def _mark_sent(self, count: int) -> None:
        """First phase of two-phase forwarding: rows that were sent stay to be met until they are acknowledged."""
        self.windows["r"].sent += count

    def _count_surplus(self, side: Side, neighbour: "Node") -> int:
        mine = len(self.windows[side])
        theirs = len(neighbour.windows[side]) + max(0, neighbour.promised[side] - neighbour.accepted[side])
        return mine if self.draining else max(0, mine - theirs + 1) // 2
