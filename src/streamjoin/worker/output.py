"""Results in bounded blocks."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.pane import NO_TIME, Rows
from streamjoin.plan import Plan
from streamjoin.spec.how import sides_of
from streamjoin.spec.side import OTHER, Side

Indices = NDArray[np.int32] | NDArray[np.int64]
Times = NDArray[np.int64]
Ranks = NDArray[np.int64]
Order = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Time and tie of each row of one side."""


class Output:
    """Results of a plan from rows of both sides, or of one."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._schema = plan.output

    def bound_rows(self, *rows: Rows) -> int:
        """How many results made of such rows fit into a block."""
        width = sum(each.width for each in rows) + 8 * len(self._plan.extra) + 8
        return int(max(1, min(self._plan.block_rows, self._plan.block_bytes // width)))

    def build_one_sided(self, side: Side, rows: Rows, at: Indices, join_time: Times) -> Iterator[pa.RecordBatch]:
        """Results that have no part of the other side."""
        size = self.bound_rows(rows)
        for start in range(0, len(at), size):
            piece = slice(start, start + size)
            own, times = _take(rows.payload, at[piece]), join_time[piece]
            columns = [own if each == side else self._fill_nulls(each, len(times)) for each in sides_of(self._plan.how)]
            order = {side: self.order_of(rows, at[piece])}
            yield self.build([column for part in columns for column in part], times, order)

    def _fill_nulls(self, side: Side, count: int) -> list[pa.Array]:
        return [pa.nulls(count, field.type) for field in self._plan.payload(side)]

    def order_of(self, rows: Rows, at: Indices) -> Order | None:
        """Time and tie of rows, where results are to be sorted by them."""
        if not self._plan.ordered:
            return None
        assert rows.route is not None
        return rows.time[at], rows.route[at]

    def build(self, columns: list[pa.Array], join_time: Times, order: Mapping[Side, Order | None]) -> pa.RecordBatch:
        """Columns of results with their time, and what else they are sorted by; an absent side comes first."""
        keys = [join_time]
        if self._plan.ordered:
            absent = np.full(len(join_time), NO_TIME)
            parts = [order.get(side) or (absent, absent) for side in sides_of(self._plan.how)]
            times, ties = zip(*parts, strict=True)
            keys += [t for side, t in zip(sides_of(self._plan.how), times, strict=True) if side not in self._plan.times]
            keys += ties
        return pa.RecordBatch.from_arrays([*columns, *map(pa.array, keys)], schema=self._schema)


@dataclass(frozen=True)
class Undecided:
    """Results of rows that are unmatched in one of several workers, with the ranks that they have in all of them."""

    side: Side
    ranks: Ranks
    results: pa.RecordBatch


Found: TypeAlias = "pa.RecordBatch | Undecided"
"""What a worker finds: results, and rows that other workers must be asked about."""


class Matches:
    """The matches of one probing block with segment after segment: rows are fetched when they fill a block."""

    def __init__(self, output: Output, side: Side, probing: Rows) -> None:
        self._output, self._side, self._probing = output, side, probing
        self._held: list[tuple[Indices, Rows, Indices, Times]] = []
        self._count, self._room = 0, 0

    def add(self, at_probing: Indices, stored: Rows, at_stored: Indices, join_time: Times) -> Iterator[pa.RecordBatch]:
        """Take in pairs of positions; yields the blocks that are full."""
        room = self._output.bound_rows(self._probing, stored)
        for start in range(0, len(at_probing), room):
            piece = slice(start, start + room)
            self._room = min(self._room, room) if self._held else room
            if self._held and self._count + len(join_time[piece]) > self._room:
                yield from self.flush()
                self._room = room
            self._held.append((at_probing[piece], stored, at_stored[piece], join_time[piece]))
            self._count += len(join_time[piece])

    def flush(self) -> Iterator[pa.RecordBatch]:
        """What is left, as one block."""
        if not self._held:
            return
        at_probing, stored, at_stored, join_time = zip(*self._held, strict=True)
        self._held, self._count = [], 0
        at = np.concatenate(at_probing)
        mine = _take(self._probing.payload, at)
        parts = [_take(rows.payload, at) for rows, at in zip(stored, at_stored, strict=True)]
        theirs = parts[0] if len(parts) == 1 else [pa.concat_arrays(chunks) for chunks in zip(*parts, strict=True)]
        columns = [*mine, *theirs] if self._side == "l" else [*theirs, *mine]
        orders = [self._output.order_of(rows, at) for rows, at in zip(stored, at_stored, strict=True)]
        order = {self._side: self._output.order_of(self._probing, at), OTHER[self._side]: _concat_orders(orders)}
        yield self._output.build(columns, np.concatenate(join_time), order)


def _concat_orders(orders: list[Order | None]) -> Order | None:
    present = [order for order in orders if order is not None]
    if not present:
        return None
    times, ties = zip(*present, strict=True)
    return np.concatenate(times), np.concatenate(ties)


def _take(payload: pa.RecordBatch, at: Indices) -> list[pa.Array]:
    return payload.take(pa.array(at)).columns  # type: ignore[no-any-return]
