"""What an expression may do wherever it stands: have a value at once, read the time zone, raise."""

import re

from streamjoin.operators.arithmetic import EvaluationError, NotEvaluable
from streamjoin.operators.evaluate import evaluate
from streamjoin.operators.expr import Call, Cast, Expr, Function, Literal, Opaque
from streamjoin.operators.registry import OPERATORS
from streamjoin.operators.types import TIMESTAMP

_NEVER_RAISE = frozenset(
    (
        *("year", "quarter", "month", "week", "weekofyear", "day", "dayofmonth", "dayofweek", "dayofyear", "weekday"),
        *("hour", "minute", "second", "extract", "date_part", "datepart", "date_trunc", "trunc"),
        *("size", "cardinality", "array_size", "array_contains", "isnan"),
    )
)
"""Functions of Spark's that have a value, if only NULL, for all that they are given."""


def is_known(constant: Expr) -> bool:
    """Whether a constant has a value here: it can be evaluated, does not raise, and is the same in every time zone."""
    if any(map(reads_zone, constant.walk())):
        return False
    try:
        evaluate(constant, {}, {})
    except (EvaluationError, NotEvaluable):
        return False
    return True


def reads_zone(expr: Expr) -> bool:
    """Whether Spark looks at the session's time zone: zoned times subtracted, moved by days, or made of dates."""
    if isinstance(expr, Literal):
        return expr.type == TIMESTAMP and not re.search(r"(Z|[+-]\d\d:?\d\d)'$", expr.text)
    if isinstance(expr, Cast):
        return TIMESTAMP in (expr.type, expr.arg.type) and expr.type != expr.arg.type
    return isinstance(expr, Call) and OPERATORS[expr.op].reads_zone(expr)


def may_raise(expr: Expr) -> bool:
    """Whether Spark may raise when it evaluates an expression."""
    match expr:
        case Function(op=op, args=args):
            return OPERATORS[op].may_raise(expr.type) or any(map(may_raise, args))
        case Opaque(pieces=pieces):
            return not _is_harmless("".join(piece if isinstance(piece, str) else "x" for piece in pieces))
        case Cast(implicit=False, arg=arg) if not isinstance(arg, Literal):
            return True
        case Call(op=op, type=type) if OPERATORS[op].may_raise(type):
            return True
    return any(may_raise(child) for child in expr.children)


def _is_harmless(sql: str) -> bool:
    """Whether some SQL is nothing but calls of functions that never raise."""
    called = re.findall(r"(\w+)\s*\(", sql.lower())
    return bool(called) and set(called) <= _NEVER_RAISE and not re.search(r"[-+*/%\[|&^:<>=]", sql)
