"""What a layout can go by in the condition: equal keys, or the buckets of a band.

Rows that can match are brought together: those with equal keys by a hash of them, those within a band by buckets
``floor(value / width)`` of one side's values. A row of the other side asks for an interval of those values, which
touches one bucket or, near a border, two.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from streamjoin.errors import StreamJoinError
from streamjoin.kernel.codes import encode
from streamjoin.layout.base import Hashes, mix
from streamjoin.match.dimension import Dimension, Equality, FloatBand, WholeBand
from streamjoin.match.serve import key_dimensions
from streamjoin.operators.types import BOOLEAN, DATE, TIMESTAMP, TIMESTAMP_NTZ, Type
from streamjoin.pane import Rows
from streamjoin.plan import Plan
from streamjoin.spec.duration import format_duration
from streamjoin.spec.side import Side

BUCKET = 8
"""A bucket is so many times as wide as the band: then one row in eight lies near a border and needs a second copy."""

_FAR = 2.0**61  # buckets beyond are one: their numbers and the distance between two of them stay whole


@dataclass(frozen=True)
class KeyHash:
    """Rows with equal keys have equal hashes."""

    equalities: tuple[Equality, ...]
    wide: ClassVar[Side] = "l"
    again: ClassVar[float] = 0.0
    """The share of rows of the `wide` side that go to a second group."""
    even_if: ClassVar[str] = "there are many more keys than"
    """When groups have equal shares of the rows; their number follows."""

    def __call__(self, side: Side, rows: Rows, hashes: Hashes) -> Hashes:
        found = np.zeros(len(rows), np.int64)
        unable = np.zeros(len(rows), np.bool_)
        for equality in self.equalities:
            found = mix(found ^ encode(equality.values(side, rows)).astype(np.int64))
            valid = rows.keys[equality.keys[side]].valid
            if valid is not None and not equality.equi.null_safe:
                unable |= ~valid
        return np.where(unable, hashes, found)

    def groups(self, side: Side, rows: Rows, hashes: Hashes) -> tuple[Hashes, Hashes]:
        """The first group of each row, and the last one: rows that can match have one in common.

        Here they are one and the same; rows that cannot match anything are spread by the hash of all they hold.
        """
        found = self(side, rows, hashes)
        return found, found

    def __str__(self) -> str:
        return "a hash of " + ", ".join(f"{e.equi.left} = {e.equi.right}" for e in self.equalities)


@dataclass(frozen=True)
class Buckets:
    """Rows within a band of each other have a bucket in common: that of the value of one side.

    The other side, `wide`, goes to all buckets where a partner may be.
    """

    band: WholeBand | FloatBand
    wide: Side = "l"
    again: ClassVar[float] = 1 / BUCKET
    even_if: ClassVar[str] = "values fall into many more buckets than"

    @property
    def width(self) -> float | int:
        """The width of a bucket, in values of the key."""
        found = self.band.width
        assert found is not None
        if isinstance(self.band, WholeBand):
            return min(max(BUCKET * int(found), 1), 1 << 62)
        return BUCKET * found or 1.0

    def groups(self, side: Side, rows: Rows, hashes: Hashes) -> tuple[Hashes, Hashes]:
        """Buckets from a wide row's least partner to its greatest; that of the other row's value."""
        key = rows.keys[self.band.keys[side]]
        values = np.asarray(key.values)
        like = np.empty(0, np.int64 if isinstance(self.band, WholeBand) else np.float64)
        if side != self.wide:
            low = high = values.astype(like.dtype)
            asks = np.ones(len(rows), np.bool_)
        else:
            asked = self.band.intervals(side, rows, like)
            low, high, asks = asked.low, asked.high, asked.asks & (asked.low <= asked.high)
        first, last = self._bucket(low), self._bucket(high)
        if values.dtype.kind == "f":  # NaN and the infinities match among themselves at most: they meet in one place
            odd = ~np.isfinite(values)
            for ends in (first, last):
                ends[odd] = 0
            asks = (asks | odd) if self.band.band.specials else (asks & ~odd)
        able = asks if key.valid is None else asks & key.valid
        return np.where(able, first, hashes), np.where(able, last, hashes)

    def _bucket(self, values: NDArray[Any]) -> Hashes:
        if values.dtype.kind != "f":
            return np.floor_divide(values, int(self.width), dtype=np.int64)  # type: ignore[no-any-return]
        with np.errstate(over="ignore", invalid="ignore"):
            number = np.clip(np.floor(values / self.width), -_FAR, _FAR)
        return np.nan_to_num(number).astype(np.int64)  # type: ignore[no-any-return]

    def __str__(self) -> str:
        key = self.band.band.right if self.wide == "l" else self.band.band.left
        return f"buckets of {_in_words(self.width, key.type)} of {key}"


def _in_words(width: float | int, type: Type) -> str:
    if type.is_timestamp:
        return format_duration(round(width))
    if type == DATE:
        return f"{width:g} days"
    return f"{width / 10**type.scale:.9g}"


def key_hash(plan: Plan, who: str) -> KeyHash:
    """A hash of what the condition says is equal."""
    found = tuple(d for d in key_dimensions(plan.predicate) if isinstance(d, Equality))
    if not found:
        raise StreamJoinError(f"layout: {who} goes by keys that are equal, and the condition has no equality")
    return KeyHash(found)


def grouping(plan: Plan) -> KeyHash | Buckets | None:
    """What rows that can match have in common: equal keys, else buckets of the first band with two ends.

    A band of times is the last to be taken: what comes at one time would keep one cell busy, then the next.
    """
    dimensions = list(key_dimensions(plan.predicate))
    if equalities := tuple(d for d in dimensions if isinstance(d, Equality)):
        return KeyHash(equalities)
    wide: Side = "r" if plan.preserves("l") else "l"  # one worker must see all that a preserved row meets
    bands = [d for d in dimensions if isinstance(d, WholeBand | FloatBand) and _has_buckets(d)]
    by_choice = sorted(bands, key=lambda d: d.band.left.type.is_timestamp)
    return Buckets(by_choice[0], wide) if by_choice else None


def has_many_keys(plan: Plan) -> bool:
    """Whether the condition has an equality of something that takes many values at a time, as far as its type says."""
    equalities = (d.equi for d in key_dimensions(plan.predicate) if isinstance(d, Equality))
    return any(equi.left.type not in (BOOLEAN, DATE, TIMESTAMP, TIMESTAMP_NTZ) for equi in equalities)


def _has_buckets(dimension: Dimension) -> bool:
    """Whether a band has two ends, and what is not finite matches among itself alone."""
    assert isinstance(dimension, WholeBand | FloatBand)
    return dimension.width is not None and all("finite" not in pair for pair in dimension.band.specials)
