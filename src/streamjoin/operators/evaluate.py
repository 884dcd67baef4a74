"""An expression's value for one pair of rows, as Spark computes it: plain Python, one node at a time.

This is the meaning of a predicate, kept for tests and for `reference.py`; the kernels are fast and are checked
against it. Spark's ANSI mode holds: what overflows or divides by zero raises `EvaluationError`. NaN equals itself
and is greater than every number. Dates and zoned timestamps meet in UTC.
"""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

from streamjoin.operators.arithmetic import NotEvaluable, cast_value, in_unit_of
from streamjoin.operators.expr import Call, Cast, Column, Expr, Function, Literal
from streamjoin.operators.registry import OPERATORS
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
            return None if None in given else OPERATORS[op].value(*given)
        case Call(op=op, args=args, type=type):
            operator = OPERATORS[op]
            if operator.lazy:
                return operator.value(args, lambda arg: evaluate(arg, left, right))
            if UNKNOWN in (type, *(arg.type for arg in args)):
                raise NotEvaluable(str(expr))
            values: list[Any] = [None] * len(args)
            for i in reversed(range(len(args))) if operator.last_first else range(len(args)):
                values[i] = evaluate(args[i], left, right)
                if values[i] is None:  # as in Spark, what comes after a NULL is not evaluated and cannot raise
                    return None
            if not operator.typed:
                return operator.value(*values)
            return operator.value(type, *(in_unit_of(type, arg.type, v) for arg, v in zip(args, values, strict=True)))
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
