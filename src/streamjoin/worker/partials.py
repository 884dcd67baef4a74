"""Partial aggregates: of the rows of one pane and group, merged with others of it, and put together to windows.

`Groups` are positions of rows (or of partials) by group; a window is a range of partials, sorted by group and pane.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.errors import StreamJoinError
from streamjoin.kernel.codes import unlock
from streamjoin.kernel.reduce import count_known, divide_wide, find_extreme, find_moments, sum_floats, sum_whole
from streamjoin.kernel.slide import add_moments, slide_extremes, slide_floats, slide_moments, subtract_wide
from streamjoin.pane import numbers
from streamjoin.plan.reduction import Aggregate
from streamjoin.worker.fold import (
    divide,
    find_known,
    find_spread,
    pick_extreme,
    sum_decimals,
    to_codes,
    to_decimals,
    to_floats,
)

Positions = NDArray[np.int64]
Groups: TypeAlias = tuple[Positions, Positions]
Windows: TypeAlias = tuple[Positions, Positions]
"""Of each window the first of its partials, and the one behind its last."""
_WORDS = pa.decimal128(38, 0)
_FITS = 2.0**63 * (1 - 2**-40)


class Partial(ABC):
    """One aggregate; its partials are the columns of these types."""

    types: Sequence[pa.DataType]

    @abstractmethod
    def reduce(self, groups: Groups, values: pa.Array) -> list[pa.Array]:
        """Partials of groups of rows; where only rows are counted, the values are None."""

    @abstractmethod
    def merge(self, groups: Groups, partials: Sequence[pa.Array]) -> list[pa.Array]:
        """Partials of groups of partials."""

    @abstractmethod
    def slide(self, windows: Windows, partials: Sequence[pa.Array]) -> pa.Array:
        """The aggregate of each window."""


def partial_of(aggregate: Aggregate, type: pa.DataType | None) -> Partial:
    """How an aggregate of values of this type is kept in parts."""
    match aggregate.op:
        case "count":
            return Count()
        case "sum" | "avg" if pa.types.is_decimal(aggregate.type):
            return DecimalSum(aggregate)
        case "sum" if pa.types.is_integer(aggregate.type):
            return WholeSum()
        case "sum" | "avg":
            return FloatSum(aggregate.op == "avg")
        case "min" | "max":
            assert type is not None
            return Extreme(aggregate.op == "max", type)
    return Moments(aggregate.op)


class Count(Partial):
    """The number of rows, or of those that have a value."""

    types = (pa.int64(),)

    def reduce(self, groups: Groups, values: pa.Array) -> list[pa.Array]:
        """Count."""
        return [pa.array(np.diff(groups[0]) if values is None else count_known(*groups, find_known(values)))]

    def merge(self, groups: Groups, partials: Sequence[pa.Array]) -> list[pa.Array]:
        """Add."""
        return [pa.array(_add(groups, _read(partials[0])))]

    def slide(self, windows: Windows, partials: Sequence[pa.Array]) -> pa.Array:
        """The difference of two counts."""
        return pa.array(_subtract(windows, _read(partials[0])))


class WholeSum(Partial):
    """The sum of whole numbers, and how many there were."""

    types = (pa.int64(), pa.int64())

    def reduce(self, groups: Groups, values: pa.Array) -> list[pa.Array]:
        """Add."""
        known = find_known(values)
        sums = _add(groups, unlock(numbers(values).astype(np.int64, copy=False)), known)
        return [pa.array(sums), pa.array(count_known(*groups, known))]

    def merge(self, groups: Groups, partials: Sequence[pa.Array]) -> list[pa.Array]:
        """Add."""
        return [pa.array(_add(groups, _read(each))) for each in partials]

    def slide(self, windows: Windows, partials: Sequence[pa.Array]) -> pa.Array:
        """The difference of two sums, which is right wherever the sum itself fits."""
        values = _read(partials[0])
        if len(values) and np.abs(slide_floats(*windows, values.astype(np.float64))).max(initial=0.0) >= _FITS:
            raise StreamJoinError("sum: the sum of a window does not fit into a bigint; cast it to a decimal")
        return pa.array(_subtract(windows, values), mask=_subtract(windows, _read(partials[1])) == 0)


@dataclass(frozen=True)
class FloatSum(Partial):
    """The sum of numbers as doubles, and how many there were; the mean of them where it is asked for."""

    averages: bool
    types = (pa.float64(), pa.int64())

    def reduce(self, groups: Groups, values: pa.Array) -> list[pa.Array]:
        """Add."""
        floats, known = to_floats(values)
        return [pa.array(sum_floats(*groups, floats, known)), pa.array(count_known(*groups, known))]

    def merge(self, groups: Groups, partials: Sequence[pa.Array]) -> list[pa.Array]:
        """Add."""
        sums, everywhere = _read(partials[0]), np.ones(len(partials[0]), np.bool_)
        return [pa.array(sum_floats(*groups, sums, everywhere)), pa.array(_add(groups, _read(partials[1])))]

    def slide(self, windows: Windows, partials: Sequence[pa.Array]) -> pa.Array:
        """Two stacks: a sum of doubles cannot be undone."""
        sums, counts = slide_floats(*windows, _read(partials[0])), _subtract(windows, _read(partials[1]))
        return divide(sums, counts, 0) if self.averages else pa.array(sums, mask=counts == 0)


@dataclass(frozen=True)
class DecimalSum(Partial):
    """The sum of decimals, as two words each, and how many there were."""

    aggregate: Aggregate
    types = (pa.int64(), pa.int64(), pa.int64())

    def reduce(self, groups: Groups, values: pa.Array) -> list[pa.Array]:
        """Add."""
        known = find_known(values)
        return [*_part(sum_decimals(groups, values, known)), pa.array(count_known(*groups, known))]

    def merge(self, groups: Groups, partials: Sequence[pa.Array]) -> list[pa.Array]:
        """Add."""
        words = to_decimals(_join(partials), np.zeros(len(partials[0]), np.bool_), _WORDS)
        sums = sum_decimals(groups, words, np.ones(len(words), np.bool_))
        return [*_part(sums), pa.array(_add(groups, _read(partials[2])))]

    def slide(self, windows: Windows, partials: Sequence[pa.Array]) -> pa.Array:
        """The difference of two sums."""
        words = subtract_wide(*windows, _read(partials[0]).view(np.uint64), _read(partials[1]))
        counts = _subtract(windows, _read(partials[2]))
        if self.aggregate.op == "avg":
            divide_wide(words, counts, 10**4)
        return to_decimals(words, counts == 0, self.aggregate.type)


@dataclass(frozen=True)
class Moments(Partial):
    """Count, mean and sum of squared distances from it."""

    op: str
    types = (pa.float64(),) * 3

    def reduce(self, groups: Groups, values: pa.Array) -> list[pa.Array]:
        """Welford's updates."""
        return [pa.array(column) for column in find_moments(*groups, *to_floats(values)).T]

    def merge(self, groups: Groups, partials: Sequence[pa.Array]) -> list[pa.Array]:
        """Chan's formula."""
        return [pa.array(column) for column in add_moments(*groups, *map(_read, partials)).T]

    def slide(self, windows: Windows, partials: Sequence[pa.Array]) -> pa.Array:
        """Two stacks."""
        found = slide_moments(*windows, *map(_read, partials))
        return find_spread(self.op, found[:, 2], found[:, 0].astype(np.int64))


class Extreme(Partial):
    """The least or the greatest value."""

    def __init__(self, greatest: bool, type: pa.DataType) -> None:
        self.greatest, self.types = greatest, (type,)

    def reduce(self, groups: Groups, values: pa.Array) -> list[pa.Array]:
        """Find it."""
        return self.merge(groups, [values])

    def merge(self, groups: Groups, partials: Sequence[pa.Array]) -> list[pa.Array]:
        """Find it."""
        (values,) = partials
        found = find_extreme(*groups, to_codes(values), find_known(values), self.greatest, False)
        return [values.take(pa.array(found, mask=found < 0))]

    def slide(self, windows: Windows, partials: Sequence[pa.Array]) -> pa.Array:
        """Two stacks."""
        (values,) = partials
        found = slide_extremes(*windows, to_codes(values), find_known(values), self.greatest)
        return pick_extreme(values, found)


def _add(groups: Groups, values: Positions, known: NDArray[np.bool_] | None = None) -> Positions:
    sums = np.zeros(len(groups[0]) - 1, np.int64)
    if sum_whole(*groups, values, np.ones(len(values), np.bool_) if known is None else known, sums) >= 0:
        raise StreamJoinError("sum: the sum of a pane does not fit into a bigint; cast it to a decimal")
    return sums


def _subtract(windows: Windows, values: Positions) -> Positions:
    """Sums of ranges from sums of prefixes; what wraps round on the way wraps back."""
    with np.errstate(over="ignore"):
        sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(values)])
        found: Positions = sums[windows[1]] - sums[windows[0]]
    return found


def _read(column: pa.Array) -> NDArray[Any]:
    return unlock(numbers(column))


def _part(words: Positions) -> list[pa.Array]:
    return [pa.array(np.ascontiguousarray(words[:, at])) for at in (0, 1)]


def _join(partials: Sequence[pa.Array]) -> Positions:
    return np.stack([_read(partials[at]) for at in (0, 1)], axis=1)
