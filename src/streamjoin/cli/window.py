"""The window that the options of a command line ask for."""

from collections.abc import Callable, Mapping
from typing import Any

from streamjoin.cli.words import NO_WINDOW
from streamjoin.errors import StreamJoinError
from streamjoin.spec.side import SIDES
from streamjoin.spec.window import Between, Window, between, last, tumbling, within


def parse_window(o: Mapping[str, Any], read_within: Callable[[str], Between] = within) -> Window | None:
    """The one window of time that was given, with the count that was, or None."""
    readers: dict[str, Callable[[Any], Any]] = {
        "within": read_within,
        "between": lambda bounds: between(*bounds),
        "tumbling": tumbling,
    }
    given = [name for name in readers if o[f"{name}_"]]
    if len(given) > 1:
        raise StreamJoinError(f"--{given[0]} and --{given[1]}: expected one window")
    time: Window | None = readers[given[0]](o[f"{given[0]}_"]) if given else None
    if o["last_"] is None:
        return time
    return last(o["last_"]) if time is None else last(o["last_"]) & time


def check_window(window: Window | None, on: str, time: tuple[str, str]) -> None:
    """Refuse a join without a window before Spark starts, unless the condition may bound the time between rows."""
    if window is None and not _names_times(on, time):
        raise StreamJoinError(
            f"{NO_WINDOW}, such as r.{time[1]} BETWEEN l.{time[0]} AND l.{time[0]} + INTERVAL 15 MINUTES"
        )


def _names_times(on: str, time: tuple[str, str]) -> bool:
    """Whether a condition names the times of both sides; one that cannot be read is for the library to point at.

    >>> _names_times("l.ts <= r.TS", ("ts", "ts")), _names_times("l.ts <= r.x", ("ts", "ts"))
    (True, False)
    """
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        columns = list(sqlglot.parse_one(on, read="spark").find_all(exp.Column))
    except SqlglotError:
        return True
    named = {(column.table.lower(), column.name.lower()) for column in columns}
    return all({(side, name.lower()), ("", name.lower())} & named for side, name in zip(SIDES, time, strict=True))
