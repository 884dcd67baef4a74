"""What probe rows ask of a dimension."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamjoin.kernel.codes import Codes, encode, unlock
from streamjoin.kernel.intervals import whole

Array = NDArray[Any]


@dataclass(frozen=True)
class Intervals:
    """What each probe row asks of a dimension, ends included: codes, and what the buckets are cut from.

    `asks` is False for a row that can match no row.
    """

    lower: Codes
    upper: Codes
    low: Array
    high: Array
    asks: NDArray[np.bool_]

    @cached_property
    def common(self) -> tuple[int, int]:
        """The greatest lower and the least upper end: what lies between them, if anything does, is in all intervals."""
        return int(self.lower.max()), int(self.upper.min())

    def cover(self, zone: tuple[int, int]) -> bool:
        """Whether every interval holds the whole zone, so that nothing needs to be compared."""
        return self.common[0] <= zone[0] and self.common[1] >= zone[1]

    def meet(self, zone: tuple[int, int]) -> bool:
        """Whether every interval holds some of the zone, as far as its ends tell."""
        return self.common[0] <= zone[1] and self.common[1] >= zone[0]

    def at(self, rows: NDArray[np.int32]) -> "Intervals":
        """What some of the rows ask."""
        if len(rows) == len(self.lower):
            return self
        return Intervals(*(part[rows] for part in (self.lower, self.upper, self.low, self.high, self.asks)))


def whole_intervals(f: Array, lower: int | None, upper: int | None, like: Array) -> Intervals:
    """``[f + lower, f + upper]`` within the range of the build column; no sum can overflow."""
    low, high, asks = whole(to_machine(f), lower, upper, encode(like[:0]).dtype)
    return Intervals(low, high, low, high, asks)


def to_machine(f: Array) -> Array:
    """The same numbers in one of the types that kernels are compiled for."""
    return unlock(f) if f.dtype.kind == "f" else unlock(encode(f))


def round_inward(low: Array, high: Array, asks: NDArray[np.bool_], like: Array) -> Intervals:
    """Floating ends around whole numbers."""
    dtype = encode(like[:0]).dtype
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    low, high = np.ceil(low), np.floor(high)
    asks = asks & (low <= high) & (low <= float(most)) & (high >= float(least))
    low = np.where(low > float(least), np.where(asks, low, 0), least).astype(np.int64)
    inside = asks & (high < float(most))
    high = np.where(inside, np.where(inside, high, 0).astype(np.int64), most)
    return Intervals(low.astype(dtype), high.astype(dtype), low, high, asks)
