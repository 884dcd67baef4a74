"""The verb `aggregate`: what every left row met, reduced to one row."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from streamjoin.arguments import PLANNERS, Delay, Frames, check_arguments
from streamjoin.layout import Layout
from streamjoin.predicate import On
from streamjoin.spec.window import Window

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from streamjoin.spark.build import Planned


def aggregate(
    left: Frames,
    right: Frames,
    *,
    on: "On | Column | Sequence[Column]",
    window: Window | None = None,
    time: str | tuple[str, str],
    delay: Delay | tuple[Delay, Delay] = None,
    select: Sequence[str],
    how: str = "left",
    layout: Layout | Literal["auto"] = "auto",
    late: Literal["drop", "keep"] = "drop",
    name: str = "streamjoin",
) -> "DataFrame":
    """Reduce all that a left row meets to one row, within the cells: no pair of rows ever leaves them.

    :param left: a DataFrame, or several that make up one logical stream; one result for each of its rows.
    :param right: likewise; both sides are streaming, or both are batch.
    :param on: SQL over ``l.`` and ``r.`` columns, a lambda over (l, r), or a list of column names to be equal.
    :param window: `within`, `between` or `tumbling`; None where `on` bounds the time between the rows.
    :param time: the event-time columns of left and right, timestamps; one name if it is the same.
    :param delay: how far a row may come behind the latest one of its stream and still count, as for `join`.
    :param select: the columns of the result: SQL over columns of l and over aggregates, which are count, count_if, sum,
        avg, min, max, var_pop, var_samp, stddev_pop, stddev_samp, min_by, max_by, first, last, bool_and and bool_or, of
        expressions over r and l. First and last go by time.
    :param how: "left", or "inner" to leave out left rows that met none.
    :param layout: as for `join`, of those that keep a left row in one cell: `Grid(n, 1)` or `Keyed(n)`.
    :param late: as for `join`. Of a kept left row the columns of l come out, of a right one time and reason alone; the
        aggregates are those of no row at all: NULL, and so is a count.
    :param name: under which it reports what it does in ``query.lastProgress.observedMetrics``.

    The result has the columns of `select` and `join_time`, the last time at which a match could have come: a row is
    emitted once the watermark has passed it. Every aggregate is what Spark's would be over the matches in the order of
    their time (ties by a hash of the whole row), so that a sum of doubles is the same each time. An expression
    within an aggregate is computed for every row of its side, whether it is matched or not.

    >>> from streamjoin import within
    >>> trades = spark.sql("SELECT timestamp '2026-01-05 09:30:00' AS ts, 20.1D AS price")
    >>> quotes = spark.sql("SELECT timestamp '2026-01-05 09:30:01' AS ts, explode(array(20.0D, 20.5D, 30D)) AS ask")
    >>> near = aggregate(
    ...     trades, quotes, on="abs(l.price - r.ask) <= 0.5", window=within("5 seconds"), time="ts",
    ...     select=["l.price", "count(*) AS quotes", "avg(r.ask) AS mean", "min(r.ask - l.price) < 0 AS below"],
    ... )
    >>> near.drop("join_time").show()
    +-----+------+-----+-----+
    |price|quotes| mean|below|
    +-----+------+-----+-----+
    | 20.1|     2|20.25| true|
    +-----+------+-----+-----+
    <BLANKLINE>
    """
    return _plan(locals()).result()


def _plan(arguments: Mapping[str, Any]) -> "Planned":
    from streamjoin.spark.aggregated import plan_aggregate

    return plan_aggregate(**check_arguments(arguments, reduces=True))


PLANNERS[aggregate] = _plan
