"""Count windows: rows wait until the watermark has passed them, then come in order, each with the ranks it probes."""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from streamjoin.plan import Block
from streamjoin.spec.side import SIDES, Side
from streamjoin.spec.window import Both, Last, Window
from streamjoin.worker.expiry import ENDED
from streamjoin.worker.store import Store

Ranks = NDArray[np.int64]
Times = NDArray[np.int64]
RankRanges = tuple[Ranks, Ranks]
"""For each row of one side the first and the last rank of the other that is in its window."""
Arrived = Mapping[Side, Block | None]

STEP = 1 << 13
"""About so many rows go through the three steps at once, or as many as the window keeps."""
_MANY = 2**62
_NO_TIMES: Times = np.zeros(0, np.int64)


def split_rounds(window: Window, stores: Mapping[Side, Store], watermark: int) -> Iterator[tuple[int, Arrived]]:
    """The rows that are ready, in order; a few thousand at a time, so that a small window stays small.

    Each comes with the time up to which everything is then there: a watermark of its own.
    """
    ready = {side: stores[side].release(watermark) for side in SIDES}
    times = {side: _NO_TIMES if rows is None else rows.time for side, rows in ready.items()}
    step = max(STEP, *(count_kept(window, side) for side in SIDES))
    cuts = np.unique(np.sort(np.concatenate(list(times.values())))[step::step]) if step < _MANY else _NO_TIMES
    starts = dict.fromkeys(SIDES, 0)
    for until in (*map(int, cuts), watermark):
        stops = {side: _count_before(times[side], until) for side in SIDES}
        yield until, {side: _slice(ready[side], starts[side], stops[side]) for side in SIDES}
        starts = stops


def _slice(block: Block | None, start: int, stop: int) -> Block | None:
    return None if block is None or start == stop else block.slice(start, stop)


def _count_before(times: Times, until: int) -> int:
    """How many of the times, which are in order, lie before one; NumPy would compare beyond int64 as floats."""
    return len(times) if until == ENDED else int(np.searchsorted(times, until))


def count_kept(window: Window, side: Side) -> int:
    """How many rows of a side a count window keeps."""
    count = window.count if isinstance(window, Both) else window
    assert isinstance(count, Last)
    return min(count.kept(side), _MANY)


def find_rank_ranges(side: Side, time: Times, others: Times, ranked: int, kept: int) -> RankRanges:
    """Which ranks of the other side are in the windows of these rows.

    `others` are the times of the other side's rows that come with them, in order, `ranked` how many came before. A left
    row comes before the right rows of its time: it probes those of lesser time, a right row also those of the same.
    """
    came = ranked + np.searchsorted(others, time, side="left" if side == "l" else "right")
    return came - kept, came - 1
