"""When a row has had its last chance: what a watermark and a count say about the rows that are kept.

With `W` the watermark, a left row is needed until ``W > t_l + upper``, a right one until ``W > t_r - lower``, a row of
a bucket until the bucket has ended, and under a count window until as many newer rows of its stream are ready as the
window keeps. In all of them the rows that are over are those before a certain time, or before a certain rank.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamjoin.pane import Limit, Rows
from streamjoin.spec.side import Side
from streamjoin.spec.window import Between, Both, Last, Tumbling, Window

Times = NDArray[np.int64]
GREATEST = 2**63 - 1
ENDED = GREATEST + 1
"""The watermark of an input that has ended: it has passed every time."""


def horizon(window: Window, side: Side, watermark: int | None, ranked: int) -> Limit:
    """What is over for one side once the watermark is here and so many rows of its stream were counted."""
    if watermark is None:
        return Limit()
    if watermark == ENDED:
        return Limit(ENDED, 0)
    match window:
        case Between(lower, upper):
            return Limit(watermark - upper if side == "l" else watermark + lower)
        case Tumbling(size, offset):
            return Limit(window.bucket(watermark) * size + offset)
        case Last():
            return Limit(rank=max(0, ranked - window.kept(side)))
        case Both(count, time):
            return Limit(
                horizon(time, side, watermark, ranked).time,
                horizon(count, side, watermark, ranked).rank,
            )
    raise TypeError(f"not a window: {window!r}")


def stay(window: Window, side: Side) -> int:
    """How long a row is kept, in time; 0 where only a count says so."""
    match window:
        case Between(lower, upper):
            return max(0, upper if side == "l" else -lower)
        case Tumbling(size):
            return size
        case Both(_, time):
            return stay(time, side)
    return 0


@dataclass(frozen=True)
class Pushers:
    """The rows of a stream that were counted last, the first of which has rank `first`: they push others out."""

    time: Times
    first: int

    def of(self, rank: NDArray[np.int64], kept: int) -> tuple[NDArray[np.bool_], Times]:
        """Which rows were pushed out of the last `kept`, and when."""
        at = rank + (min(kept, 2**62) - self.first)
        pushed = (at >= 0) & (at < len(self.time))
        when = np.full(len(at), GREATEST)
        when[pushed] = self.time[at[pushed]]
        return pushed, when


def unmatched(window: Window, side: Side, time: Times, rank: NDArray[np.int64], pushers: Pushers, latest: int) -> Times:
    """The `join_time` of rows that are over and met nobody; `latest` is the time of the latest row of all."""
    match window:
        case Between():
            return _last_chance(window, side, time)
        case Tumbling():
            return _plus(_last_chance(window, side, time), 1)
        case Last():
            pushed, when = pushers.of(rank, window.kept(side))
            return np.where(pushed, when, latest)
        case Both(count, within):
            pushed, when = pushers.of(rank, count.kept(side))
            chance, decided = _last_chance(within, side, time), unmatched(within, side, time, rank, pushers, latest)
            counted = pushed & ((when < chance) | ((when == chance) & (when < decided)))
            return np.where(counted, when, decided)
    raise TypeError(f"not a window: {window!r}")


def _last_chance(window: Between | Tumbling, side: Side, time: Times) -> Times:
    """The last time at which a partner may have, but not before the row itself is counted."""
    if isinstance(window, Between):
        return _plus(time, max(0, window.upper if side == "l" else -window.lower))
    return _plus(time, _until_end(window, time) - 1)


def ranks_of(rows: Rows) -> NDArray[np.int64]:
    """The ranks of rows that are known to have them."""
    assert rows.rank is not None
    return rows.rank


def _until_end(window: Tumbling, time: Times) -> Times:
    return window.size - (time % window.size - window.offset) % window.size


def _plus(time: Times, distance: Times | int) -> Times:
    """A sum with a distance of at least 0; it stays at the end of the range rather than leave it."""
    distances: Times = np.asarray(distance, np.int64)
    return np.minimum(time, GREATEST - distances) + distances
