"""Conditions on Spark's own columns: ``F.sqrt(l.x) < r.y`` in a lambda, a `Column`, ``F.expr``."""

import sys
from collections.abc import Callable, Sequence
from functools import cache
from traceback import walk_tb
from types import FrameType
from typing import Any, cast

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (as everybody calls it)

from streamjoin.errors import StreamJoinError
from streamjoin.predicate import On
from streamjoin.spark.compat.columns import write_column
from streamjoin.spec.side import Side
from streamjoin.sql.pointer import strip_parens
from streamjoin.sql.trace import Untraceable, explain_bool, explain_type_error, trace

AnyOn = On | Column | Sequence[Column]
"""What `join` takes as a condition: columns of Spark's too."""


def read_columns(on: AnyOn) -> On:
    """The condition without columns of Spark's: those are written as SQL."""
    if isinstance(on, Column):
        return strip_parens(write_column(on))
    parts: Any = on if isinstance(on, list | tuple) else ()
    if parts and all(isinstance(part, Column) for part in parts):
        return " AND ".join(map(write_column, parts))
    if not callable(on):
        return cast("On", on)
    try:
        return trace(on)
    except (Untraceable, AttributeError, Py4JError, PySparkException) as error:
        return _trace_columns(on, error)


def _trace_columns(condition: Callable[[Any, Any], Any], first: Exception) -> str:
    """Run a lambda that our own tracer could not follow on Spark's columns."""
    by_spark = not isinstance(first, Untraceable) or isinstance(first.__cause__, PySparkException)
    try:
        result = condition(_ColumnSide("l"), _ColumnSide("r"))
    except (TypeError, PySparkException) as error:
        if not by_spark:
            raise first from None
        if isinstance(error, PySparkException) and error.getCondition() == "CANNOT_CONVERT_COLUMN_INTO_BOOL":
            raise explain_bool(_find_asker(error)) from None
        if isinstance(error, TypeError):
            raise explain_type_error(error) from error
        raise StreamJoinError(f"on: the lambda cannot be read as a condition over (l, r): {error}") from error
    if not isinstance(result, Column):
        raise first
    return strip_parens(write_column(result))


def _find_asker(error: Exception) -> FrameType:
    """Where a column of Spark's was asked whether it is true: the last frame that is not PySpark's own."""
    frames = [frame for frame, _ in walk_tb(error.__traceback__)]
    return next(frame for frame in reversed(frames) if not frame.f_globals["__name__"].startswith("pyspark."))


class _ColumnSide:
    """One side of the join inside of a lambda: ``l.x`` or ``l["any name"]`` is a column of Spark's."""

    def __init__(self, side: Side) -> None:
        self.__side = side

    def __getattr__(self, name: str) -> Column:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Column:
        quoted = name.replace("`", "``")
        return _lift(F.col(f"{self.__side}.`{quoted}`"))


_ARITHMETIC = tuple(
    f"__{prefix}{op}__" for op in ("add", "sub", "mul", "truediv", "mod", "pow") for prefix in ("", "r")
)


def _lift(column: Column) -> Column:
    """A column that Python's `abs`, `round`, `floor` and `ceil` take too, and so do sums and products of it."""
    behind: Any = column
    of: Any = type(behind)
    lifted: Column = _lifted(of)(behind._jc if hasattr(behind, "_jc") else behind._expr)
    return lifted


@cache
def _lifted(base: Any) -> Any:
    def lift_result(function: Callable[..., Column]) -> Callable[..., Column]:
        return lambda *args: _lift(function(*args))

    def refuse_bool(_: Column) -> bool:
        raise explain_bool(sys._getframe(1))

    members: dict[str, Callable[..., Any]] = {name: lift_result(getattr(base, name)) for name in _ARITHMETIC}
    members |= {f"__{name}__": lift_result(getattr(F, name)) for name in ("abs", "round", "floor", "ceil")}
    return type("Column", (base,), {**members, "__bool__": refuse_bool})
