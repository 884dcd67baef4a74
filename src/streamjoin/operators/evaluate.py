"""An expression's value for one pair of rows, as Spark computes it: plain Python, one node at a time.

This is the meaning of a predicate, kept for tests and for `reference.py`; the kernels are fast and are checked
against it. Spark's ANSI mode holds: what overflows or divides by zero raises `EvaluationError`. NaN equals itself
and is greater than every number. Dates and zoned timestamps meet in UTC.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

from streamjoin.operators.arithmetic import DIVISIONS, SIMPLE, TYPED, NotEvaluable, cast_value, in_unit_of, order_key
from streamjoin.operators.expr import Call, Cast, Column, Expr, Function, Literal
from streamjoin.operators.functions import FUNCTIONS
from streamjoin.operators.types import DATE, UNKNOWN, Type

_EPOCH = datetime(1970, 1, 1)

Row = Mapping[str, Any]


def evaluate(expr: Expr, left: Row, right: Row) -> Any:
    """The value of an expression for a pair of rows; None is NULL.

    >>> from streamjoin.operators.types import BOOLEAN, INT
    >>> x, a = Column(INT, "l", ("x",)), Column(INT, "r", ("a",))
    >>> evaluate(Call(BOOLEAN, "<", (x, a)), {"x": 1}, {"a": None}) is None
    True
    """
    match expr:
        case Column(type=type, side=side, path=(first, *rest)):
            value = (left if side == "l" else right)[first]
            for name in rest:
                value = None if value is None else value[name]
            return physical(value, type)
        case Literal(value=value):
            return value
        case Cast(type=type, arg=arg):
            if type == UNKNOWN or arg.type == UNKNOWN:
                raise NotEvaluable(str(expr))
            value = evaluate(arg, left, right)
            return None if value is None else cast_value(value, arg.type, type)
        case Function(op=op, args=args):
            given = [evaluate(arg, left, right) for arg in args]
            return None if None in given else FUNCTIONS[op].value(*given)
        case Call(op=op, args=args) if op in _LAZY:
            return _LAZY[op](args, lambda arg: evaluate(arg, left, right))
        case Call(op=op, args=args, type=type):
            if UNKNOWN in (type, *(arg.type for arg in args)):
                raise NotEvaluable(str(expr))
            values: list[Any] = [None] * len(args)
            for i in reversed(range(len(args))) if op in DIVISIONS else range(len(args)):
                values[i] = evaluate(args[i], left, right)
                if values[i] is None:  # as in Spark, what comes after a NULL is not evaluated and cannot raise
                    return None
            if op in SIMPLE:
                return SIMPLE[op](*values)
            return TYPED[op](type, *(in_unit_of(type, arg.type, v) for arg, v in zip(args, values, strict=True)))
    raise NotEvaluable(str(expr))


def physical(value: Any, type: Type) -> Any:
    """A value as Spark hands it to Python, in the form that this module computes with."""
    match value:
        case datetime() if type.is_timestamp:
            naive = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
            return (naive - _EPOCH) // timedelta(microseconds=1)
        case date() if type == DATE:
            return value.toordinal() - _EPOCH.toordinal()
        case timedelta():
            return value // timedelta(microseconds=1)
        case bytearray():
            return bytes(value)
    return value


Value = Callable[[Expr], Any]


def _and(args: tuple[Expr, ...], value: Value) -> bool | None:
    left = value(args[0])
    if left is False:
        return False
    right = value(args[1])
    return False if right is False else None if None in (left, right) else True


def _or(args: tuple[Expr, ...], value: Value) -> bool | None:
    left = value(args[0])
    if left is True:
        return True
    right = value(args[1])
    return True if right is True else None if None in (left, right) else False


def _null_safe_equal(args: tuple[Expr, ...], value: Value) -> bool:
    a, b = map(value, args)
    return a is b if None in (a, b) else order_key(a) == order_key(b)


def _in(args: tuple[Expr, ...], value: Value) -> bool | None:
    wanted, *items = map(value, args)
    if wanted is None:
        return None
    found = any(item is not None and order_key(item) == order_key(wanted) for item in items)
    return True if found else None if None in items else False


def _case(args: tuple[Expr, ...], value: Value) -> Any:
    for condition, result in zip(args[:-1:2], args[1::2], strict=True):
        if value(condition) is True:
            return value(result)
    return value(args[-1])


def _coalesce(args: tuple[Expr, ...], value: Value) -> Any:
    return next((v for v in map(value, args) if v is not None), None)


def _extreme(choose: Callable[..., Any]) -> Callable[[tuple[Expr, ...], Value], Any]:
    return lambda args, value: choose((v for v in map(value, args) if v is not None), key=order_key, default=None)


_LAZY: dict[str, Callable[[tuple[Expr, ...], Value], Any]] = {
    "AND": _and,
    "OR": _or,
    "<=>": _null_safe_equal,
    "IN": _in,
    "CASE": _case,
    "coalesce": _coalesce,
    "least": _extreme(min),
    "greatest": _extreme(max),
    "IS NULL": lambda args, value: value(args[0]) is None,
    "IS TRUE": lambda args, value: value(args[0]) is True,
    "IS FALSE": lambda args, value: value(args[0]) is False,
}
"""Operators that see NULL, or that do not look at every argument."""
