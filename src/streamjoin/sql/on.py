"""What a user may give as `on`, as SQL text."""

from collections.abc import Callable, Sequence
from traceback import walk_tb
from typing import Any

from streamjoin.errors import StreamJoinError
from streamjoin.operators.expr import quote_name
from streamjoin.sql.trace import trace

On = str | Sequence[str] | Callable[[Any, Any], Any]
"""SQL text, names of columns that are equal, or a lambda over (l, r)."""


def to_text(on: object) -> str:
    """The condition as SQL text.

    >>> to_text(["id", "the day"])
    'l.id = r.id AND l.`the day` = r.`the day`'
    """
    if isinstance(on, str):
        return on
    if callable(on):
        return _trace_alone(on)
    if names := names_of(on):
        return " AND ".join(f"l.{quote_name(name)} = r.{quote_name(name)}" for name in names)
    raise StreamJoinError(
        f"on: expected SQL text, a lambda over (l, r), a Column of Spark's or a list of column names; got {on!r}"
    )


def _trace_alone(condition: Callable[[Any, Any], Any]) -> str:
    """A lambda where there is no Spark: calls of Spark's functions are refused, whatever they say of it."""
    try:
        return trace(condition)
    except Exception as error:
        steps = [step for raised in (error, error.__cause__) if raised for step in walk_tb(raised.__traceback__)]
        if not any(frame.f_globals.get("__name__", "").startswith("pyspark.") for frame, _ in steps):
            raise
    raise StreamJoinError(
        "on: the lambda calls a function of Spark's, and there is no Spark here; streamjoin's own functions are "
        "methods of a column, as in l.x.sqrt(), or write SQL text"
    )


def names_of(on: object) -> tuple[str, ...]:
    """The columns that are to be equal, where `on` is a list of them; nothing where it is a condition."""
    listed = isinstance(on, Sequence) and not isinstance(on, str) and all(isinstance(name, str) for name in on)
    return tuple(on) if isinstance(on, Sequence) and listed else ()
