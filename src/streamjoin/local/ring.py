"""A window that takes single rows cheaply: columns in a ring, indexed by chains (`kernel.chains`).

For conditions with bands of two ends or equalities on numbers, and payloads of numbers, times and texts. Other windows
are lists of segments.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite, nan
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.kernel.chains import NONE, insert, pass_expired, probe
from streamjoin.local.row import Row
from streamjoin.local.slots import Slots, can_hold, make_column, move
from streamjoin.operators.statements import dtype_of
from streamjoin.operators.types import DATE, DOUBLE, FLOAT, INT, SMALLINT, TINYINT
from streamjoin.pane import NO_TIME, KeyColumn, Rows
from streamjoin.plan import Plan
from streamjoin.predicate.conjunct import Band, Conjunct, Equi
from streamjoin.spec.side import Side
from streamjoin.spec.window import Between
from streamjoin.worker.expiry import GREATEST

SMALLEST = 1 << 10
PIECE = 1 << 17
_EXACT = (TINYINT, SMALLINT, INT, DATE)
_ROUNDED = (FLOAT, DOUBLE)
_PLACES = {"-inf": -2e300, "inf": 2e300, "nan": 4e300}
"""Where values lie that are not finite: far from each other, whatever the slack."""

_SLACK = 1e-6
"""Relative: more than single precision rounds. What is let through beyond the band, the exact check takes out."""

Times = NDArray[np.int64]


@dataclass(frozen=True)
class Axis:
    """``low <= l - r <= high`` on two keys, by their positions; with `slack` the bounds may be a little wide.

    `specials` are the values that are not finite and match each other: "nan", "inf", "-inf".
    """

    left: int
    right: int
    low: float
    high: float
    slack: float
    specials: frozenset[str] = frozenset()

    def place(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Where values lie on the axis; NaN for those that match none."""
        placed: NDArray[np.float64] = values.astype(np.float64)
        odd = ~np.isfinite(placed)
        if odd.any():
            placed[odd] = list(map(self._place_special, placed[odd].tolist()))
        return placed

    def place_one(self, value: float) -> float:
        """Where a single value lies."""
        return value if isfinite(value) else self._place_special(value)

    def _place_special(self, value: float) -> float:
        return _PLACES[str(value)] if str(value) in self.specials else nan


def find_axes(plan: Plan) -> list[Axis] | None:
    """The axes that chains are laid along; None if the plan is not for rings."""
    if plan.how != "inner" or not isinstance(plan.window, Between) or plan.kernel != "auto":
        return None
    if not all(can_hold(field.type) for side in (plan.left, plan.right) for field in side):
        return None
    if not all(key.type.is_machine for side in plan.keys.values() for key in side):
        return None
    positions = {key.name: at for side in plan.keys.values() for at, key in enumerate(side)}
    axes = []
    for conjunct in plan.predicate.conjuncts:
        if (axis := _to_axis(conjunct, positions)) is not None:
            axes.append(axis)
        elif isinstance(conjunct, Equi | Band):
            return None
    return axes or None


def _to_axis(conjunct: Conjunct, positions: dict[str, int]) -> Axis | None:
    match conjunct:
        case Equi(left=left, right=right) if not conjunct.null_safe and left.type in _EXACT and right.type in _EXACT:
            return Axis(positions[left.name], positions[right.name], 0.0, 0.0, 0.0)
        case Band(left=left, right=right) if conjunct.lower is not None and conjunct.upper is not None:
            place = positions[left.name], positions[right.name]
            if left.type in _EXACT and right.type in _EXACT and conjunct.decides:
                low, high = conjunct.whole_bounds()
                assert low is not None
                assert high is not None
                return Axis(*place, float(low), float(high), 0.0) if max(abs(low), abs(high)) < 1 << 40 else None
            if (
                left.type in _ROUNDED
                and right.type in _ROUNDED
                and all(left == right for left, right in conjunct.specials)
                and conjunct.check is not None
            ):
                specials = frozenset(kind for kind, _ in conjunct.specials)
                return Axis(*place, float(conjunct.lower.value), float(conjunct.upper.value), _SLACK, specials)
    return None


class Held(NamedTuple):
    """Rows as results are made of them: keys and times by position, and payload columns of given positions."""

    keys: Sequence[KeyColumn]
    time: Times
    take: Callable[[Slots], list[pa.Array]]


class Ring:
    """The rows of one stripe."""

    def __init__(self, plan: Plan, side: Side, axes: Sequence[Axis]) -> None:
        self.side, self.schema = side, plan.payload(side)
        self._axes = [(axis.left if side == "l" else axis.right, axis) for axis in axes]
        self.low, self.high = (np.array([getattr(axis, end) for axis in axes]) for end in ("low", "high"))
        self.slack = np.array([axis.slack for axis in axes])
        self.pers = np.array([1.0 / max(axis.high - axis.low, 1.0 if not axis.slack else 1e-9) for axis in axes])
        self.base = self.next = 0
        """The numbers of the oldest row that is held and of the next one to come."""
        self._enough = SMALLEST
        """With more rows than this, some may be expired behind one that is not."""
        self.times = np.zeros(SMALLEST, np.int64)
        self.keys = np.zeros((SMALLEST, len(axes)), np.float64)
        self.payload = [make_column(field.type, SMALLEST) for field in self.schema]
        self.columns = [KeyColumn(np.zeros(SMALLEST, getattr(np, dtype_of(key.type)))) for key in plan.keys[side]]
        self._index()

    def __len__(self) -> int:
        return self.next - self.base

    def _lay_out(self, numbers: NDArray[np.int64], size: int) -> None:
        """Go on with the rows of these numbers alone, in so many slots, a power of two."""
        self.next = self.base + len(numbers)
        old, new = numbers & (len(self.times) - 1), np.arange(self.base, self.next) & (size - 1)
        move_all = partial(move, size=size, old=old, new=new)
        self.times, self.keys = move_all(self.times), move_all(self.keys)
        for column in self.payload:
            column.move(size, old, new)
        self.columns = [
            KeyColumn(move_all(c.values), None if c.valid is None else move_all(c.valid)) for c in self.columns
        ]
        self._index()

    def _index(self) -> None:
        self.heads = np.full(2 * len(self.times), NONE, np.int64)
        self.older = np.full(len(self.times), NONE, np.int64)
        insert(self.keys, self.pers, self.base, self.next, self.heads, self.older)

    def add(self, rows: Rows) -> None:
        """Newer rows."""
        stop = self.next + len(rows)
        size = len(self.times)
        while stop - self.base > size:
            size *= 2
        if size > len(self.times):
            self._lay_out(np.arange(self.base, self.next), size)
        slots = np.arange(self.next, stop) & (size - 1)
        self.times[slots] = rows.time
        self._add_keys(slots, rows)
        for held, column in zip(self.payload, rows.payload.columns, strict=True):
            held.put(slots, column, self._oldest)
        insert(self.keys, self.pers, self.next, stop, self.heads, self.older)
        self.next = stop

    def add_row(self, row: Row) -> int:
        """One newer row without NULLs; returns its slot."""
        if self.next - self.base >= len(self.times):
            self._lay_out(np.arange(self.base, self.next), 2 * len(self.times))
        slot = self.next & (len(self.times) - 1)
        self.times[slot] = row.time
        for key, value in zip(self.columns, row.keys, strict=True):
            key.values[slot] = value
            if key.valid is not None:
                key.valid[slot] = True
        for k, (at, axis) in enumerate(self._axes):
            self.keys[slot, k] = axis.place_one(self.columns[at].values.item(slot))
        oldest = self._oldest
        for column, value in zip(self.payload, row.payload, strict=True):
            column.put_one(slot, value, oldest)
        insert(self.keys, self.pers, self.next, self.next + 1, self.heads, self.older)
        self.next += 1
        return slot

    @property
    def _oldest(self) -> int | None:
        """The slot of the oldest row that is held."""
        return self.base & (len(self.times) - 1) if self.next > self.base else None

    def _add_keys(self, slots: Slots, rows: Rows) -> None:
        self.keys[slots] = self.to_asked(rows)
        for at, key in enumerate(rows.keys):
            held = self.columns[at]
            held.values[slots] = key.values
            if key.valid is not None and held.valid is None:
                self.columns[at] = held = KeyColumn(held.values, np.ones(len(self.times), np.bool_))
            if held.valid is not None:
                held.valid[slots] = True if key.valid is None else key.valid

    def to_asked(self, rows: Rows) -> NDArray[np.float64]:
        """The keys of rows along the axes; NULL is NaN."""
        asked = np.empty((len(rows), len(self._axes)))
        for k, (at, axis) in enumerate(self._axes):
            key = rows.keys[at]
            asked[:, k] = axis.place(key.values)
            if key.valid is not None:
                asked[~key.valid, k] = np.nan
        return asked

    @property
    def held(self) -> Held:
        """The rows by slot."""
        return Held(self.columns, self.times, self.take)

    def expire(self, before: int) -> None:
        """Forget rows that lie before a time: the oldest at once, those behind a newer time once they are half."""
        if before > GREATEST:
            self.base = self.next
        else:
            self.base = pass_expired(self.times, self.base, self.next, max(before, NO_TIME))
        if self.next - self.base > self._enough:
            self._compact(before)

    def _compact(self, before: int) -> None:
        """Take out the rows that lie before a time, if they are half: a row far ahead would keep all behind it."""
        numbers = np.arange(self.base, self.next)
        live = numbers[self.times[numbers & (len(self.times) - 1)] >= before]
        if 2 * len(live) <= len(numbers):
            self._lay_out(live, len(self.times))
        self._enough = max(SMALLEST, 2 * len(live))

    def find(
        self, asked: NDArray[np.float64], times: Times, side: Side, window: Between, room: int = 1 << 12
    ) -> "list[tuple[Slots, Slots, int]]":
        """Candidates for rows of the other side, in pieces: rows that ask, slots, rows looked at."""
        found = []
        cursor = np.zeros(2, np.int64)
        bounds = self.low, self.high, self.slack, window.first, window.last
        ring = self.keys, self.times, self.pers, self.base, self.next - 1, self.heads, self.older
        while cursor[0] < len(times):
            probes, builds = np.empty(room, np.int64), np.empty(room, np.int64)
            before, looked = int(cursor[0]), int(cursor[1])
            count = probe(asked, times, side == "l", *bounds, *ring, probes, builds, cursor)
            if count:
                found.append((probes[:count], builds[:count], int(cursor[1]) - looked))
            if cursor[0] < len(times) and (count == 0 or cursor[0] == before):
                room *= 8
        return found

    def take(self, slots: Slots) -> list[pa.Array]:
        """Payload columns of the rows in these slots."""
        return [column.take(slots) for column in self.payload]

    def to_rows(self) -> Iterator[Rows]:
        """All rows that are held, in order, a number of them at a time."""
        for start in range(self.base, self.next, PIECE):
            yield self._to_rows(np.arange(start, min(start + PIECE, self.next)) & (len(self.times) - 1))

    def _to_rows(self, slots: Slots) -> Rows:
        payload = pa.RecordBatch.from_arrays(self.take(slots), schema=self.schema)
        return Rows(self.times[slots], tuple(column.take(slots) for column in self.columns), payload)

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays."""
        arrays = [self.times, self.keys, self.heads, self.older, *(key.values for key in self.columns)]
        return sum(array.nbytes for array in arrays) + sum(column.nbytes for column in self.payload)
