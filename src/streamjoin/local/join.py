"""LocalJoin: the join within one process, and the joins that reduce; what is asked is checked, then it runs."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from streamjoin.layout import Layout
from streamjoin.local.aggregated import Aggregated
from streamjoin.local.asked import Asked, check_schema, to_structs
from streamjoin.local.driver import Callback
from streamjoin.local.handshake import Handshake
from streamjoin.local.running import RunningJoin
from streamjoin.local.save import load
from streamjoin.plan.asof import choose_columns, find_window, read_pick, write_condition
from streamjoin.plan.reduction import Direction
from streamjoin.predicate import On
from streamjoin.spec.by import list_columns
from streamjoin.spec.duration import Duration
from streamjoin.spec.how import how_of, reduced_how_of
from streamjoin.spec.side import Side, pair_of
from streamjoin.spec.window import Window
from streamjoin.sql.on import to_text


class LocalJoin(RunningJoin):
    """Join two streams that are pushed in this process, on any condition within a window; no Spark.

    :param on: SQL over ``l.`` and ``r.`` columns, a lambda over (l, r), or a list of column names to be equal.
    :param window: `within`, `between`, `tumbling` or `last`; None where `on` bounds the time between the rows.
    :param left: the Arrow schema of what `push_left` is given.
    :param right: likewise.
    :param time: the event-time columns: timestamps, or int64 of microseconds; one name if it is the same.
    :param delay: how far a row may come behind the latest one of its side and still count: one value, or a pair.
        It must be given.
    :param how: as in `join`.
    :param select: as in `join`.
    :param layout: `Grid`, `Scale`, `Cell`, `Keyed`, `Handshake`, or "auto".
    :param workers: threads that run the cells, by default one a cell but no more than there are cores.
    :param ordered: results in the order of ``(join_time, t_l, t_r, ties)``, each once the watermark has passed it.
    :param timezone: of conditions that depend on one; only "UTC" is served.
    :param callback: is given each batch of results; without it they wait to be read.
    :param unread: so many results may wait; beyond, pushing raises.

    Each push is a micro-batch. Its watermark is the least over both sides of (latest time pushed before - delay), or
    what `advance` said if that is higher; rows before it are late, dropped and counted.

    >>> from datetime import datetime
    >>> from streamjoin import LocalJoin, within
    >>> near = LocalJoin(
    ...     on="abs(l.price - r.ask) <= 0.5", window=within("5 seconds"), time="ts", delay="1 second",
    ...     left=pa.schema([("ts", pa.timestamp("us")), ("price", pa.float64())]),
    ...     right=pa.schema([("ts", pa.timestamp("us")), ("ask", pa.float64())]), select=["l.price", "r.ask"],
    ... )
    >>> with near:
    ...     near.push_left({"ts": datetime(2026, 1, 5, 9, 30), "price": 20.1})
    ...     near.push_right({"ts": [datetime(2026, 1, 5, 9, 30, 1)] * 2, "ask": [20.5, 21.5]})
    ...     near.read().to_pydict()
    {'price': [20.1], 'ask': [20.5], 'join_time': [datetime.datetime(2026, 1, 5, 9, 30, 1)]}
    """

    def __init__(
        self,
        *,
        on: On,
        window: Window | None = None,
        left: pa.Schema,
        right: pa.Schema,
        time: str | tuple[str, str],
        delay: Duration | tuple[Duration, Duration] | None = None,
        how: str = "inner",
        select: Sequence[str] | None = None,
        layout: "Layout | Handshake | Literal['auto']" = "auto",
        workers: int | None = None,
        ordered: bool = False,
        timezone: str = "UTC",
        suffixes: tuple[str, str] = ("_l", "_r"),
        callback: Callback | None = None,
        unread: int = 10_000_000,
    ) -> None:
        arguments = _collect(locals())
        asked = Asked(
            **_read_inputs(arguments), on=on, window=window, how=how_of(how), select=select, ordered=bool(ordered)
        )
        super().__init__(asked, "join", arguments, callback)

    @classmethod
    def asof(
        cls,
        *,
        left: pa.Schema,
        right: pa.Schema,
        by: str | Sequence[str] | None = None,
        on: On | None = None,
        time: str | tuple[str, str],
        delay: Duration | tuple[Duration, Duration] | None = None,
        tolerance: Duration | None = None,
        direction: Direction = "backward",
        allow_exact_matches: bool = True,
        how: str = "left",
        select: Sequence[str] | None = None,
        layout: Layout | Literal["auto"] = "auto",
        workers: int | None = None,
        timezone: str = "UTC",
        suffixes: tuple[str, str] = ("_l", "_r"),
        callback: Callback | None = None,
        unread: int = 10_000_000,
    ) -> "LocalJoin":
        """Join to every left row the last right row before it, the first one after it, or the nearest, as `asof` does.

        :param left: the Arrow schema of what `push_left` is given, as for `LocalJoin`.
        :param by: columns of both sides that must be equal, one name or several.
        :param on: any further condition: SQL over ``l.`` and ``r.`` columns, or a lambda over (l, r).
        :param time: the event-time columns, as for `LocalJoin`.
        :param delay: how far a row may come behind the latest one of its side and still count.
        :param tolerance: how far in time the right row may lie from the left one; included. It must be given.
        :param direction: "backward", "forward" or "nearest".
        :param allow_exact_matches: whether a right row of the very same time counts.
        :param how: "left", or "inner" to leave out left rows without a match.
        :param select: the columns of the result; by default all, `by` once.
        :param layout: `Grid(n, 1)` or `Keyed(n)`, which keep a left row in one cell, or "auto".

        A left row comes out once the watermark has passed the last time at which a match could come. Of right rows of
        one time that with the greatest hash of the whole row comes last. Other arguments are those of `LocalJoin`.

        >>> from streamjoin import LocalJoin
        >>> trades = pa.schema([("ts", pa.int64()), ("sym", pa.string()), ("price", pa.float64())])
        >>> quotes = pa.schema([("ts", pa.int64()), ("sym", pa.string()), ("ask", pa.float64())])
        >>> with LocalJoin.asof(
        ...     left=trades, right=quotes, by="sym", time="ts", delay="0 seconds", tolerance="1 minute"
        ... ) as before:
        ...     before.push_right({"ts": [1, 3, 7], "sym": ["A"] * 3, "ask": [20.0, 20.2, 99.0]})
        ...     before.push_left({"ts": 5, "sym": "A", "price": 20.1})
        ...     before.flush()
        ...     before.read().to_pylist()
        [{'ts_l': 5, 'sym': 'A', 'price': 20.1, 'ts_r': 3, 'ask': 20.2, 'join_time': 5}]
        """
        arguments, columns = _collect(locals()), list_columns(by)
        pick, inputs = read_pick(direction, allow_exact_matches), _read_inputs(arguments)
        asked = Asked(
            **inputs,
            on=write_condition(columns, "true" if on is None else to_text(on)),
            window=find_window(tolerance, pick),
            how=reduced_how_of(how),
            select=choose_columns(select, columns, to_structs(inputs["schemas"])),
            pick=pick,
        )
        return cls._run(asked, "asof", arguments, callback)

    @classmethod
    def aggregate(
        cls,
        *,
        on: On,
        window: Window | None = None,
        left: pa.Schema,
        right: pa.Schema,
        time: str | tuple[str, str],
        delay: Duration | tuple[Duration, Duration] | None = None,
        select: Sequence[str],
        how: str = "left",
        layout: Layout | Literal["auto"] = "auto",
        workers: int | None = None,
        timezone: str = "UTC",
        callback: Callback | None = None,
        unread: int = 10_000_000,
    ) -> "LocalJoin":
        """Reduce all that a left row meets to one row, as `aggregate` does.

        :param on: SQL over ``l.`` and ``r.`` columns, a lambda over (l, r), or a list of column names to be equal.
        :param window: `within`, `between` or `tumbling`; None where `on` bounds the time between the rows.
        :param left: the Arrow schema of what `push_left` is given, as for `LocalJoin`.
        :param time: the event-time columns, as for `LocalJoin`.
        :param delay: how far a row may come behind the latest one of its side and still count.
        :param select: the columns of the result: SQL over columns of l and over aggregates, those of `aggregate`.
        :param how: "left", or "inner" to leave out left rows that met none.
        :param layout: `Grid(n, 1)` or `Keyed(n)`, which keep a left row in one cell, or "auto".

        Types are those that Spark gives. A left row comes out once the watermark has passed the last time at which a
        match could come. Sums of doubles are added in the order of time, ties by a hash of the whole row: they are the
        same for every layout and after every restart. The other arguments are those of `LocalJoin`.

        >>> from streamjoin import LocalJoin, within
        >>> with LocalJoin.aggregate(
        ...     on="abs(l.price - r.ask) <= 0.5", window=within("5 seconds"), time="ts", delay="0 seconds",
        ...     left=pa.schema([("ts", pa.int64()), ("price", pa.float64())]),
        ...     right=pa.schema([("ts", pa.int64()), ("ask", pa.float64())]),
        ...     select=["l.price", "count(*) AS quotes", "avg(r.ask) AS mean", "min(r.ask - l.price) < 0 AS below"],
        ... ) as near:
        ...     near.push_right({"ts": [1, 2, 3], "ask": [20.0, 20.5, 30.0]})
        ...     near.push_left({"ts": 0, "price": 20.1})
        ...     near.flush()
        ...     near.read().drop_columns("join_time").to_pylist()
        [{'price': 20.1, 'quotes': 2, 'mean': 20.25, 'below': True}]
        """
        arguments = _collect(locals())
        asked = Aggregated(**_read_inputs(arguments), on=on, window=window, how=reduced_how_of(how), select=select)
        return cls._run(asked, "aggregate", arguments, callback)

    @classmethod
    def _run(cls, asked: Asked, verb: str, arguments: dict[str, Any], callback: Callback | None) -> "LocalJoin":
        join = cls.__new__(cls)
        RunningJoin.__init__(join, asked, verb, arguments, callback)
        return join

    @classmethod
    def restore(cls, directory: str | Path, *, callback: Callback | None = None) -> "LocalJoin":
        """The join that was saved there, as if it had never stopped; unread results are there to be read."""
        saved = load(Path(directory))
        verbs: dict[str, Callable[..., LocalJoin]] = {"join": cls, "asof": cls.asof, "aggregate": cls.aggregate}
        join = verbs[saved.told.get("verb", "join")](**saved.arguments, callback=callback)
        join._go_on(saved)
        return join


def _collect(given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a verb that it can be made again from."""
    arguments = {key: value for key, value in given.items() if key not in ("self", "cls", "callback", "__class__")}
    return arguments | {"on": to_text(given["on"]) if callable(given["on"]) else given["on"]}


def _read_inputs(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that are alike in all verbs, checked."""
    schemas: dict[Side, pa.Schema] = {
        "l": check_schema(arguments["left"], "l"),
        "r": check_schema(arguments["right"], "r"),
    }
    read = {
        "schemas": schemas,
        "time": pair_of("time", arguments["time"], "one name, or a pair such as ('ts', 'ts')", str),
        "timezone": arguments["timezone"],
        "layout": arguments["layout"],
    }
    if "suffixes" in arguments:
        read["suffixes"] = pair_of("suffixes", arguments["suffixes"], "a pair such as ('_l', '_r')", str, one=False)
    return read
