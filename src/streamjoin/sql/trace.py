"""A condition written as ``lambda l, r: ...`` becomes the SQL text that says the same.

The lambda runs once, on stand-ins that write down what is done to them. From then on a lambda and a text are the
same thing: one parser, one set of errors. Where it calls functions of Spark's, `streamjoin.spark.column` runs it again
on Spark's own columns.
"""

import dis
import sys
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from types import FrameType
from typing import Any

from streamjoin.errors import StreamJoinError
from streamjoin.operators.expr import quote_name
from streamjoin.operators.registry import FUNCTION_NAMES
from streamjoin.spec.duration import UNITS
from streamjoin.spec.side import Side
from streamjoin.sql.pointer import strip_parens, suggest

HINT = (
    "combine conditions with & | ~ (each in parentheses), chain comparisons with .between(low, high), write "
    ".isin(...) for in"
)

_HINTS = {
    "must be real number": "a column is no number for Python's math module: write SQL's function, as in l.x.sqrt() or "
    "F.sqrt(l.x)",
    "has no len()": "write l.x.length() or F.length(l.x)",
    "positional argument": "it takes two rows, one of each side: lambda l, r: l.x < r.y",
}
"""What to write instead, by a part of what Python says."""


class Untraceable(StreamJoinError):
    """A lambda that stand-ins cannot follow, but Spark's own columns perhaps can."""


def trace(condition: Callable[[Any, Any], Any]) -> str:
    """The SQL text of a lambda over two rows.

    >>> trace(lambda l, r: abs(l.x - r["the a"]) <= 10)
    'abs(l.x - r.`the a`) <= 10'
    """
    try:
        result = condition(TracedSide("l"), TracedSide("r"))
    except TypeError as error:
        raise explain_type_error(error) from error
    if isinstance(result, str):
        raise Untraceable("on: the lambda returned a text; give SQL text itself as `on`, without a lambda")
    if not isinstance(result, Traced | bool):
        raise Untraceable(f"on: the lambda returned {result!r}, not a condition on l and r")
    return strip_parens(sql_value(result))


def explain_type_error(error: TypeError) -> Untraceable:
    """What Python says of a lambda that treats columns as numbers, with what to write instead."""
    hint = next((hint for part, hint in _HINTS.items() if part in str(error)), HINT)
    return Untraceable(f"on: the lambda cannot be read as a condition over (l, r): {error}; {hint}")


def explain_bool(frame: FrameType) -> StreamJoinError:
    """Why a comparison of columns is neither true nor false, by what the lambda was doing with it."""
    at = next((step for step in dis.get_instructions(frame.f_code) if step.offset == frame.f_lasti), None)
    called = [name for name in ("max", "min") if name in frame.f_code.co_names]
    if at is not None and at.opname.startswith("CALL") and called:
        instead = {"max": "greatest", "min": "least"}[called[0]]
        return StreamJoinError(
            f"on: the lambda calls Python's {called[0]}, which compares columns as if they had values; write "
            f"l.x.{instead}(r.x), F.{instead}(l.x, r.x) or SQL's {instead}(l.x, r.x)"
        )
    if joined := _find_joined(frame):
        return StreamJoinError(
            f"on: parentheses are missing: Python reads {joined} before comparisons; write each comparison in "
            f"parentheses, as in (l.x == r.x) {joined} (l.y < r.y)"
        )
    return StreamJoinError(f"on: the lambda uses and, or, not, in or a chained comparison; {HINT}")


def _find_joined(frame: FrameType) -> str:
    """The & or | in the middle of the chain ``l.x == r.x & l.y < r.y`` that Python is at; empty if it is at none."""
    steps = [step for step in dis.get_instructions(frame.f_code) if step.offset <= frame.f_lasti]
    compared = max((at for at, step in enumerate(steps) if step.opname == "COMPARE_OP"), default=0)
    before = steps[max(compared - 3, 0) : compared]
    if [step.opname for step in before] != ["BINARY_OP", "SWAP", "COPY"]:
        return ""
    return before[0].argrepr if before[0].argrepr in ("&", "|") else ""


class TracedSide:
    """One side of the join inside of a lambda: ``l.x`` or ``l["any name"]`` is a column."""

    def __init__(self, side: Side) -> None:
        self.__side = side

    def __getattr__(self, name: str) -> "Traced":
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> "Traced":
        return Traced(f"{self.__side}.{quote_name(name)}")


class Traced:
    """An expression inside of a lambda, with PySpark's operators and method names.

    Every function of the predicate language is a method: ``l.x.sqrt()``, ``l.y.atan2(r.b)``.
    """

    __slots__ = ("_sql",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, sql: str) -> None:
        self._sql = sql

    def __getitem__(self, field: str) -> "Traced":
        return Traced(f"{self._sql}.{quote_name(field)}")

    def __getattr__(self, name: str) -> Callable[..., "Traced"]:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in FUNCTION_NAMES:
            raise Untraceable(
                f"on: there is no function {name} for a lambda{suggest(name, FUNCTION_NAMES) or '.'} "
                f'Write a struct field as ["{name}"], any other function in SQL text'
            )
        return lambda *args: _call(name, self, *args)

    def __bool__(self) -> bool:
        raise explain_bool(sys._getframe(1))

    def between(self, low: object, high: object) -> "Traced":
        """Whether it lies between two values, both included."""
        return Traced(f"({self._sql} BETWEEN {sql_value(low)} AND {sql_value(high)})")

    def isin(self, *values: object) -> "Traced":
        """Whether it equals one of the values."""
        items = values[0] if len(values) == 1 and isinstance(values[0], list | tuple | set) else values
        written = [sql_value(item) for item in items]
        if not written:
            return Traced("FALSE")
        return Traced(f"({self._sql} IN ({', '.join(sorted(written) if isinstance(items, set) else written)}))")

    def isNull(self) -> "Traced":  # noqa: N802 (PySpark's name)
        """Whether it is NULL."""
        return Traced(f"({self._sql} IS NULL)")

    def isNotNull(self) -> "Traced":  # noqa: N802 (PySpark's name)
        """Whether it is not NULL."""
        return Traced(f"({self._sql} IS NOT NULL)")

    def eqNullSafe(self, other: object) -> "Traced":  # noqa: N802 (PySpark's name)
        """Equality that holds between NULLs."""
        return _infix(self, "<=>", other)

    def cast(self, type: str) -> "Traced":
        """The value as another type, named as in SQL."""
        return Traced(f"CAST({strip_parens(self._sql)} AS {type})")

    def __round__(self, places: int = 0) -> "Traced":
        return _call("round", self, places)

    def __pow__(self, other: object) -> "Traced":
        return _call("pow", self, other)

    def __rpow__(self, other: object) -> "Traced":
        return _call("pow", other, self)

    def __abs__(self) -> "Traced":
        return _call("abs", self)

    def __floor__(self) -> "Traced":
        return _call("floor", self)

    def __ceil__(self) -> "Traced":
        return _call("ceil", self)

    def __neg__(self) -> "Traced":
        return Traced(f"(-{self._sql})")

    def __invert__(self) -> "Traced":
        return Traced(f"(NOT {self._sql})")


def _infix(a: object, op: str, b: object) -> Traced:
    return Traced(f"({sql_value(a)} {op} {sql_value(b)})")


def _call(name: str, *args: object) -> Traced:
    return Traced(f"{name}({', '.join(strip_parens(sql_value(arg)) for arg in args)})")


def _operator(op: str) -> Callable[[Traced, object], Traced]:
    return lambda self, other: _infix(self, op, other)


def _reflect(op: str) -> Callable[[Traced, object], Traced]:
    return lambda self, other: _infix(other, op, self)


for _name, _op in {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "mod": "%", "and": "AND", "or": "OR"}.items():
    setattr(Traced, f"__{_name}__", _operator(_op))
    setattr(Traced, f"__r{_name}__", _reflect(_op))
for _name, _op in {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
    setattr(Traced, f"__{_name}__", _operator(_op))


def sql_value(value: object) -> str:
    """A Python value as the SQL constant that is the same value."""
    if type(value).__module__ == "numpy" and hasattr(value, "item"):
        value = value.item()
    match value:
        case Traced():
            return value._sql
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case int():
            return str(value)
        case float():
            text = repr(value)
            return f"CAST('{text}' AS DOUBLE)" if text.strip("-") in ("inf", "nan") else f"{text}D"
        case Decimal():
            return f"{value:f}BD"
        case str():
            escaped = value.replace("\\", "\\\\").replace("'", "\\'")
            return f"'{escaped}'"
        case datetime():
            return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
        case date():
            return f"DATE '{value.isoformat()}'"
        case timedelta():
            us = value // timedelta(microseconds=1)
            days = us % UNITS["day"] == 0
            return f"INTERVAL '{us // UNITS['day'] if days else us}' {'DAY' if days else 'MICROSECOND'}"
    raise Untraceable(f"on: the lambda uses {value!r}, which has no SQL constant")
