"""The verb `sliding_aggregate`: aggregates of one stream in windows that overlap."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from streamjoin.arguments import PLANNERS, Delay, Frames
from streamjoin.errors import StreamJoinError
from streamjoin.layout import Layout
from streamjoin.spec.by import list_columns
from streamjoin.spec.duration import Duration, microseconds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from streamjoin.spark.build import Planned


def sliding_aggregate(
    stream: Frames,
    *,
    size: Duration,
    every: Duration,
    by: str | Sequence[str] | None = None,
    time: str,
    delay: Delay = None,
    select: Sequence[str],
    layout: Layout | Literal["auto"] = "auto",
    name: str = "streamjoin",
) -> "DataFrame":
    """Aggregate a stream in windows of `size` that begin every `every`.

    The rows are those of Spark's ``groupBy(window(...), by)``, which copies a row into every window that holds it:
    3,600 times for an hour that slides by a second. Here a row touches one *pane*, as long as the greatest common
    divisor of both lengths, and windows are put together of panes.

    :param stream: a DataFrame, or several that make up one logical stream; streaming or batch.
    :param size: how long a window is, such as "1 hour".
    :param every: how far the next one begins after it; at most `size`. Windows are aligned to the epoch (UTC).
    :param by: the columns to group by, one name or several.
    :param time: the event-time column, a timestamp.
    :param delay: how far a row may come behind the latest one of its stream and still count, as for `join`.
    :param select: SQL over aggregates: count, count_if, sum, avg, min, max, var_pop, var_samp, stddev_pop, stddev_samp,
        bool_and and bool_or, such as ``["count(*) AS n", "avg(price) AS mean"]``.
    :param layout: which cell a group belongs to: `Keyed(n)`, or "auto".
    :param name: under which it reports what it does in ``query.lastProgress.observedMetrics``.

    The result has `window` (start and end), the columns of `by`, those of `select`, and `window_time`, the last
    microsecond of the window, which is its event time for operators that follow. A window is emitted once the watermark
    has passed its end.

    >>> ticks = spark.sql("SELECT timestamp_seconds(id) AS ts, id % 2 AS sym, id / 1D AS price FROM range(4)")
    >>> rolling = sliding_aggregate(
    ...     ticks, size="2 seconds", every="1 second", by="sym", time="ts",
    ...     select=["count(*) AS n", "max(price) AS high"],
    ... )
    >>> rolling.where("sym = 1").selectExpr("unix_seconds(window.end) AS until", "n", "high").orderBy("until").show()
    +-----+---+----+
    |until|  n|high|
    +-----+---+----+
    |    2|  1| 1.0|
    |    3|  1| 1.0|
    |    4|  1| 3.0|
    |    5|  1| 3.0|
    +-----+---+----+
    <BLANKLINE>
    """
    return _plan(locals()).result()


def _plan(arguments: Mapping[str, Any]) -> "Planned":
    from streamjoin.spark.slid import plan_sliding

    size, every, time, layout, name = (arguments[key] for key in ("size", "every", "time", "layout", "name"))
    lengths = {"size": microseconds(size, "size"), "every": microseconds(every, "every")}
    if not 0 < lengths["every"] <= lengths["size"]:
        raise StreamJoinError(
            f"every: got {every!r} with size={size!r}; expected a duration above 0 and at most as long as size"
        )
    names = list_columns(arguments["by"])
    if not isinstance(time, str):
        raise StreamJoinError(f"time: got {time!r}; expected the name of the event-time column")
    if layout != "auto" and not isinstance(layout, Layout):
        raise StreamJoinError(f"layout: got {layout!r}; expected 'auto' or a layout such as Keyed(4)")
    if not isinstance(name, str) or not name:
        raise StreamJoinError(f"name: got {name!r}; expected a word for its metrics")
    chosen = {"by": names, "layout": None if layout == "auto" else layout}
    return plan_sliding(**{**arguments, **lengths, **chosen})


PLANNERS[sliding_aggregate] = _plan
