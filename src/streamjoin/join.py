"""The verbs: they check the arguments and hand them to a runtime."""

from collections.abc import Mapping, Sequence
from inspect import signature
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from streamjoin.arguments import PLANNERS, Delay, Frames, check_arguments
from streamjoin.errors import StreamJoinError
from streamjoin.layout import Layout
from streamjoin.predicate import On
from streamjoin.spec.how import emits_unmatched, how_of
from streamjoin.spec.window import Window

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from streamjoin.flow.checkpoint import CheckpointKey
    from streamjoin.spark.build import Planned
    from streamjoin.spark.explain import Explanation


def join(
    left: Frames,
    right: Frames,
    *,
    on: "On | Column | Sequence[Column]",
    window: Window | None = None,
    time: str | tuple[str, str],
    delay: Delay | tuple[Delay, Delay] = None,
    how: str = "inner",
    select: Sequence[str] | None = None,
    layout: Layout | Literal["auto"] = "auto",
    ordered: bool = False,
    late: Literal["drop", "keep"] = "drop",
    result_id: bool = False,
    suffixes: tuple[str, str] = ("_l", "_r"),
    name: str = "streamjoin",
) -> "DataFrame":
    """Join two streams (or two batch DataFrames) on any condition within a window of time.

    :param left: a DataFrame, or several that make up one logical stream.
    :param right: likewise; both sides are streaming, or both are batch.
    :param on: SQL over ``l.`` and ``r.`` columns, a lambda over (l, r), a `Column` of such columns, or a list of names:
        of columns that are equal, and are one in the result, as with Spark's USING.
    :param window: `within`, `between`, `tumbling`, `last`, or ``last(...) & within(...)``; None where `on` bounds the
        time between the rows.
    :param time: the event-time columns of left and right, timestamps; one name if it is the same. A TIMESTAMP_NTZ is
        read as UTC.
    :param delay: how far a row may come behind the latest one of its stream and still count: one value, or one for each
        side. It is for inputs that have no watermark of their own; a batch join needs none.
    :param how: "inner", "left", "right", "full", "left_semi" or "left_anti", or another of Spark's names for them.
    :param select: the columns of the result, such as ``["l.id", "r.price AS ask"]``; what is not asked for is not kept.
    :param layout: which worker compares which pair: `Grid`, `Scale`, `Cell`, `Keyed`, or "auto" for one cell per
        shuffle partition, 16 at most, laid out by the condition (``explain`` says how and why).
    :param ordered: results come in one order, ``(join_time, left time, right time, ties)``, in one partition: the same
        sequence for every way in which the same rows arrive, and after every restart. Each result waits until the
        watermark has passed it. The ties are hashes of whole rows. A shuffle, a sort or a join that follows loses the
        order (``docs/guides/order.md``).
    :param late: "drop", or "keep" for the rows before the watermark and those without a time: each comes out once,
        beside the results, with its reason in `late_reason`, NULL in a result, its `late_side` and the
        `late_watermark` (``docs/guides/late-rows.md``).
    :param result_id: a column `result_id` more: the hashes of both whole rows as 32 hexadecimal digits ("-" for an
        absent row), the same after every restart, by which the results of an at-least-once sink are told apart. Rows of
        equal content have equal ones.
    :param suffixes: for names that both sides have.
    :param name: under which the join reports what it does in ``query.lastProgress.observedMetrics``.

    The result is an ordinary DataFrame: the columns of left, those of right (not of a semi or anti join), and
    `join_time`, the later of the two times, which is its event time for operators that follow. An unmatched row of
    a preserved side is emitted once the watermark has passed the last time a partner could have; that is its
    `join_time`.
    Under ``last(n)`` a row waits until the watermark has passed it: only then is it certain which rows came before it.
    Rows before the watermark of their micro-batch and rows without a time have no part in results, and are counted. A
    part of `on` that speaks of one side alone keeps rows out of the join, but of a side that is preserved it only
    decides on matches.

    >>> from streamjoin import within
    >>> trades = spark.sql("SELECT timestamp '2026-01-05 09:30:00' AS ts, 20.1D AS price")
    >>> quotes = spark.sql("SELECT timestamp '2026-01-05 09:30:01' AS ts, 20.5D AS ask")
    >>> near = join(trades, quotes, on="abs(l.price - r.ask) <= 0.5", window=within("5 seconds"), time="ts")
    >>> near.select("price", "ask", "join_time").show()
    +-----+----+-------------------+
    |price| ask|          join_time|
    +-----+----+-------------------+
    | 20.1|20.5|2026-01-05 09:30:01|
    +-----+----+-------------------+
    <BLANKLINE>
    """
    return _plan_join(locals()).result()


def explain(left: Frames, right: "Frames | None" = None, **arguments: Any) -> "Explanation":
    """What `join` would do, given its arguments: which index serves what, who meets whom, what is kept how long.

    `of` asks about another verb: ``of=sj.aggregate``, or ``explain(stream, of=sj.sliding_aggregate, ...)``.
    Prints well in a terminal and in a notebook. `warnings` lists what may make the join slow or its results other than
    expected.

    >>> rows = spark.sql("SELECT timestamp '2026-01-05 09:30:00' AS ts, 20.1D AS price")
    >>> plan = explain(rows, rows, on="l.price < r.price AND r.ts BETWEEN l.ts AND l.ts + INTERVAL 1 MINUTE", time="ts")
    >>> [warning.partition(":")[0] for warning in plan.warnings]
    ['one end of a band narrows little']
    """
    from streamjoin.spark.explain import explain_plan

    planned, _ = _plan("explain", left, right, arguments)
    return explain_plan(planned)


def check(checkpoint: "str | PathLike[str]", left: Frames, right: "Frames | None" = None, **arguments: Any) -> str:
    """Whether `join`, given these arguments, may go on from a checkpoint: to be asked before a query is started on it.

    A checkpoint that another join wrote is refused with the lines that differ; nothing is changed. The answer says
    whether the join goes on or begins. `of` is as for `explain`.

    >>> from streamjoin import within
    >>> rows = spark.readStream.format("rate").load()
    >>> same = {"on": "l.value = r.value", "window": within("1 second"), "time": "timestamp", "delay": "1 second"}
    >>> check("no/such/checkpoint", rows, rows, **same)
    'begins: no join has committed to no/such/checkpoint yet'
    """
    from streamjoin.spark.stored import check_checkpoint

    planned, _ = _plan("check", left, right, arguments)
    return check_checkpoint(planned.spark, _read_path("check", checkpoint, planned), planned.key)


def find_key(left: Frames, right: "Frames | None" = None, **arguments: Any) -> "CheckpointKey":
    """The key of the checkpoint that `join`, given these arguments, may continue. `of` is as for `explain`."""
    planned, _ = _plan("find_key", left, right, arguments)
    return planned.key


def flush(
    checkpoint: "str | PathLike[str]", left: Frames, right: "Frames | None" = None, **arguments: Any
) -> "DataFrame":
    """The rows that wait unmatched when a query has ended, as a batch of results: what `join` would emit for them.

    A query ends (``trigger(availableNow=True)``) before the watermark has passed the last time at which its last rows
    could find a partner. Those of a preserved side wait in the checkpoint; given that and the arguments of `join`,
    this reads them, as if no further row came. With ``ordered=True`` or a count window rows wait for their turn too:
    what they would yield is among the results. `of` is as for `explain`: left rows of `aggregate` and `asof` all wait,
    and windows of `sliding_aggregate` till they are over. The checkpoint stays as it is: a query that goes on from it
    emits these rows itself, or their matches.

    >>> from tempfile import mkdtemp
    >>> from streamjoin import within
    >>> ticks = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 3).load()
    >>> none = {"on": "l.value = r.value + 9", "window": within("1 second"), "time": "timestamp", "delay": "1 second"}
    >>> place = mkdtemp()
    >>> writer = join(ticks, ticks, how="left", **none).writeStream.format("noop").option("checkpointLocation", place)
    >>> writer.trigger(availableNow=True).start().awaitTermination()
    >>> flush(place, ticks, ticks, how="left", **none).count()
    3
    """
    from streamjoin.spark.stored import check_checkpoint

    planned, given = _plan("flush", left, right, arguments)
    path = _read_path("flush", checkpoint, planned)
    check_checkpoint(planned.spark, path, planned.key)
    if not (planned.plan.reduction or emits_unmatched(how_of(given["how"])) or planned.plan.holds):
        raise StreamJoinError(f"flush: a join of how={given['how']!r} emits no unmatched rows, so none wait")
    return planned.waiting(path)


def _plan(
    verb: str, left: Frames, right: "Frames | None", arguments: Mapping[str, Any]
) -> "tuple[Planned, dict[str, Any]]":
    """The plan of a join, and its arguments with defaults; `verb` takes the same as `join`, or as what `of` names."""
    named = {**arguments}
    planned = named.pop("of", join)
    if planned not in PLANNERS:
        raise StreamJoinError(f"of: got {planned!r}; expected {', '.join(each.__name__ for each in PLANNERS)}")
    try:
        call = signature(planned).bind(left, *([] if right is None else [right]), **named)
    except TypeError as error:
        raise TypeError(f"{verb}() takes the arguments of {planned.__name__}(): {error}") from None
    call.apply_defaults()
    return PLANNERS[planned](call.arguments), call.arguments


def _plan_join(arguments: Mapping[str, Any]) -> "Planned":
    from streamjoin.spark.build import plan

    return plan(**_check(arguments))


PLANNERS[join] = _plan_join


def _read_path(verb: str, checkpoint: Any, planned: "Planned") -> str:
    if not isinstance(checkpoint, str | PathLike):
        raise StreamJoinError(f"checkpoint: got {checkpoint!r}; expected the path that checkpointLocation names")
    if not planned.is_streaming:
        raise StreamJoinError(f"left, right: {verb} is for joins of streams; these are batch, and have no checkpoint")
    return str(checkpoint)


def _check(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `join` as the runtime takes them."""
    flags = {name: arguments[name] for name in ("ordered", "result_id")}
    for name, given in flags.items():
        if not isinstance(given, bool):
            raise StreamJoinError(f"{name}: got {given!r}; expected True or False")
    return {**check_arguments(arguments), **flags}
