"""Ranges as a dimension: an interval that every probe row works out for itself, on one column of the build side.

Each half says ``sum over the probe row + g * b + rest of the build row + constant <= 0``. So ``b`` has an upper end
where g > 0 and a lower one where g < 0. The rest of the build row, such as a tolerance, is different in every row: the
least of it in the segment serves for all of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from streamjoin.kernel.intervals import outward
from streamjoin.match.dimension import Dimension
from streamjoin.match.intervals import Array, Intervals, round_inward
from streamjoin.operators.expr import Expr, Key
from streamjoin.pane import Rows
from streamjoin.predicate.conjunct import Range
from streamjoin.predicate.half import Half, Multiple
from streamjoin.spec.side import OTHER, SIDES, Side

Floats = NDArray[np.float64]
_ROUNDING = 2.0**-50  # of what is computed here


@dataclass(frozen=True)
class End:
    """One end of the interval on a column of the build side: what is left of a half without that column."""

    half: Half
    factor: float
    probe: tuple[Multiple, ...]
    rest: tuple[Multiple, ...]
    share: float
    """The part of all sizes that rounding may have moved, however large the column itself is."""

    @classmethod
    def of(cls, half: Half, column: Expr, build: Side) -> "End":
        factor = half.factor(column) or half.of(build)[0].factor
        rest = [m for m in half.of(build) if m.value != column]
        own = next((m for m in half.of(build) if m.value == column), None)
        if own is None:  # counted as if it were there, and taken off again
            rest.append(Multiple(column, -factor, abs(factor)))
        times = max(float(own.size / abs(factor)), 1.0) if own else 1.0
        share = 4 * times * (float(half.relative) + _ROUNDING * (len(half.multiples) + 4))
        return cls(half, float(factor), half.of(OTHER[build]), tuple(rest), share)


@dataclass(frozen=True)
class RangeBand(Dimension):
    """Bounds of which every row has its own; it narrows, `range.check` decides."""

    range: Range
    position: Mapping[str, int]
    width: ClassVar[None] = None
    share: ClassVar[float] = 0.02

    @cached_property
    def columns(self) -> dict[Side, Key]:
        """The column that is searched on each side: the one that most halves speak of."""
        bounds = self.range.halves.bounds
        return {
            side: max(
                (value for value in self.range.halves.values if isinstance(value, Key) and value.side == side),
                key=lambda value: sum(half.factor(value) != 0 for half in bounds),
            )
            for side in SIDES
        }

    @cached_property
    def ends(self) -> dict[Side, list[End]]:
        """The ends of the interval on each side's column."""
        bounds = self.range.halves.bounds
        return {side: [End.of(half, self.columns[side], side) for half in bounds] for side in SIDES}

    def values(self, side: Side, rows: Rows) -> Array:
        """The column that is searched."""
        return rows.keys[self.position[self.columns[side].name]].values

    def find_special(self, side: Side, rows: Rows) -> NDArray[np.bool_] | None:
        """The rows that no half speaks of; None where there are none."""
        least, most = self.range.halves.reach
        special = np.zeros(len(rows), np.bool_)
        for value in self.range.halves.values:
            if isinstance(value, Key) and value.side == side:
                size = np.abs(self._read(value, rows))
                special |= ~((size <= most) & ((size >= least) | (size == 0)))
        for divisor in self.range.halves.positive:
            if multiples := divisor.of(side):
                total, size = self._sum(multiples, rows, float(divisor.constant), float(divisor.size))
                share = float(divisor.relative) + _ROUNDING * (len(multiples) + 2)
                special |= ~(total > (share * size if len(multiples) > 1 or divisor.constant else 0.0))
        return special if special.any() else None

    def find_rests(self, side: Side, rows: Rows, of: NDArray[np.int32]) -> Floats | None:
        """For each end the least rest of these rows and the greatest size of one; None where there are none."""
        if not any(end.rest for end in self.ends[side]):
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            sums = [self._sum(end.rest, rows, 0.0, 0.0) for end in self.ends[side]]
        return np.array([(total[of].min(initial=np.inf), size[of].max(initial=0.0)) for total, size in sums])

    def intervals(self, side: Side, rows: Rows, like: Array, rests: Floats | None = None) -> Intervals:
        """What the probe side asks; without the rests of a segment an end that has one is left open."""
        column = self.columns[OTHER[side]]
        low, high = np.full(len(rows), -np.inf), np.full(len(rows), np.inf)
        with np.errstate(over="ignore", invalid="ignore"):
            for end, least, greatest in self._with_rests(OTHER[side], rests):
                total, size = self._sum(end.probe, rows, float(end.half.constant), float(end.half.size))
                limit = -total - least + end.share * (size + greatest)
                limit /= end.factor
                limit += np.sign(end.factor) * np.abs(limit) * _ROUNDING
                if end.factor > 0:
                    high = np.minimum(high, limit)
                else:
                    low = np.maximum(low, limit)
            if (special := self.find_special(side, rows)) is not None:
                low[special], high[special] = -np.inf, np.inf
            low, high = (limit * 10.0**column.type.scale for limit in (low, high))
        asks = low <= high
        if like.dtype.kind != "f":
            return round_inward(low, high, asks, like)
        return Intervals(*outward(low, high, like.dtype), low, high, asks)

    def _with_rests(self, build: Side, rests: Floats | None) -> Iterator[tuple[End, float, float]]:
        for number, end in enumerate(self.ends[build]):
            if not end.rest:
                yield end, 0.0, 0.0
            elif rests is not None:
                yield end, float(rests[number, 0]), float(rests[number, 1])

    def _sum(self, multiples: Sequence[Multiple], rows: Rows, constant: float, of: float) -> tuple[Floats, Floats]:
        """The sum of the multiples and the constant for every row, and of their sizes."""
        total, size = np.full(len(rows), constant), np.full(len(rows), of)
        for multiple in multiples:
            assert isinstance(multiple.value, Key)
            values = self._read(multiple.value, rows)
            total += float(multiple.factor) * values
            size += float(multiple.size) * np.abs(values)
        return total, size

    def _read(self, key: Key, rows: Rows) -> Floats:
        values = rows.keys[self.position[key.name]].values.astype(np.float64, copy=False)
        return values / 10.0**key.type.scale if key.type.scale else values
