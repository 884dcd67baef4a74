"""Hypothesis strategies for whole histories: rows, windows, predicates, and the ways a history can arrive.

Times span a dozen microseconds and values are few, so ties, duplicates, NULLs and rows on the very edge of a
window are the rule. Whatever joins rows, be it the reference, a worker or Spark, is tested on these.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from operator import and_
from typing import get_args

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from streamjoin import between, last, tumbling, within
from streamjoin.reference import Batch, Joined, Row
from streamjoin.spec.window import Closed, Window

CLOSED: tuple[Closed, ...] = get_args(Closed)
LEFT_COLUMNS = ("ts", "x", "y")
RIGHT_COLUMNS = ("ts", "a", "b")
LATEST = 6
"""Times run from -LATEST to LATEST."""


def us(count: int) -> timedelta:
    """So many microseconds, as a user would give them to a window."""
    return timedelta(microseconds=count)


def multiset(rows: Iterable[Joined]) -> Counter[str]:
    """Results in no order, each with its multiplicity; as text, because NaN differs from itself and -0.0 is 0.0."""
    return Counter(map(repr, rows))


# Rows


@dataclass(frozen=True)
class History:
    """All rows that ever arrive, in no particular order."""

    left: list[Row]
    right: list[Row]


TIMES = [*sorted(range(-LATEST, LATEST + 1), key=abs), None]
KEYS = [0, 1, 2, None]
FLOATS = [0.0, -0.0, float("nan"), None]


@st.composite
def streams(draw: DrawFn, columns: tuple[str, str, str]) -> list[Row]:
    """The rows of one side, with some duplicates, and twins that differ in the last column only."""
    every = [dict(zip(columns, values, strict=True)) for values in itertools.product(TIMES, KEYS, FLOATS)]
    rows = draw(st.lists(st.sampled_from(every), max_size=7))
    if not rows:
        return []
    again = st.sampled_from(rows)
    duplicates = draw(st.lists(again, max_size=2))
    twins = draw(
        st.lists(
            st.builds(lambda row, number: {**row, columns[-1]: number}, again, st.sampled_from(FLOATS)), max_size=2
        )
    )
    return rows + duplicates + twins


HISTORIES = st.builds(History, streams(LEFT_COLUMNS), streams(RIGHT_COLUMNS))


# Predicates


@dataclass(frozen=True)
class Predicate:
    """One condition twice: as SQL that DuckDB and Spark read alike, and in Python with None for NULL."""

    sql: str
    holds: Callable[[Row, Row], bool | None]


def _unless_null(compare: Callable[[int, int], bool]) -> Callable[[Row, Row], bool | None]:
    return lambda l, r: None if l["x"] is None or r["a"] is None else compare(l["x"], r["a"])


PREDICATES = st.sampled_from(
    [
        Predicate("true", lambda l, r: True),
        Predicate("l.x = r.a", _unless_null(lambda x, a: x == a)),
        Predicate("abs(l.x - r.a) <= 1", _unless_null(lambda x, a: abs(x - a) <= 1)),
    ]
)


# Windows


def durations(least: int, greatest: int) -> SearchStrategy[timedelta]:
    return st.integers(least, greatest).map(us)


def _betweens(closed: Closed) -> SearchStrategy[Window]:
    """Around zero, wholly in the past, wholly in the future."""
    ends = st.sampled_from([(-LATEST, LATEST), (-LATEST, -1), (1, LATEST)]).flatmap(
        lambda reach: st.tuples(durations(*reach), durations(*reach))
    )
    return ends.map(lambda pair: between(min(pair), max(pair), closed=closed))


def _withins(closed: Closed) -> SearchStrategy[Window]:
    return st.builds(within, durations(0, LATEST), closed=st.just(closed))


def _uneven_withins(closed: Closed) -> SearchStrategy[Window]:
    stay = durations(0, LATEST)
    return st.builds(within, left=stay, right=stay, closed=st.just(closed))


_SPANS = {"within": _withins, "within(left, right)": _uneven_withins, "between": _betweens}
_TUMBLING = st.builds(tumbling, durations(1, LATEST), offset=durations(-LATEST, LATEST))
_COUNTS = st.tuples(st.integers(0, 4), st.integers(0, 4)).filter(any)
_LAST = _COUNTS.map(lambda counts: last(left=counts[0], right=counts[1]))


def _and_last(time: SearchStrategy[Window]) -> SearchStrategy[Window]:
    return st.builds(and_, _LAST, time)


WINDOWS: dict[str, SearchStrategy[Window]] = {
    **{f"{name}, closed={closed}": spans(closed) for name, spans in _SPANS.items() for closed in CLOSED},
    "tumbling": _TUMBLING,
    "last(n)": st.integers(1, 4).map(last),
    "last(left, right)": _LAST,
    **{
        f"last & time, closed={closed}": _and_last(st.one_of([spans(closed) for spans in _SPANS.values()]))
        for closed in CLOSED
    },
    "last & tumbling": _and_last(_TUMBLING),
}
"""Every kind of window with every `closed`, by name."""


def for_each_window(test: Callable[..., None]) -> Callable[..., None]:
    """Run a property once for each kind of window; there are twenty, so a longer profile is cut short."""
    fewer = settings(max_examples=min(40, settings().max_examples))
    return pytest.mark.parametrize("windows", WINDOWS.values(), ids=WINDOWS)(fewer(test))


ANY_WINDOW = st.one_of(list(WINDOWS.values()))


# Arrival


@st.composite
def arrivals(draw: DrawFn, history: History, *, late: bool) -> list[Batch]:
    """Let a history arrive in batches that run under Spark's watermark: the slower input's latest row - delay.

    A batch covers a stretch of time, but some rows are held up for a batch or two. The delay is the least for
    which no row is late, or a shorter one where `late` allows it. At least the last batch is empty.
    """
    stretch = draw(st.integers(3, 2 * LATEST + 1))
    count = 2 * LATEST // stretch + 4
    batches: list[tuple[list[Row], list[Row]]] = [([], []) for _ in range(count)]
    backwards = draw(st.booleans())
    for side, rows in enumerate((history.left, history.right)):
        for row in reversed(rows) if backwards else rows:
            due = 0 if row["ts"] is None else (row["ts"] + LATEST) // stretch
            batches[due + draw(st.sampled_from([0, 0, 1, 2]))][side].append(row)

    latest = [_slower_input(batches[:k]) for k in range(count)]
    behind = [
        latest[k] - row["ts"]
        for k, batch in enumerate(batches)
        for row in itertools.chain(*batch)
        if latest[k] is not None and row["ts"] is not None
    ]
    least_delay = max([0, *behind])
    delay = draw(st.integers(0, least_delay)) if late else least_delay
    return [
        Batch(*batch, watermark=None if slower is None else slower - delay)
        for batch, slower in zip(batches, latest, strict=True)
    ]


def _slower_input(batches: list[tuple[list[Row], list[Row]]]) -> int | None:
    """The lesser of the two sides' greatest times; None before both have one."""
    times = [[row["ts"] for batch in batches for row in batch[side] if row["ts"] is not None] for side in (0, 1)]
    return min(map(max, times)) if all(times) else None
