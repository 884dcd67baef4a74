"""What left rows met, reduced to the columns of their results.

Aggregates see all pairs of some probing rows at once, in the law's order where it matters: by time, then by the routing
hash of the whole row. Rows that share both are equal, or differ in something that Spark cannot hash. Counts and
extremes do not depend on the order, nor do sums that no addition rounds, as of a column of floats.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from streamjoin.errors import StreamJoinError
from streamjoin.kernel.codes import encode, unlock
from streamjoin.kernel.reduce import (
    add_pairs,
    count_pairs,
    divide_wide,
    find_extreme,
    find_extreme_pairs,
    find_moments,
    group,
    sort_groups,
    sum_floats,
    sum_whole,
    sum_wide,
    sums_exactly,
)
from streamjoin.match.pairs import Pairs
from streamjoin.operators.expr import Expr, Key
from streamjoin.operators.values import CompiledValues
from streamjoin.pane import Rows, key_column, numbers
from streamjoin.plan.reduction import Aggregate, Computed, Operand

Indices = NDArray[np.int32]
Positions = NDArray[np.int64]
Mask = NDArray[np.bool_]

NOWHERE = -1


class Numbers(NamedTuple):
    """A value of every pair as numbers, and which pairs have one."""

    values: NDArray[Any]
    known: Mask


@dataclass
class Met:
    """The pairs of some probing rows with segment after segment."""

    probing: Rows
    parts: list[Rows] = field(default_factory=list)
    probes: list[Indices] = field(default_factory=list)
    builds: list[Indices] = field(default_factory=list)
    size: int = 0

    def take_in(self, stored: Rows, pairs: Pairs) -> None:
        """Take in pairs of the probing rows with stored ones."""
        if len(pairs.probe):
            self.parts.append(stored)
            self.probes.append(pairs.probe)
            self.builds.append(pairs.build)
            self.size += len(pairs.probe)

    @cached_property
    def probe(self) -> Indices:
        """The probing row of every pair."""
        return np.concatenate(self.probes) if self.probes else np.zeros(0, np.int32)

    @cached_property
    def groups(self) -> tuple[Positions, Positions]:
        """Where the pairs of each probing row begin, and their positions."""
        starts, order = group(self.probe, len(self.probing))
        return starts, order

    @cached_property
    def ordered(self) -> tuple[Positions, Positions]:
        """The same, the pairs of each row in the law's order."""
        starts, order = self.groups
        sort_groups(starts, order, self._gather("time"), self._gather("route"))
        return starts, order

    @cached_property
    def counts(self) -> Positions:
        """How many pairs each probing row has."""
        return self.count(np.ones(self.size, np.bool_))

    def count(self, known: Mask) -> Positions:
        """How many pairs of each probing row have a value."""
        counts: Positions = count_pairs(self.probe, known, len(self.probing))
        return counts

    def add(self, values: NDArray[np.float64], known: Mask) -> NDArray[np.float64]:
        """Sums of doubles for each probing row, added in the law's order unless every order gives the same."""
        sums: NDArray[np.float64]
        if sums_exactly(values.view(np.int64), known, int(self.counts.max(initial=0))):
            sums = add_pairs(self.probe, values, known, len(self.probing))
        else:
            sums = sum_floats(*self.ordered, values, known)
        return sums

    def _gather(self, name: str) -> Positions:
        """The time or the routing hash of every pair's stored row."""
        columns = [getattr(part, name) for part in self.parts]
        found = [
            np.zeros(len(at), np.int64) if column is None else column[at]
            for column, at in zip(columns, self.builds, strict=True)
        ]
        return np.concatenate(found) if found else np.zeros(0, np.int64)

    def take(self, operand: Operand, schema: dict[str, pa.Schema]) -> pa.Array:
        """A value of every pair."""
        if isinstance(operand, Computed):
            return self._compute(operand)
        if operand.side == "l":
            return self.probing.payload.column(operand.column).take(pa.array(self.probe))
        found = [
            part.payload.column(operand.column).take(pa.array(at))
            for part, at in zip(self.parts, self.builds, strict=True)
        ]
        return pa.concat_arrays(found) if found else pa.array([], schema[operand.side].types[operand.column])

    def _compute(self, operand: Computed) -> pa.Array:
        """A value of every pair that takes both of its rows."""
        compiled = _compile(operand.expr)
        left = _read_keys(self.probing, operand.left, compiled.left)
        found = []
        for part, probe, build in zip(self.parts, self.probes, self.builds, strict=True):
            values, known = compiled.pairs(left, _read_keys(part, operand.right, compiled.right), probe, build)
            found.append(pa.array(values, mask=None if known.all() else ~known).view(operand.type))
        return pa.concat_arrays(found) if found else pa.array([], operand.type)


@lru_cache(maxsize=256)
def _compile(expr: Expr) -> CompiledValues:
    return CompiledValues(expr)


def _read_keys(rows: Rows, columns: Sequence[int], keys: Sequence[Key]) -> list[tuple[NDArray[Any], Mask | None]]:
    found = (key_column(rows.payload.column(at), key.type) for at, key in zip(columns, keys, strict=True))
    return [(column.values, column.valid) for column in found]


class Aggregator:
    """Computes the aggregates of a plan."""

    def __init__(self, aggregates: Sequence[Aggregate], left: pa.Schema, right: pa.Schema) -> None:
        self._aggregates, self._schemas = aggregates, {"l": left, "r": right}

    def reduce(self, met: Met) -> list[pa.Array]:
        """A column for each aggregate, with a value for each probing row."""
        values: dict[Operand, pa.Array] = {}
        for operand in (operand for aggregate in self._aggregates for operand in aggregate.operands):
            if operand not in values:
                values[operand] = met.take(operand, self._schemas)
        return [_fold(each, met, [values[operand] for operand in each.operands]) for each in self._aggregates]


def _fold(aggregate: Aggregate, met: Met, values: list[pa.Array]) -> pa.Array:
    match aggregate.op:
        case "count":
            return pa.array(met.count(find_known(values[0])) if values else met.counts)
        case "sum":
            return _sum(aggregate, met, values[0])
        case "avg" if pa.types.is_decimal(aggregate.type):
            return _average_decimals(aggregate, met, values[0])
        case "avg":
            floats, known = to_floats(values[0])
            return divide(met.add(floats, known), met.count(known), 0)
        case "var_pop" | "var_samp" | "stddev_pop" | "stddev_samp":
            floats, known = to_floats(values[0])
            squares = find_moments(*met.ordered, floats, known)[:, 2].copy()
            return find_spread(aggregate.op, squares, met.count(known))
        case "min" | "max":
            return _find_extreme(aggregate, met, values[0])
    return _pick_value(aggregate, met, values)


def _find_extreme(aggregate: Aggregate, met: Met, values: pa.Array) -> pa.Array:
    greatest = aggregate.op == "max"
    found = find_extreme_pairs(met.probe, to_codes(values), find_known(values), greatest, len(met.probing))
    return pick_extreme(values, found)


def pick_extreme(values: pa.Array, found: Positions) -> pa.Array:
    """The values in these places; 0.0 for -0.0, which is its equal."""
    picked = values.take(pa.array(found, mask=found == NOWHERE))
    return pc.add(picked, pa.scalar(0.0, picked.type)) if pa.types.is_floating(picked.type) else picked


def _pick_value(aggregate: Aggregate, met: Met, values: list[pa.Array]) -> pa.Array:
    """The value of one pair: the first, the last, or the last of those with the least or greatest of something."""
    op = aggregate.op
    if op in ("first", "last"):
        known = find_known(values[0]) if aggregate.known else np.ones(len(values[0]), np.bool_)
        codes: NDArray[Any] = np.zeros(len(values[0]), np.int64)
    else:
        known = find_known(values[-1])
        codes = to_codes(values[-1])
    found = find_extreme(*met.ordered, codes, known, op == "max_by", op != "first")
    return values[0].take(pa.array(found, mask=found == NOWHERE))


def _sum(aggregate: Aggregate, met: Met, values: pa.Array) -> pa.Array:
    if pa.types.is_floating(aggregate.type):
        floats, known = to_floats(values)
        return pa.array(met.add(floats, known), mask=met.count(known) == 0)
    known = find_known(values)
    none = met.count(known) == 0
    if pa.types.is_decimal(aggregate.type):
        return to_decimals(sum_decimals(met.groups, values, known), none, aggregate.type)
    sums = np.zeros(len(none), np.int64)
    if sum_whole(*met.groups, unlock(numbers(values).astype(np.int64, copy=False)), known, sums) >= 0:
        raise StreamJoinError("sum: the sum of what a left row met does not fit into a bigint; cast it to a decimal")
    return pa.array(sums, mask=none)


def _average_decimals(aggregate: Aggregate, met: Met, values: pa.Array) -> pa.Array:
    known = find_known(values)
    sums, counts = sum_decimals(met.groups, values, known), met.count(known)
    divide_wide(sums, counts, 10 ** (aggregate.type.scale - values.type.scale))
    return to_decimals(sums, counts == 0, aggregate.type)


def sum_decimals(groups: tuple[Positions, Positions], values: pa.Array, known: Mask) -> Positions:
    """Sums of decimals as pairs of words."""
    words = np.frombuffer(values.buffers()[1] or b"", np.int64)[2 * values.offset : 2 * (values.offset + len(values))]
    words = words.reshape(-1, 2)
    sums = np.zeros((len(groups[0]) - 1, 2), np.int64)
    low, high = (np.ascontiguousarray(words[:, at]) for at in (0, 1))
    sum_wide(*groups, low.view(np.uint64), high, known, sums)
    return sums


def to_decimals(words: Positions, none: Mask, type: pa.DataType) -> pa.Array:
    valid = pa.array(~none).buffers()[1] if none.any() else None
    return pa.Array.from_buffers(type, len(words), [valid, pa.py_buffer(np.ascontiguousarray(words))])


def divide(sums: NDArray[np.float64], counts: Positions, less: int) -> pa.Array:
    with np.errstate(all="ignore"):
        return pa.array(sums / (counts - less), mask=counts <= less)


def find_spread(op: str, squares: NDArray[np.float64], counts: Positions) -> pa.Array:
    """Variances or standard deviations, from sums of squared distances from the mean."""
    variance = divide(squares, counts, 1 if op.endswith("samp") else 0)
    return pc.sqrt(variance) if op.startswith("stddev") else variance


def find_known(values: pa.Array) -> Mask:
    if not values.null_count:
        return np.ones(len(values), np.bool_)
    return values.is_valid().to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def to_floats(values: pa.Array) -> Numbers:
    """Numbers as doubles, whatever stands under a NULL."""
    known = find_known(values)
    if pa.types.is_decimal(values.type):
        return Numbers(values.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False), known)
    return Numbers(unlock(numbers(values).astype(np.float64, copy=False)), known)


def to_codes(values: pa.Array) -> NDArray[Any]:
    """Whole numbers in the order of the values."""
    type = values.type
    if pa.types.is_boolean(type):
        return values.fill_null(False).to_numpy(zero_copy_only=False).astype(np.int64)  # type: ignore[no-any-return]
    plain = pa.types.is_integer(type) or pa.types.is_floating(type) or pa.types.is_temporal(type)
    if plain:
        return unlock(encode(numbers(values)).astype(np.int64, copy=False))
    ranks = pc.rank(values, sort_keys="ascending", tiebreaker="dense")
    return ranks.to_numpy(zero_copy_only=False).astype(np.int64)  # type: ignore[no-any-return]
