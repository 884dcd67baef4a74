"""What operators accept and yield: Spark's ANSI rules, on our types.

A rule takes the operator's name and its arguments. It returns the typed call with the implicit casts that Spark would
insert, or raises `Mismatch`. What Spark alone understands has the type `UNKNOWN`; an operator that meets it stays in
the tree but is left to Spark.
"""

from collections.abc import Callable, Sequence
from functools import reduce

from streamjoin.operators.expr import INFIX, Call, Cast, Expr, Literal
from streamjoin.operators.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    INTERVAL,
    INTERVAL_DAY,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    UNKNOWN,
    VOID,
    Type,
    decimal,
)
from streamjoin.operators.widening import common_type, decimal_result, is_foreign, to_decimal, wider_number

COMPARISONS = frozenset(("=", "<=>", "<>", "<", "<=", ">", ">="))


_COLLECTIONS = ("array", "map", "struct")


class LeftToSpark(Exception):
    """A call that only Spark knows."""


class Mismatch(Exception):
    """The arguments do not fit the operator; the text says which do, `at` which argument is meant."""

    def __init__(self, message: str, at: Expr | None = None) -> None:
        super().__init__(message)
        self.at = at


def cast(expr: Expr, type: Type) -> Expr:
    """The expression as a value of `type`, cast implicitly where it is another one."""
    return expr if expr.type == type else Cast(type, expr, implicit=True, span=expr.span)


def _decimal_operand(expr: Expr) -> Expr:
    """An operand of decimal arithmetic; an integer constant takes only the digits that it has."""
    if isinstance(expr, Literal) and expr.type.is_integral:
        return cast(expr, decimal(len(str(abs(expr.value))), 0))
    return cast(expr, to_decimal(expr.type))


def _refuse(op: str, args: Sequence[Expr]) -> Mismatch:
    given = " and ".join(str(arg.type) for arg in args)
    return Mismatch(f"{op} is not defined for {given}")


def type_arithmetic(op: str, args: Sequence[Expr]) -> Expr:
    if len(args) == 1:
        return type_same(op, args)
    a, b = args
    if (type := _temporal_type(op, a.type, b.type)) is not None:
        return Call(type, op, (a, b))
    if not (a.type.is_numeric and b.type.is_numeric):
        return _leave_to_spark(op, args)
    if not (a.type.is_floating or b.type.is_floating) and (a.type.is_decimal or b.type.is_decimal):
        a, b = _decimal_operand(a), _decimal_operand(b)
        return Call(BIGINT if op == "div" else decimal_result(op, a.type, b.type), op, (a, b))
    type = DOUBLE if op == "/" else wider_number(a.type, b.type)
    if op == "div":
        if type.is_floating:
            raise _refuse(op, args)
        type = BIGINT
    return Call(type, op, (cast(a, type), cast(b, type)))


def _temporal_type(op: str, a: Type, b: Type) -> Type | None:
    """Dates and times moved by an interval or a number of days, and their differences."""
    if a.is_interval and b.is_interval and op in ("+", "-"):
        return INTERVAL_DAY if a == b == INTERVAL_DAY else INTERVAL
    if op == "-" and (a == DATE or a.is_timestamp) and (b == DATE or b.is_timestamp):
        return UNKNOWN if a != b else INTERVAL_DAY if a == DATE else INTERVAL
    point, shift = (b, a) if op == "+" and (b == DATE or b.is_timestamp) else (a, b)
    if op not in ("+", "-") or not (point == DATE or point.is_timestamp):
        return None
    if shift.name.startswith("interval"):  # of months too: Spark knows their length
        return TIMESTAMP if point == DATE and shift == INTERVAL else point
    return DATE if point == DATE and shift in (TINYINT, SMALLINT, INT) else None


def _leave_to_spark(op: str, args: Sequence[Expr]) -> Expr:
    """Arithmetic that Spark may have a rule for: on strings, NULL, scaled intervals, types of its own."""
    types = [arg.type for arg in args]
    never = any(type in (BOOLEAN, BINARY) or type.name.startswith(_COLLECTIONS) for type in types)
    perhaps = any(type in (UNKNOWN, STRING, VOID) or is_foreign(type) for type in types)
    scaled = op in ("*", "/") and any(type.is_interval for type in types) and any(type.is_numeric for type in types)
    if never or (types == [STRING, STRING] and op in INFIX) or not (perhaps or scaled):
        raise _refuse(op, args)
    return Call(UNKNOWN, op, tuple(args))


def type_comparison(op: str, args: Sequence[Expr]) -> Expr:
    a, b = args
    type = common_type([a.type, b.type])
    if type is None or type.name.startswith(("map", "variant")):
        compared = [arg for arg in args if isinstance(arg, Call) and arg.type == BOOLEAN]
        hint = "; between conditions write AND" if len(compared) == 1 else ""
        raise Mismatch(f"cannot compare {a.type} with {b.type}{hint}")
    _refuse_text_as_number(a, b)
    if is_foreign(type):
        type = UNKNOWN
    return Call(BOOLEAN, op, (cast(a, type), cast(b, type)))


def _refuse_text_as_number(a: Expr, b: Expr) -> None:
    """Spark would compare a string of one side with a number of the other as numbers: and fail on the first word."""
    if not a.sides or not b.sides or a.sides == b.sides:
        return
    for text, number in ((a, b), (b, a)):
        if text.type == STRING and number.type.is_numeric:
            raise Mismatch(
                f"cannot compare {text} (string) with {number} ({number.type}): Spark would turn every string into a "
                f"number, and fail on the first that is none; write CAST({number} AS STRING) to compare texts, or "
                f"try_cast({text} AS {str(number.type).upper()}) to compare numbers"
            )


def type_logic(op: str, args: Sequence[Expr]) -> Expr:
    for arg in args:
        if arg.type not in (BOOLEAN, VOID, UNKNOWN):
            raise Mismatch(f"{op} takes conditions, but {arg} is {arg.type}", arg)
    return Call(BOOLEAN, op, tuple(args))


def type_test(op: str, args: Sequence[Expr]) -> Expr:
    return Call(BOOLEAN, op, tuple(args))


def type_choice(op: str, args: Sequence[Expr]) -> Expr:
    """All arguments come to one type, which is also the result's."""
    return Call(*_unify(op, args))


def _unify(op: str, args: Sequence[Expr]) -> tuple[Type, str, tuple[Expr, ...]]:
    type = common_type([arg.type for arg in args])
    if type is None:
        raise Mismatch(f"{op} takes values of one type, not {', '.join(str(arg.type) for arg in args)}")
    return type, op, tuple(cast(arg, type) for arg in args)


def type_in(op: str, args: Sequence[Expr]) -> Expr:
    _, _, unified = _unify(op, args)
    for item in args[1:]:
        _refuse_text_as_number(args[0], item)
    return Call(BOOLEAN, op, unified)


def type_case(op: str, args: Sequence[Expr]) -> Expr:
    """Conditions and values in turn, the default last."""
    conditions = type_logic(op, args[:-1:2]).children
    type, _, values = _unify(op, (*args[1::2], args[-1]))
    pairs = zip(conditions, values[:-1], strict=True)
    return Call(type, op, (*(part for pair in pairs for part in pair), values[-1]))


def type_same(op: str, args: Sequence[Expr]) -> Expr:
    (arg,) = args
    if arg.type.is_numeric or arg.type.is_interval:
        return Call(arg.type, op, (arg,))
    return _leave_to_spark(op, args)


def type_doubles(op: str, args: Sequence[Expr]) -> Expr:
    if all(arg.type.is_numeric for arg in args):
        return Call(DOUBLE, op, tuple(cast(arg, DOUBLE) for arg in args))
    if any(arg.type.is_interval or arg.type == DATE or arg.type.is_timestamp for arg in args):
        raise _refuse(op, args)
    return _leave_to_spark(op, args)


def type_whole(op: str, args: Sequence[Expr]) -> Expr:
    """Floor and ceil; with a number of places they are Spark's."""
    if len(args) == 2:
        raise LeftToSpark
    (arg,) = args
    if arg.type.is_decimal:
        whole = arg.type.precision - arg.type.scale
        return Call(decimal(whole + bool(arg.type.scale), 0), op, (arg,))
    if not arg.type.is_numeric:
        return _leave_to_spark(op, args)
    return Call(BIGINT, op, (arg if arg.type.is_integral else cast(arg, DOUBLE),))


def type_is_nan(op: str, args: Sequence[Expr]) -> Expr:
    (arg,) = args
    if arg.type == BOOLEAN or (arg.type.is_plain and not arg.type.is_numeric):
        raise _refuse(op, args)
    if not arg.type.is_floating:
        arg = cast(arg, DOUBLE if arg.type.is_numeric or arg.type == VOID else UNKNOWN)
    return Call(BOOLEAN, op, (arg,))


def type_bits(op: str, args: Sequence[Expr]) -> Expr:
    """Bitwise operators."""
    if not all(arg.type.is_integral for arg in args):
        return _leave_to_spark(op, args)
    type = reduce(wider_number, (arg.type for arg in args))
    return Call(type, op, tuple(cast(arg, type) for arg in args))


def type_round(op: str, args: Sequence[Expr]) -> Expr:
    arg, places = args[0], args[1] if len(args) > 1 else None
    if places is not None and not (isinstance(places, Literal) and places.type.is_integral):
        raise Mismatch(f"round takes a whole number of places, not {places}")
    if not arg.type.is_numeric:
        return _leave_to_spark(op, args)
    type = arg.type
    if type.is_decimal:
        scale = places.value if isinstance(places, Literal) else 0
        whole = type.precision - type.scale + 1
        kept = min(type.scale, scale)
        type = decimal(max(whole, 1 - scale), 0) if scale < 0 else decimal(whole + kept, kept)
    return Call(type, op, tuple(args))


def type_conversion(takes: Type, yields: Type) -> Callable[[str, Sequence[Expr]], Expr]:
    """The rule of a function from one type to another; dates and times are cast, of anything else Spark knows."""

    def rule(op: str, args: Sequence[Expr]) -> Expr:
        (arg,) = args
        if arg.type not in (takes, VOID) and not (takes.is_timestamp and arg.type.is_timestamp):
            raise LeftToSpark
        return Call(yields, op, (cast(arg, takes),))

    return rule


def type_days_between(op: str, args: Sequence[Expr]) -> Expr:
    if all(arg.type == DATE or arg.type.is_timestamp for arg in args):
        return Call(INT, op, tuple(cast(arg, DATE) for arg in args))
    if any(arg.type.is_numeric or arg.type == BOOLEAN for arg in args):
        raise _refuse(op, args)
    return Call(UNKNOWN, op, tuple(args))
