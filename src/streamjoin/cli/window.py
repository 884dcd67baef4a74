"""The window that the options of a command line ask for."""

from collections.abc import Callable, Mapping
from typing import Any

from streamjoin.errors import StreamJoinError
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
