"""Dimensions: each condition that an index can serve, as intervals on a column of the stored rows.

A band asks for ``[f - upper, f - lower]`` on the right key (or ``[g + lower, g + upper]`` on the left one), a time
window for an interval of times, an equality for one code. Whole numbers give exact intervals. Floating ones are widened
by the band's margin and rounded outward: they may hold a few rows too many, which the written condition then removes,
but never one too few.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from streamjoin.kernel.codes import encode
from streamjoin.kernel.intervals import INT64_MAX, INT64_MIN, outward, widen
from streamjoin.match.intervals import Array, Intervals, round_inward, to_machine, whole_intervals
from streamjoin.pane import Rows, Segment
from streamjoin.predicate.conjunct import Band, Equi
from streamjoin.spec.side import Side
from streamjoin.spec.window import Between, Tumbling

_LARGEST = float(np.finfo(np.float64).max)


class Dimension(ABC):
    """One condition: a column of the build side, intervals from the probe side."""

    is_equality: ClassVar[bool] = False
    """Whether every interval is a single code, and there are many codes."""

    share: ClassVar[float] = 0.5
    """The share of the other rows that an interval is taken to hold where its width is not known."""

    @property
    @abstractmethod
    def width(self) -> float | int | None:
        """How wide the intervals are, in values; 0 for an equality, None where an end is open."""

    @abstractmethod
    def values(self, side: Side, rows: Rows) -> Array:
        """The column of the build side `side`."""

    @abstractmethod
    def intervals(self, side: Side, rows: Rows, like: Array) -> Intervals:
        """What the probe side `side` asks; `like` is the build column."""

    def zone(self, side: Side, segment: Segment) -> tuple[int, int] | None:
        """The least and the greatest value of the build column, where the segment's zone map tells."""
        return None


KeyPositions = Mapping[Side, int]
"""Where the two keys of a condition stand in `Rows.keys`."""


@dataclass(frozen=True)
class Equality(Dimension):
    """``left = right``: one code (of strings and the like: of their hash)."""

    equi: Equi
    keys: KeyPositions
    width: ClassVar[int] = 0
    is_equality: ClassVar[bool] = True

    def values(self, side: Side, rows: Rows) -> Array:
        key = rows.keys[self.keys[side]]
        if not self.equi.null_safe or key.valid is None:
            return key.values
        return np.where(key.valid, key.values, key.values.dtype.type(0))  # NULLs meet in one code

    def intervals(self, side: Side, rows: Rows, like: Array) -> Intervals:
        codes = encode(self.values(side, rows)).astype(encode(like[:0]).dtype, copy=False)
        return Intervals(codes, codes, codes, codes, np.ones(len(codes), np.bool_))


@dataclass(frozen=True)
class Validity(Dimension):
    """The other half of ``left <=> right``: both are NULL, or neither."""

    keys: KeyPositions
    width: ClassVar[int] = 0

    def values(self, side: Side, rows: Rows) -> Array:
        valid = rows.keys[self.keys[side]].valid
        return np.ones(len(rows), np.int32) if valid is None else valid.astype(np.int32)

    def intervals(self, side: Side, rows: Rows, like: Array) -> Intervals:
        codes = self.values(side, rows)
        return Intervals(codes, codes, codes, codes, np.ones(len(codes), np.bool_))


@dataclass(frozen=True)
class _KeyBand(Dimension):
    """A band on two keys."""

    band: Band
    keys: KeyPositions

    def values(self, side: Side, rows: Rows) -> Array:
        return rows.keys[self.keys[side]].values


class WholeBand(_KeyBand):
    """A band on whole numbers: dates, times and decimals are such."""

    @cached_property
    def bounds(self) -> tuple[int | None, int | None]:
        """On left - right, in the unit of the columns; wider where a time zone may move them."""
        lower, upper = self.band.whole_bounds(scale=10**self.band.left.type.scale)
        margin = self.band.margin.absolute
        return None if lower is None else lower - margin, None if upper is None else upper + margin

    @property
    def width(self) -> int | None:
        lower, upper = self.bounds
        return None if lower is None or upper is None else max(upper - lower, 0)

    def intervals(self, side: Side, rows: Rows, like: Array) -> Intervals:
        lower, upper = self.bounds
        if side == "l":  # of right = left - difference
            lower, upper = (None if b is None else -b for b in (upper, lower))
        return whole_intervals(self.values(side, rows), lower, upper, like)

    def zone(self, side: Side, segment: Segment) -> tuple[int, int] | None:
        low, high = (zone.keys[self.keys[side]] for zone in (segment.low, segment.high))
        return None if low is None or high is None else (int(low), int(high))


class FloatBand(_KeyBand):
    """A band with a floating key on at least one side; it narrows, `band.check` decides."""

    @cached_property
    def width(self) -> float | None:
        if self.band.lower is None or self.band.upper is None:
            return None
        return max(float(self.band.upper.value - self.band.lower.value), 0.0)

    def intervals(self, side: Side, rows: Rows, like: Array) -> Intervals:
        f = self.values(side, rows)
        lower, upper = (None if b is None else float(b.value) for b in (self.band.lower, self.band.upper))
        if side == "l":
            lower, upper = (None if b is None else -b for b in (upper, lower))
        margin = self.band.margin
        low, high, finite = widen(
            *(to_machine(f), lower is not None, lower or 0.0, upper is not None, upper or 0.0),
            *(float(margin.relative), float(margin.reach), float(margin.absolute)),
        )
        asks = np.ones(len(f), np.bool_)
        if self.band.specials or not finite:
            low, high, asks = self._special(side, f.astype(np.float64), low, high)
        if like.dtype.kind != "f":
            return round_inward(low, high, asks, like)
        return Intervals(*outward(low, high, like.dtype), low, high, asks)

    def _special(self, side: Side, f: Array, low: Array, high: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Room for NaN and the infinities: the ends of the interval move out to those that may match."""
        asks = np.ones(len(f), np.bool_)
        for kind, rows in {
            "finite": np.isfinite(f),
            "nan": np.isnan(f),
            "inf": f == np.inf,
            "-inf": f == -np.inf,
        }.items():
            partners = {r if side == "l" else l for l, r in self.band.specials if (l if side == "l" else r) == kind}
            if kind != "finite":
                asks[rows] = bool(partners)
                low[rows], high[rows] = (-_LARGEST, _LARGEST) if "finite" in partners else (np.inf, -np.inf)
            if "-inf" in partners:
                low[rows] = -np.inf
            if partners & {"inf", "nan"}:
                high[rows] = np.inf
        return low, high, asks


@dataclass(frozen=True)
class TimeBand(Dimension):
    """The time window."""

    window: Between | Tumbling

    @property
    def width(self) -> int:
        if isinstance(self.window, Tumbling):
            return self.window.size - 1
        return max(self.window.last - self.window.first, 0)

    def values(self, side: Side, rows: Rows) -> Array:
        return rows.time

    def intervals(self, side: Side, rows: Rows, like: Array) -> Intervals:
        if isinstance(self.window, Tumbling):
            size = self.window.size
            into = (rows.time % size - self.window.offset) % size  # its bucket: nothing here can overflow
            start = np.maximum(rows.time, INT64_MIN + into) - into
            end = np.minimum(rows.time, INT64_MAX - (size - 1 - into)) + (size - 1 - into)
            return Intervals(start, end, start, end, np.ones(len(start), np.bool_))
        first, last = self.window.first, self.window.last
        bounds = (first, last) if side == "l" else (-last, -first)
        return whole_intervals(rows.time, *bounds, like)

    def zone(self, side: Side, segment: Segment) -> tuple[int, int] | None:
        low, high = segment.low.time, segment.high.time
        return None if low is None or high is None else (low, high)


@dataclass(frozen=True)
class RankBand(Dimension):
    """The count window: the worker says which ranks a probe row sees."""

    first: NDArray[np.int64]
    last: NDArray[np.int64]
    width: ClassVar[None] = None

    def values(self, side: Side, rows: Rows) -> Array:
        assert rows.rank is not None
        return rows.rank

    def intervals(self, side: Side, rows: Rows, like: Array) -> Intervals:
        return Intervals(self.first, self.last, self.first, self.last, self.first <= self.last)

    def zone(self, side: Side, segment: Segment) -> tuple[int, int] | None:
        low, high = segment.low.rank, segment.high.rank
        return None if low is None or high is None else (low, high)
