"""Ranks: under count windows rows that are ready come in order, each numbered within its stream.

A row's *rank* is its place in its own stream. A worker that is not sent all rows is sent a *tally* of them, time and
tie of each: enough to know the ranks of its own rows, how many rows of the other stream come before each, and when a
row is pushed out of its window by one that went elsewhere.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from streamjoin.kernel.sort import argsort_keys, find_places
from streamjoin.pane import Rows
from streamjoin.pane.order import argsort_rows
from streamjoin.plan import Block
from streamjoin.spec.side import SIDES, Side
from streamjoin.spec.window import Both, Last, Window
from streamjoin.worker.expiry import ENDED, NO_EVICTORS, Evictors
from streamjoin.worker.store import Store

Ranks = NDArray[np.int64]
Times = NDArray[np.int64]
RankRanges = tuple[Ranks, Ranks]
"""For each row of one side the first and the last rank of the other that is in its window."""

STEP = 1 << 13
"""About so many rows go through the three steps at once, or as many as the window keeps."""
_MANY = 2**62
_NO_TIMES: Times = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Ready:
    """The rows of one side that a round takes up; under a count window in order, with ranks.

    `evictors` are then the times of all rows of their stream that are counted with them.
    """

    block: Block | None
    evictors: Evictors = NO_EVICTORS

    def cut(self, start: int, stop: int) -> "Ready":
        """The rows from one place in their stream to before another."""
        block, evictors = self.block, self.evictors
        if block is not None:
            assert block.rows.rank is not None
            first, last = np.searchsorted(block.rows.rank, [evictors.first + start, evictors.first + stop]).tolist()
            block = block.slice(first, last) if first < last else None
        return Ready(block, Evictors(evictors.time[start:stop], evictors.first + start))


Arrived = Mapping[Side, Ready]


def number(ready: Block | None, tally: Rows | None, ranked: int) -> Ready:
    """Put the ready rows of one side in order and give them the ranks from `ranked` on.

    Without a tally these are all the rows of their stream.
    """
    block = None if ready is None else ready.take(argsort_rows(ready.rows))
    if tally is None:
        times = _NO_TIMES if block is None else block.time
        ranks = ranked + np.arange(len(times))
    else:
        keys = _stack(tally)
        keys = keys[:, argsort_keys(keys)]
        times = keys[0]
        ranks = _NO_TIMES if block is None else ranked + find_places(_stack(block.rows), keys)
    if block is not None:
        block = replace(block, rows=block.rows.with_ranks(ranks))
    return Ready(block, Evictors(times, ranked))


def _stack(rows: Rows) -> NDArray[np.int64]:
    assert rows.route is not None
    return np.stack([rows.time, rows.route])


def split_rounds(window: Window, stores: Mapping[Side, Store], watermark: int) -> Iterator[tuple[int, Arrived]]:
    """The rows that are ready, in order; a few thousand at a time, so that a small window stays small.

    Each comes with the time up to which everything is then there: a watermark of its own.
    """
    ready = {side: number(*stores[side].release(watermark), stores[side].ranked) for side in SIDES}
    step = max(STEP, *(count_kept(window, side) for side in SIDES))
    merged = np.sort(np.concatenate([each.evictors.time for each in ready.values()]))
    cuts = np.unique(merged[step::step]) if step < _MANY else _NO_TIMES
    starts = dict.fromkeys(SIDES, 0)
    for until in (*map(int, cuts), watermark):
        stops = {side: _count_before(ready[side].evictors.time, until) for side in SIDES}
        yield until, {side: ready[side].cut(starts[side], stops[side]) for side in SIDES}
        starts = stops


def _count_before(times: Times, until: int) -> int:
    """How many of the times, which are in order, lie before one; NumPy would compare beyond int64 as floats."""
    return len(times) if until == ENDED else int(np.searchsorted(times, until))


def count_kept(window: Window, side: Side) -> int:
    """How many rows of a side a count window keeps."""
    count = window.count if isinstance(window, Both) else window
    assert isinstance(count, Last)
    return min(count.kept(side), _MANY)


def find_rank_ranges(side: Side, time: Times, others: Evictors, kept: int) -> RankRanges:
    """Which ranks of the other side are in the windows of these rows.

    `others` are the rows of the other side that come with them. A left row comes before the right rows of its time: it
    probes those of lesser time, a right row also those of the same.
    """
    came = others.first + np.searchsorted(others.time, time, side="left" if side == "l" else "right")
    return came - kept, came - 1
