"""The law of `aggregate` and `asof`, executed literally: what a left row meets, and what is made of it.

Slow and plain on purpose, as `reference` is. One result for each admitted left row, decided once no match can come any
more. Its matches are put in the law's order ``(t, tie, content)``, and every aggregate is what Spark's would be over
the rows in this order.

>>> from streamjoin.reference import Batch
>>> from streamjoin.spec.window import within
>>> batch = Batch(left=[{"ts": 0}, {"ts": 90}], right=[{"ts": 5, "a": 2.0}, {"ts": 7, "a": 4.0}])
>>> for met in meet([batch], lambda l, r: True, within("10 microseconds")):
...     print(met.left["ts"], fold("avg", [r["a"] for r in met.right]), met.join_time)
0 3.0 10
90 None 100
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from streamjoin.reference import Batch, Row, _admit, _find_decision, _has_passed, _in_window, _order, content
from streamjoin.spec.window import Window

Direction = Literal["backward", "forward", "nearest"]


@dataclass(frozen=True)
class Met:
    """A left row that is decided, the right rows that it met in the law's order, and when it was decided."""

    left: Row
    right: list[Row]
    join_time: int


def meet(
    batches: Iterable[Batch],
    on: Callable[[Row, Row], bool | None],
    window: Window,
    *,
    time: tuple[str, str] = ("ts", "ts"),
    tie: Callable[[Row], int] = lambda _: 0,
    ended: bool = True,
) -> list[Met]:
    """Every left row that is decided; with ``ended=False`` only those that the last batch's watermark decides."""
    batches = list(batches)
    lefts, _, _ = _admit([(b.watermark, b.left) for b in batches], time[0])
    rights, _, _ = _admit([(b.watermark, b.right) for b in batches], time[1])
    watermark = math.inf if ended else batches[-1].watermark if batches else None
    found = []
    for l in lefts:
        last_chance, join_time = _find_decision(window, l, lefts, "left", 0)
        if _has_passed(watermark, last_chance):
            matches = [r for r in rights if _in_window(window, l, r, lefts, rights) and on(l.row, r.row)]
            matches.sort(key=lambda r: (r.t, tie(r.row), content(r.row)))
            found.append(Met(l.row, [r.row for r in matches], join_time))
    return found


def pick(met: Met, direction: Direction, *, exact: bool = True, time: tuple[str, str] = ("ts", "ts")) -> Row | None:
    """The match that `asof` takes: the latest before, the first after, or the nearer of these two."""
    t = met.left[time[0]]
    before = [r for r in met.right if r[time[1]] < t or (exact and r[time[1]] == t)]
    after = [r for r in met.right if r[time[1]] > t or (exact and r[time[1]] == t)]
    if direction == "backward":
        return before[-1] if before else None
    if direction == "forward":
        return after[0] if after else None
    if not before or not after:
        return before[-1] if before else after[0] if after else None
    return before[-1] if t - before[-1][time[1]] <= after[0][time[1]] - t else after[0]


def slide(
    batches: Iterable[Batch], size: int, every: int, by: Sequence[str] = (), *, time: str = "ts", ended: bool = True
) -> list[tuple[int, tuple[Any, ...], list[Row]]]:
    """Start, key and rows of every window that has ended, of the right rows; windows begin at multiples of `every`."""
    batches = list(batches)
    rows, _, _ = _admit([(b.watermark, b.right) for b in batches], time)
    watermark = math.inf if ended else batches[-1].watermark if batches else None
    windows: dict[tuple[int, tuple[Any, ...]], list[Row]] = {}
    for row in rows:
        start = row.t // every * every
        while start + size > row.t:
            windows.setdefault((start, tuple(row.row[name] for name in by)), []).append(row.row)
            start -= every
    return [(start, key, met) for (start, key), met in windows.items() if _has_passed(watermark, start + size - 1)]


def fold(op: str, values: Sequence[Any], by: Sequence[Any] = ()) -> Any:
    """One aggregate of values in the law's order; `by` are the second arguments of min_by and max_by."""
    known = [value for value in values if value is not None]
    match op:
        case "count":
            return len(known)
        case "first" | "last":
            return (values[0] if op == "first" else values[-1]) if values else None
        case "min_by" | "max_by":
            pairs = [(b, v) for b, v in zip(by, values, strict=True) if b is not None]
            chosen = None
            for b, v in pairs:  # the last of equal ones, as in Spark
                if chosen is None or not _is_before(op == "max_by", chosen[0], b):
                    chosen = (b, v)
            return chosen[1] if chosen else None
    if not known:
        return None
    match op:
        case "min" | "max":
            chosen = known[0]
            for value in known[1:]:
                chosen = value if _is_before(op == "max", value, chosen) else chosen
            return chosen + 0.0 if isinstance(chosen, float) else chosen  # 0.0 for -0.0, which is its equal
        case "sum":
            return _add(known)
        case "avg":
            return _add([v if isinstance(v, Decimal) else float(v) for v in known]) / len(known)
        case "var_pop" | "var_samp" | "stddev_pop" | "stddev_samp":
            return _spread(op, known)
    raise ValueError(f"not an aggregate: {op}")


def _is_before(greater: bool, one: Any, other: Any) -> bool:
    """Whether `one` is strictly less than `other`, or greater; -0.0 is 0.0, and NaN the greatest."""
    a, b = ((_order(value)[:2]) for value in (one, other))
    return b < a if greater else a < b


def _add(values: Sequence[Any]) -> Any:
    total = values[0] if isinstance(values[0], int | Decimal) else 0.0 + values[0]
    for value in values[1:]:
        total = total + value
    return total


def _spread(op: str, values: Sequence[Any]) -> float | None:
    """Variance and standard deviation by Welford's updates, one value after the other, as Spark does."""
    count, mean, squares = 0.0, 0.0, 0.0
    for value in map(float, values):
        count += 1
        delta = value - mean
        mean += delta / count
        squares += delta * (value - mean)
    if op.endswith("samp") and count == 1:
        return None
    variance = squares / (count - 1 if op.endswith("samp") else count)
    return math.sqrt(variance) if op.startswith("stddev") else variance
