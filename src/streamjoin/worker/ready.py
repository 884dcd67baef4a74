"""Count windows: rows wait until the watermark has passed them, then come in order and know whom they see."""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from streamjoin.spec.side import SIDES, Side
from streamjoin.spec.window import Both, Last, Window
from streamjoin.worker.admit import Arrivals
from streamjoin.worker.expiry import ENDED
from streamjoin.worker.store import Store

Ranks = NDArray[np.int64]
Times = NDArray[np.int64]
Seen = tuple[Ranks, Ranks]
"""For each row of one side the first and the last rank of the other that is in its window."""
Arrived = Mapping[Side, Arrivals | None]

STEP = 1 << 13
"""About so many rows go through the three steps at once, or as many as the window keeps."""
_MANY = 2**62


def rounds(window: Window, stores: Mapping[Side, Store], watermark: int) -> Iterator[tuple[int, Arrived]]:
    """The rows that are ready, in order; a few thousand at a time, so that a small window stays small.

    Each comes with the time up to which everything is then there: a watermark of its own.
    """
    ready = {side: stores[side].release(watermark) for side in SIDES}
    times = {side: _none() if rows is None else rows.time for side, rows in ready.items()}
    step = max(STEP, *(kept(window, side) for side in SIDES))
    cuts = np.unique(np.sort(np.concatenate(list(times.values())))[step::step]) if step < _MANY else _none()
    starts = dict.fromkeys(SIDES, 0)
    for until in (*map(int, cuts), watermark):
        stops = {side: _before(times[side], until) for side in SIDES}
        yield until, {side: _slice(ready[side], starts[side], stops[side]) for side in SIDES}
        starts = stops


def _slice(rows: Arrivals | None, start: int, stop: int) -> Arrivals | None:
    return None if rows is None or start == stop else rows.slice(start, stop)


def _before(times: Times, until: int) -> int:
    """How many of the times, which are in order, lie before one; NumPy would compare beyond int64 as floats."""
    return len(times) if until == ENDED else int(np.searchsorted(times, until))


def _none() -> Times:
    return np.zeros(0, np.int64)


def kept(window: Window, side: Side) -> int:
    """How many rows of a side a count window keeps."""
    count = window.count if isinstance(window, Both) else window
    assert isinstance(count, Last)
    return min(count.kept(side), _MANY)


def sees(side: Side, time: Times, others: Times, ranked: int, kept: int) -> Seen:
    """Whom rows of one side see of the other.

    `others` are the times of the other side's rows that come with them, in order, `ranked` how many came before. A left
    row comes before the right rows of its time: it sees those of lesser time, a right row also those of the same.
    """
    came = ranked + np.searchsorted(others, time, side="left" if side == "l" else "right")
    return came - kept, came - 1
