"""When a row expires: what a watermark and a count say about the rows that are stored.

With `W` the watermark, a left row is needed until ``W > t_l + upper``, a right one until ``W > t_r - lower``, a row of
a bucket until the bucket has ended, and under a count window until as many newer rows of its stream are ready as the
window keeps. In all of them the expired rows are those before a certain time, or before a certain rank.
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


def find_limit(window: Window, side: Side, watermark: int | None, ranked: int, *, ordered: bool = False) -> Limit:
    """Which rows of one side are expired under this watermark, once so many rows of its stream were counted.

    The unmatched rows of a bucket have the time of its end; where results are `ordered`, the watermark must pass that.
    """
    if watermark is None:
        return Limit()
    if watermark == ENDED:
        return Limit(ENDED, 0)
    match window:
        case Between(lower, upper):
            return Limit(watermark - upper if side == "l" else watermark + lower)
        case Tumbling(size, offset):
            return Limit(window.bucket(watermark - ordered) * size + offset)
        case Last():
            return Limit(rank=max(0, ranked - window.kept(side)))
        case Both(count, time):
            return Limit(
                find_limit(time, side, watermark, ranked, ordered=ordered).time,
                find_limit(count, side, watermark, ranked).rank,
            )
    raise TypeError(f"not a window: {window!r}")


def find_retention(window: Window, side: Side) -> int:
    """How long a row is stored, in time; 0 where only a count says so."""
    match window:
        case Between(lower, upper):
            return max(0, upper if side == "l" else -lower)
        case Tumbling(size):
            return size
        case Both(_, time):
            return find_retention(time, side)
    return 0


@dataclass(frozen=True)
class Evictors:
    """The rows of a stream that were counted last, from rank `first` on: they evict older ones from a count window."""

    time: Times
    first: int

    @property
    def stop(self) -> int:
        """The rank of the row that comes after them."""
        return self.first + len(self.time)

    def find(self, rank: NDArray[np.int64], kept: int) -> tuple[NDArray[np.bool_], Times]:
        """Which rows were evicted from the last `kept`, and when."""
        at = rank + (min(kept, 2**62) - self.first)
        evicted = (at >= 0) & (at < len(self.time))
        when = np.full(len(at), GREATEST)
        when[evicted] = self.time[at[evicted]]
        return evicted, when


NO_EVICTORS = Evictors(np.zeros(0, np.int64), 0)


def time_unmatched(
    window: Window, side: Side, time: Times, rank: NDArray[np.int64], evictors: Evictors, latest: int
) -> Times:
    """The `join_time` of rows that expired unmatched; `latest` is the time of the latest row of all."""
    match window:
        case Between():
            return _find_last_match(window, side, time)
        case Tumbling():
            return _add_saturating(_find_last_match(window, side, time), 1)
        case Last():
            evicted, when = evictors.find(rank, window.kept(side))
            return np.where(evicted, when, latest)
        case Both(count, within):
            evicted, when = evictors.find(rank, count.kept(side))
            last_match = _find_last_match(within, side, time)
            decided = time_unmatched(within, side, time, rank, evictors, latest)
            counted = evicted & ((when < last_match) | ((when == last_match) & (when < decided)))
            return np.where(counted, when, decided)
    raise TypeError(f"not a window: {window!r}")


def _find_last_match(window: Between | Tumbling, side: Side, time: Times) -> Times:
    """Latest time at which a matching row can still arrive; never earlier than the row's own time."""
    if isinstance(window, Between):
        return _add_saturating(time, max(0, window.upper if side == "l" else -window.lower))
    return _add_saturating(time, _time_to_end(window, time) - 1)


def ranks_of(rows: Rows) -> NDArray[np.int64]:
    """The ranks of rows that are known to have them."""
    assert rows.rank is not None
    return rows.rank


def _time_to_end(window: Tumbling, time: Times) -> Times:
    return window.size - (time % window.size - window.offset) % window.size


def _add_saturating(time: Times, distance: Times | int) -> Times:
    """A sum with a distance of at least 0, at most the greatest int64."""
    distances: Times = np.asarray(distance, np.int64)
    return np.minimum(time, GREATEST - distances) + distances
