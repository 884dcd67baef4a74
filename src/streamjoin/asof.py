"""The verb `asof`: to every left row the one right row that is nearest in time."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from streamjoin.arguments import PLANNERS, Delay, Frames, check_arguments
from streamjoin.layout import Layout
from streamjoin.predicate import On
from streamjoin.spec.by import list_columns
from streamjoin.spec.duration import Duration

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from streamjoin.spark.build import Planned

Direction = Literal["backward", "forward", "nearest"]


def asof(
    left: Frames,
    right: Frames,
    *,
    by: str | Sequence[str] | None = None,
    on: "On | Column | Sequence[Column] | None" = None,
    time: str | tuple[str, str],
    delay: Delay | tuple[Delay, Delay] = None,
    tolerance: Duration | None = None,
    direction: Direction = "backward",
    allow_exact_matches: bool = True,
    how: str = "left",
    select: Sequence[str] | None = None,
    layout: Layout | Literal["auto"] = "auto",
    late: Literal["drop", "keep"] = "drop",
    suffixes: tuple[str, str] = ("_l", "_r"),
    name: str = "streamjoin",
) -> "DataFrame":
    """Join to every left row the last right row before it, the first one after it, or the nearest.

    :param left: a DataFrame, or several that make up one logical stream; one result for each of its rows.
    :param right: likewise; both sides are streaming, or both are batch.
    :param by: columns of both sides that must be equal, one name or several.
    :param on: any further condition: SQL over ``l.`` and ``r.`` columns, or a lambda over (l, r). The nearest row is
        taken of those that satisfy it.
    :param time: the event-time columns of left and right, timestamps; one name if it is the same.
    :param delay: how far a row may come behind the latest one of its stream and still count, as for `join`.
    :param tolerance: how far in time the right row may lie from the left one, such as "1 minute"; included.
        It must be given.
    :param direction: "backward" for the last right row at or before the left one, "forward" for the first at or after
        it, "nearest" for the nearer of these two, at equal distance the earlier one.
    :param allow_exact_matches: whether a right row of the very same time counts.
    :param how: "left", or "inner" to leave out left rows without a match.
    :param select: the columns of the result, such as ``["l.id", "r.price AS ask"]``; by default all, `by` once.
    :param layout: as for `join`, of those that keep a left row in one cell: `Grid(n, 1)` or `Keyed(n)`.
    :param late: "drop", or "keep" for the rows that are late or have no time, as for `join`.
    :param suffixes: for names that both sides have.
    :param name: under which it reports what it does in ``query.lastProgress.observedMetrics``.

    The names are those of pandas' `merge_asof` and Polars' `join_asof`. The result has the columns of both sides and
    `join_time`, the last time at which a match could have come: a row is emitted once the watermark has passed it. Of
    right rows of one time that with the greatest hash of the whole row comes last, so that the result is the same each
    time.

    >>> trades = spark.sql("SELECT timestamp '2026-01-05 09:30:05' AS ts, 'A' AS sym, 20.1D AS price")
    >>> quotes = spark.sql('''
    ...     SELECT timestampadd(SECOND, at, timestamp '2026-01-05 09:30:00') AS ts, 'A' AS sym, ask
    ...     FROM VALUES (1, 20.0D), (3, 99D), (7, 20.2D) AS (at, ask)''')
    >>> before = asof(trades, quotes, by="sym", on="r.ask < 2 * l.price", time="ts", tolerance="1 minute")
    >>> before.select("sym", "price", "ask", "ts_r").show()
    +---+-----+----+-------------------+
    |sym|price| ask|               ts_r|
    +---+-----+----+-------------------+
    |  A| 20.1|20.0|2026-01-05 09:30:01|
    +---+-----+----+-------------------+
    <BLANKLINE>
    """
    return _plan(locals()).result()


def _plan(arguments: Mapping[str, Any]) -> "Planned":
    from streamjoin.plan.asof import find_window, read_pick
    from streamjoin.spark.picked import plan_asof

    on, pick = arguments["on"], read_pick(arguments["direction"], arguments["allow_exact_matches"])
    by, window = list_columns(arguments["by"]), find_window(arguments["tolerance"], pick)
    checked = check_arguments({**arguments, "window": window, "on": "true" if on is None else on}, reduces=True)
    return plan_asof(**checked, by=by, pick=pick)


PLANNERS[asof] = _plan
