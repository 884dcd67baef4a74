"""The law, executed literally: a double loop over whole histories.

Slow and plain on purpose. Everything fast in streamjoin is tested against this file, and this file against
DuckDB. Time is an int of microseconds. The result is a function of the admitted rows alone; the cut into
batches shows only in who is admitted and, for an unordered semi join, in which match released a row.

>>> from streamjoin.spec.window import within
>>> batch = Batch(left=[{"ts": 0, "x": 1}], right=[{"ts": 5, "a": 2}, {"ts": 7, "a": 9}])
>>> result = join([batch], lambda l, r: abs(l["x"] - r["a"]) <= 1, within("5 microseconds"))
>>> result.rows
[Joined(left={'ts': 0, 'x': 1}, right={'ts': 5, 'a': 2}, join_time=5)]
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from streamjoin.errors import StreamJoinError
from streamjoin.spec.how import HOWS, How
from streamjoin.spec.window import Between, Both, Last, Tumbling, Window

Row = Mapping[str, Any]
Tie = Callable[[Literal["left", "right"], Row], int]
"""Gives the tie of a row: 64 bits that stand for all it holds. On Spark it is a hash."""


@dataclass(frozen=True)
class Batch:
    """What arrives in one micro-batch, and the watermark it runs under (None: there is none yet)."""

    left: Iterable[Row] = ()
    right: Iterable[Row] = ()
    watermark: int | None = None


@dataclass(frozen=True)
class Joined:
    """One result; the side that has no part in it is None."""

    left: Row | None
    right: Row | None
    join_time: int


@dataclass(frozen=True)
class Result:
    """All results, and the rows that were dropped: late ones, and those whose time is NULL."""

    rows: list[Joined]
    late_left: int
    late_right: int
    invalid: int


@dataclass(frozen=True)
class Dropped:
    """A row that has no part in any result; `watermark` is that of its batch."""

    side: Literal["left", "right"]
    row: Row
    reason: Literal["late", "no time"]
    watermark: int | None


@dataclass(eq=False)
class _Admitted:
    row: Row
    t: int
    batch: int
    position: int = -1  # in the merged order of both streams


def join(
    batches: Iterable[Batch],
    on: Callable[[Row, Row], bool | None],
    window: Window,
    how: How = "inner",
    *,
    time: tuple[str, str] = ("ts", "ts"),
    tie: Tie = lambda *_: 0,
    ordered: bool = False,
    ended: bool = True,
) -> Result:
    """Join two histories; with ``ended=False`` only what the last batch's watermark allows to be emitted.

    With `ordered` the results are a sequence, and what later batches bring is behind it.
    """
    if how not in HOWS:
        raise StreamJoinError(f"how: expected one of {', '.join(HOWS)}; got {how!r}")
    batches = list(batches)
    lefts, late_left, null_left = _admit([(b.watermark, b.left) for b in batches], time[0])
    rights, late_right, null_right = _admit([(b.watermark, b.right) for b in batches], time[1])
    _number(lefts, rights, tie)

    pairs = [(l, r) for l in lefts for r in rights if _in_window(window, l, r, lefts, rights) and on(l.row, r.row)]
    watermark = math.inf if ended else batches[-1].watermark if batches else None
    waits_for_order = ordered or isinstance(window, Last | Both)
    if waits_for_order:  # a row yet to come may go first, or push another out of its count window
        pairs = [(l, r) for l, r in pairs if _has_passed(watermark, max(l.t, r.t))]

    rows = []
    if how in ("inner", "left", "right", "full"):
        rows += [Joined(l.row, r.row, max(l.t, r.t)) for l, r in pairs]
    if how == "left_semi":
        for l in lefts:
            # The match that released it: of the first batch that held any, the earliest.
            released = [(0 if waits_for_order else max(l.batch, r.batch), max(l.t, r.t)) for m, r in pairs if m is l]
            if released:
                rows.append(Joined(l.row, None, min(released)[1]))
    history = max((row.t for row in lefts + rights), default=0)
    if how in ("left", "full", "left_anti"):
        for l in lefts:
            last_chance, join_time = _find_decision(window, l, lefts, "left", history)
            if not any(m is l for m, _ in pairs) and _has_passed(watermark, last_chance):
                rows.append(Joined(l.row, None, join_time))
    if how in ("right", "full"):
        for r in rights:
            last_chance, join_time = _find_decision(window, r, rights, "right", history)
            if not any(m is r for _, m in pairs) and _has_passed(watermark, last_chance):
                rows.append(Joined(None, r.row, join_time))

    if ordered:
        rows = sorted((j for j in rows if _has_passed(watermark, j.join_time)), key=lambda j: _order_of(j, time, tie))
    return Result(rows, late_left, late_right, null_left + null_right)


def _admit(arrivals: list[tuple[int | None, Iterable[Row]]], time: str) -> tuple[list[_Admitted], int, int]:
    """A row is late iff ``t < W`` of its own batch; a row without a time is dropped. Both are counted."""
    admitted, late, null = [], 0, 0
    for batch, (watermark, rows) in enumerate(arrivals):
        for row in rows:
            t = row[time]
            if t is None:
                null += 1
            elif watermark is not None and t < watermark:
                late += 1
            else:
                admitted.append(_Admitted(row, t, batch))
    return admitted, late, null


def list_dropped(batches: Iterable[Batch], time: tuple[str, str] = ("ts", "ts")) -> list[Dropped]:
    """The rows that `join` drops, each once: what is not admitted, whatever the condition, the window or `how`."""
    found: list[Dropped] = []
    for batch in batches:
        left, right = (
            [row for row in rows if not _admit([(batch.watermark, [row])], column)[0]]
            for rows, column in zip((batch.left, batch.right), time, strict=True)
        )
        found += [Dropped("left", row, _explain(row[time[0]]), batch.watermark) for row in left]
        found += [Dropped("right", row, _explain(row[time[1]]), batch.watermark) for row in right]
    return found


def _explain(time: int | None) -> Literal["late", "no time"]:
    return "no time" if time is None else "late"


def _number(lefts: list[_Admitted], rights: list[_Admitted], tie: Tie) -> None:
    """Number the rows in the merged total order ``(t, left before right, tie, content)``."""
    both = [(row.t, 0, tie("left", row.row), content(row.row), row) for row in lefts]
    both += [(row.t, 1, tie("right", row.row), content(row.row), row) for row in rights]
    for position, (*_, row) in enumerate(sorted(both, key=lambda entry: entry[:4])):
        row.position = position


def _in_window(window: Window, l: _Admitted, r: _Admitted, lefts: list[_Admitted], rights: list[_Admitted]) -> bool:
    match window:
        case Between(lower, upper, closed):
            d = r.t - l.t
            after_start = lower <= d if closed in ("both", "left") else lower < d
            before_end = d <= upper if closed in ("both", "right") else d < upper
            return after_start and before_end
        case Tumbling(size, offset):
            return (l.t - offset) // size == (r.t - offset) // size
        case Last(left, right):
            if l.position < r.position:
                return sum(l.position <= other.position < r.position for other in lefts) <= left
            return sum(r.position <= other.position < l.position for other in rights) <= right
        case Both(count, time):
            return _in_window(count, l, r, lefts, rights) and _in_window(time, l, r, lefts, rights)
    raise TypeError(f"not a window: {window!r}")


def _find_decision(
    window: Window, row: _Admitted, stream: list[_Admitted], side: Literal["left", "right"], history: int
) -> tuple[float, int]:
    """The last time at which a partner of `row` may have, and the `join_time` of `row` if none came.

    A partner may lie wholly in the past (``upper < 0``); then the row is decided when it comes, not before.
    """
    match window:
        case Between(lower, upper):
            last_chance = row.t + (upper if side == "left" else -lower)
            return last_chance, max(row.t, last_chance)
        case Tumbling(size, offset):
            end = ((row.t - offset) // size + 1) * size + offset
            return end - 1, end
        case Last(left, right):
            # The row that pushes it out of its count window; without one it waits until the input ends.
            newer = sorted((o for o in stream if o.position >= row.position), key=lambda o: o.position)
            kept = left if side == "left" else right
            return (newer[kept].t, newer[kept].t) if kept < len(newer) else (math.inf, history)
        case Both(count, time):
            # Who is among the last n when the row comes is open until then, even if its partners lie in the past.
            chance, join_time = _find_decision(time, row, stream, side, history)
            return min(_find_decision(count, row, stream, side, history), (max(row.t, chance), join_time))
    raise TypeError(f"not a window: {window!r}")


def _has_passed(watermark: float | None, t: float) -> bool:
    """Whether no row at or before `t` can be admitted any more; a finished input has passed everything."""
    return watermark is not None and (watermark == math.inf or t < watermark)


def _order_of(joined: Joined, time: tuple[str, str], tie: Tie) -> tuple[Any, ...]:
    """``(join_time, t_l, t_r, tie_l, tie_r, contents)``, an absent side first."""
    left, right = joined.left, joined.right
    return (
        joined.join_time,
        _order(left and left[time[0]]),
        _order(right and right[time[1]]),
        _order(left and tie("left", left)),
        _order(right and tie("right", right)),
        content(left) if left else (),
        content(right) if right else (),
    )


def content(row: Row) -> tuple[Any, ...]:
    """A row's values in column order, as something that sorts as Spark sorts them: NULL first, NaN last."""
    return tuple(_order(value) for value in row.values())


def _order(value: Any) -> tuple[Any, ...]:
    match value:
        case None:
            return (0,)
        case float() if math.isnan(value):
            return (2,)
        case float():
            return (1, value, math.copysign(1, value))  # -0.0 equals 0.0 but is other content: a total order
        case list() | tuple():
            return (1, tuple(_order(item) for item in value))
        case dict():
            return (1, tuple(sorted((_order(k), _order(v)) for k, v in value.items())))
        case _:
            return (1, value)
