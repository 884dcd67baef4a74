"""The reference and DuckDB agree on whole histories, for every window, every `closed` and every `how`.

The SQL is written from the law, not from `reference.py`: outer and anti joins are DuckDB's own, buckets its
`time_bucket`, count windows a matter of `row_number` and running counts. Multiplicities and `join_time` must be
the same, for matches and for rows that found none.
"""

# Hypothesis holds on to test modules until the interpreter ends, where DuckDB reports its types as leaked
# if an annotation still refers to them.
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamjoin import reference
from streamjoin.reference import Batch, Joined, Row
from streamjoin.spec.how import HOWS, How
from streamjoin.spec.window import Between, Both, Last, Tumbling, Window
from tests.strategies import (
    HISTORIES,
    LEFT_COLUMNS,
    PREDICATES,
    RIGHT_COLUMNS,
    History,
    Predicate,
    for_each_window,
    multiset,
)


@dataclass(frozen=True)
class SqlWindow:
    """A window in SQL: the condition on a pair `l`, `r`; and when an unmatched row of each side is decided."""

    condition: str
    left_decided: str
    right_decided: str


def in_sql(window: Window) -> SqlWindow:
    match window:
        case Between(lower, upper, closed):
            open_ends = {"both": [], "left": [upper], "right": [lower], "neither": [lower, upper]}[closed]
            return SqlWindow(
                f"r.ts - l.ts BETWEEN {lower} AND {upper}" + "".join(f" AND r.ts - l.ts <> {end}" for end in open_ends),
                f"greatest(ts, ts + {upper})",
                f"greatest(ts, ts - {lower})",
            )
        case Tumbling(size, offset):
            bucket = f"time_bucket(to_microseconds({size}), make_timestamp({{}}), make_timestamp({offset}))"
            end = f"epoch_us({bucket.format('ts')}) + {size}"
            return SqlWindow(f"{bucket.format('l.ts')} = {bucket.format('r.ts')}", end, end)
        case Last():
            return SqlWindow(
                _among_last(window),
                f"coalesce({_pushed_out(window.left)}, history_end)",
                f"coalesce({_pushed_out(window.right)}, history_end)",
            )
        case Both(count, time):
            in_time = in_sql(time)
            return SqlWindow(
                f"{_among_last(count)} AND {in_time.condition}",
                f"least({_pushed_out(count.left)}, {in_time.left_decided})",  # least() skips NULL
                f"least({_pushed_out(count.right)}, {in_time.right_decided})",
            )
    raise TypeError(window)


def _among_last(window: Last) -> str:
    """`lefts` and `rights` are how many rows of each side came up to a row's place, itself included."""
    return (
        f"CASE WHEN l.place < r.place THEN r.lefts - l.lefts < {window.left} "
        f"ELSE l.rights - r.rights < {window.right} END"
    )


def _pushed_out(kept: int) -> str:
    """The time of the row that pushes this one out of its side's last `kept`, NULL if none came."""
    return f"lead(ts, {kept}) OVER (ORDER BY place)"


PAIRED = """
    SELECT l.ts, l.key, l.number, r.ts, r.key, r.number,
        CASE WHEN r.place IS NULL THEN l.decided WHEN l.place IS NULL THEN r.decided ELSE greatest(l.ts, r.ts) END
"""
RELEASED = "SELECT DISTINCT ON (l.place) l.ts, l.key, l.number, NULL, NULL, NULL, greatest(l.ts, r.ts)"
ALONE = "SELECT l.ts, l.key, l.number, NULL, NULL, NULL, l.decided"
JOINS: dict[How, str] = {
    "inner": PAIRED + "FROM l INNER JOIN r ON {condition}",
    "left": PAIRED + "FROM l LEFT JOIN r ON {condition}",
    "right": PAIRED + "FROM l RIGHT JOIN r ON {condition}",
    "full": PAIRED + "FROM l FULL JOIN r ON {condition}",
    "left_semi": RELEASED + " FROM l INNER JOIN r ON {condition} ORDER BY l.place, greatest(l.ts, r.ts)",
    "left_anti": ALONE + " FROM l ANTI JOIN r ON {condition}",
}
QUERY = """
    WITH arrived AS (
        SELECT unnest(?::VARCHAR[]) AS side, unnest(?::BIGINT[]) AS ts,
            unnest(?::INTEGER[]) AS key, unnest(?::DOUBLE[]) AS number
    ), placed AS (
        SELECT *, row_number() OVER (
            ORDER BY ts, side = 'right', key NULLS FIRST, number NULLS FIRST, signbit(number) DESC
        ) AS place
        FROM arrived WHERE ts IS NOT NULL
    ), counted AS (
        SELECT *,
            count(*) FILTER (side = 'left') OVER (ORDER BY place) AS lefts,
            count(*) FILTER (side = 'right') OVER (ORDER BY place) AS rights,
            max(ts) OVER () AS history_end
        FROM placed
    ),
    l AS MATERIALIZED (SELECT *, key AS x, {left_decided} AS decided FROM counted WHERE side = 'left'),
    r AS MATERIALIZED (SELECT *, key AS a, {right_decided} AS decided FROM counted WHERE side = 'right')
    {joins}
"""


def ask(
    duck: duckdb.DuckDBPyConnection, history: History, predicate: Predicate, window: SqlWindow
) -> dict[How, list[Joined]]:
    """The results of every `how`, in one query."""
    condition = f"{predicate.sql} AND {window.condition}"
    query = QUERY.format(
        left_decided=window.left_decided,
        right_decided=window.right_decided,
        joins=" UNION ALL ".join(
            f"SELECT '{how}', * FROM ({join.format(condition=condition)})" for how, join in JOINS.items()
        ),
    )
    rows = [("left", *row.values()) for row in history.left] + [("right", *row.values()) for row in history.right]
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], [], []]
    results: dict[How, list[Joined]] = {how: [] for how in HOWS}
    for how, *values, join_time in duck.execute(query, columns).fetchall():
        results[how].append(Joined(_row(LEFT_COLUMNS, values[:3]), _row(RIGHT_COLUMNS, values[3:]), join_time))
    return results


def _row(columns: tuple[str, ...], values: list[object]) -> Row | None:
    """One side of a result; every admitted row has a time, so without one the side has no part in it."""
    return None if values[0] is None else dict(zip(columns, values, strict=True))


@pytest.fixture(scope="module")
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


@for_each_window
@given(data=st.data())
def test_the_reference_agrees_with_duckdb(
    duck: duckdb.DuckDBPyConnection, windows: st.SearchStrategy[Window], data: st.DataObject
) -> None:
    window, predicate, history = data.draw(windows), data.draw(PREDICATES), data.draw(HISTORIES)
    expected = ask(duck, history, predicate, in_sql(window))
    for how in HOWS:
        joined = reference.join([Batch(history.left, history.right)], predicate.holds, window, how)
        assert multiset(joined.rows) == multiset(expected[how]), how
        assert joined.invalid == sum(row["ts"] is None for row in history.left + history.right)
