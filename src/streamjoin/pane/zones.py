"""Zone maps: between which times, key values and ranks rows lie."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from streamjoin.pane.key import KeyColumn

Number: TypeAlias = bool | int | float


@dataclass(frozen=True, slots=True)
class Zone:
    """One end of a zone map: the least (or greatest) time, value of each key, and rank.

    NULL and NaN are left out; None where nothing is left. A hashed key has the zone of its hashes.
    """

    time: int | None
    keys: tuple[Number | None, ...]
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class Zones:
    """Where rows lie. `nan` says of each key whether some value is NaN, which is outside the zone."""

    low: Zone
    high: Zone
    nan: tuple[bool, ...]

    @classmethod
    def of(cls, time: NDArray[np.int64], keys: Sequence[KeyColumn], rank: NDArray[np.int64] | None = None) -> "Zones":
        """The zones of such rows."""
        times, ranks = _find_ends(time), (None, None) if rank is None else _find_ends(rank)
        values = [_find_ends(_drop_missing(key)) for key in keys]
        low, high = (Zone(times[end], tuple(value[end] for value in values), ranks[end]) for end in (0, 1))
        return cls(low, high, tuple(map(_has_nan, keys)))

    def with_rank(self, first: int, count: int) -> "Zones":
        """The zones of the same rows with so many ranks from `first` on."""
        if not count:
            return self
        return replace(self, low=replace(self.low, rank=first), high=replace(self.high, rank=first + count - 1))


def _find_ends(values: NDArray[Any]) -> tuple[Any, Any]:
    return (values.min().item(), values.max().item()) if len(values) else (None, None)


def _drop_missing(key: KeyColumn) -> NDArray[Any]:
    """The values that are neither NULL nor NaN."""
    values = key.values if key.valid is None else key.values[key.valid]
    return values[~np.isnan(values)] if values.dtype.kind == "f" else values


def _has_nan(key: KeyColumn) -> bool:
    if key.values.dtype.kind != "f":
        return False
    nan = np.isnan(key.values)
    return bool(nan.any() if key.valid is None else (nan & key.valid).any())
