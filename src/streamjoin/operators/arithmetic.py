"""Operators on single values, as Spark's ANSI mode computes them: plain Python.

Whole numbers and decimals are exact until the result is brought into its type, where it may not fit and raises.
Floating values follow IEEE 754, except that a division by zero raises too.
"""

import math
import operator
import struct
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from streamjoin.operators.types import BIGINT, BOOLEAN, DATE, FLOAT, INT, INTEGRAL_RANGE, Type
from streamjoin.spec.duration import UNITS

MICROS_PER_DAY = UNITS["day"]
_ALL_PLACES = 400  # more than any double has
_CONTEXT = Context(prec=120, rounding=ROUND_HALF_UP)


class EvaluationError(ArithmeticError):
    """Where Spark's ANSI mode raises: an overflow, a division by zero, a cast that does not fit."""


class NotEvaluable(Exception):
    """The expression holds something that only Spark evaluates."""


def order_key(value: Any) -> tuple[bool, Any]:
    """Sorts as Spark does: NaN after every other number."""
    is_nan = isinstance(value, float) and math.isnan(value)
    return is_nan, 0 if is_nan else value


def cast_value(value: Any, source: Type, target: Type) -> Any:
    """Cast as ANSI SQL does: a value that does not fit raises."""
    if source == target:
        return value
    if not can_cast(source, target):
        raise NotEvaluable(f"CAST from {source} to {target}")
    if target == BOOLEAN:
        return value != 0
    if target.is_numeric:
        return _number(value, target)
    if source == DATE and target.is_timestamp:
        return value * MICROS_PER_DAY
    if source.is_timestamp and target == DATE:
        return value // MICROS_PER_DAY
    return value


def can_cast(source: Type, target: Type) -> bool:
    """Whether `cast_value` knows the cast."""
    numbers = (source.is_numeric or source == BOOLEAN) and (target.is_numeric or target == BOOLEAN)
    times = (source == DATE or source.is_timestamp) and (target == DATE or target.is_timestamp)
    return source == target or numbers or times or (source.is_interval and target.is_interval)


def _number(value: Any, target: Type) -> Any:
    if target.is_floating:
        return _float32(float(value)) if target == FLOAT else float(value)
    if isinstance(value, float) and not math.isfinite(value):
        if target.is_decimal:
            return None
        raise EvaluationError(f"{value} has no {target}")
    if isinstance(value, float) and target == BIGINT and value == 2.0**63:
        return 2**63 - 1  # the JVM compares with the nearest double of the greatest bigint
    if target.is_decimal:
        # Spark reads a floating value by its shortest decimal text.
        return _decimal(Decimal(repr(value)) if isinstance(value, float) else Decimal(value), target)
    return _integral(math.trunc(value), target)


def _float32(value: float) -> float:
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def _integral(value: int, type: Type) -> int:
    limit = INTEGRAL_RANGE[BIGINT if type.is_interval or type.is_timestamp else INT if type == DATE else type]
    if not -limit <= value < limit:
        raise EvaluationError(f"{value} does not fit into {type}")
    return value


def _decimal(value: Decimal, type: Type) -> Decimal:
    limit = Decimal(10) ** (type.precision - type.scale)
    if abs(value) < limit:
        rounded = value.quantize(Decimal(1).scaleb(-type.scale), context=_CONTEXT)
        if abs(rounded) < limit:
            return rounded
    raise EvaluationError(f"{value} does not fit into {type}")


def _result(value: Any, type: Type) -> Any:
    """An exact result brought into the range and precision of its type."""
    if type.is_floating:
        return _float32(value) if type == FLOAT else value
    return _decimal(value, type) if type.is_decimal else _integral(value, type)


def in_unit_of(type: Type, own: Type, value: Any) -> Any:
    """An operand in its result's unit: days beside dates, microseconds beside times."""
    if type == DATE and own.is_interval:
        return value // MICROS_PER_DAY
    return value * MICROS_PER_DAY if own == DATE and (type.is_interval or type.is_timestamp) else value


def _plus(type: Type, a: Any, b: Any) -> Any:
    return _result(_CONTEXT.add(a, b) if type.is_decimal else a + b, type)


def _minus(type: Type, a: Any, b: Any = None) -> Any:
    if b is None:
        return _result(-a, type)
    return _result(_CONTEXT.subtract(a, b) if type.is_decimal else a - b, type)


def _times(type: Type, a: Any, b: Any) -> Any:
    return _result(_CONTEXT.multiply(a, b) if type.is_decimal else a * b, type)


def _over(type: Type, a: Any, b: Any) -> Any:
    if b == 0:
        raise EvaluationError("division by zero")
    if type.is_decimal:
        return _decimal(_CONTEXT.divide(a, b), type)
    return _result(a / b, type)


def _div(type: Type, a: Any, b: Any) -> Any:
    if b == 0:
        raise EvaluationError("division by zero")
    return _integral(int(_CONTEXT.divide_int(Decimal(a), Decimal(b))), type)


def _modulo(type: Type, a: Any, b: Any) -> Any:
    """The remainder with the sign of the dividend."""
    if b == 0:
        raise EvaluationError("remainder of a division by zero")
    if type.is_floating:
        return _result(math.fmod(a, b) if math.isfinite(a) and not math.isnan(b) else math.nan, type)
    if type.is_decimal:
        return _decimal(_CONTEXT.remainder(a, b), type)
    return int(math.copysign(1, a)) * (abs(a) % abs(b))


def _pmod(type: Type, a: Any, b: Any) -> Any:
    """The remainder that is positive for a positive divisor."""
    r = _modulo(type, a, b)
    if r >= 0 or (isinstance(r, float) and math.isnan(r)):
        return r
    return _modulo(type, _CONTEXT.add(r, b) if type.is_decimal else _wrapped(r + b, type), b)


def _wrapped(value: Any, type: Type) -> Any:
    if type.is_floating:
        return _result(value, type)
    limit = INTEGRAL_RANGE[type]
    return (value + limit) % (2 * limit) - limit


def _abs(type: Type, a: Any) -> Any:
    return _result(abs(a), type)


def _whole(rounded: Callable[[Any], int]) -> Callable[..., Any]:
    """Floor or ceil."""

    def apply(type: Type, a: Any) -> Any:
        if isinstance(a, float) and math.isnan(a):
            return 0  # as the JVM converts it
        if a in (math.inf, -math.inf):
            raise EvaluationError(f"{a} has no {type}")
        return _result(Decimal(rounded(a)) if type.is_decimal else rounded(a), type)

    return apply


def _round(type: Type, a: Any, places: int = 0) -> Any:
    if isinstance(a, float):
        if not math.isfinite(a) or places > _ALL_PLACES:
            return a
        return _result(float(_at_scale(Decimal(repr(a)), places)), type)
    return _result(_at_scale(a, places) if type.is_decimal else int(_at_scale(Decimal(a), min(places, 0))), type)


def _at_scale(value: Decimal, places: int) -> Decimal:
    return Context(prec=1200, rounding=ROUND_HALF_UP).quantize(value, Decimal(1).scaleb(-places))


def _real(function: Callable[..., float], undefined: float | None = math.nan) -> Callable[..., float | None]:
    """A function on doubles: infinite where Python would overflow, `undefined` outside of its domain."""

    def apply(*values: float) -> float | None:
        try:
            return function(*values)
        except OverflowError:
            return math.inf
        except ValueError:
            return undefined

    return apply


def _power(x: float, y: float) -> float:
    if math.isnan(y) or (abs(x) == 1 and math.isinf(y)):
        return math.nan  # as in Java, and not as in C
    try:
        return math.pow(x, y)
    except OverflowError:
        return -math.inf if x < 0 and y % 2 == 1 else math.inf
    except ValueError:  # a negative base with a broken exponent, or zero with a negative one
        if x != 0:
            return math.nan
        return math.copysign(math.inf, x) if y % 2 == 1 else math.inf


def _degrees(x: float) -> float:
    return x * 57.29577951308232


def _radians(x: float) -> float:
    return x * 0.017453292519943295


def _atan2(y: float, x: float) -> float:
    return math.atan2(y + 0.0, x + 0.0)  # Spark has no -0.0 here


def _sign(a: float) -> float:
    return a if math.isnan(a) or a == 0 else math.copysign(1.0, a)


def _compared(holds: Callable[[Any, Any], bool]) -> Callable[..., bool]:
    return lambda a, b: holds(order_key(a), order_key(b))


TYPED: dict[str, Callable[..., Any]] = {
    "+": _plus,
    "-": _minus,
    "*": _times,
    "/": _over,
    "div": _div,
    "%": _modulo,
    "pmod": _pmod,
    "abs": _abs,
    "floor": _whole(math.floor),
    "ceil": _whole(math.ceil),
    "round": _round,
    "datediff": _minus,
}
"""Operators whose result must fit into its type, which they take first."""

DIVISIONS = frozenset(("/", "%", "div", "pmod"))
"""Operators that look at their second argument first, and raise when it is zero."""

SIMPLE: dict[str, Callable[..., Any]] = {
    "NOT": operator.not_,
    "=": _compared(operator.eq),
    "<>": _compared(operator.ne),
    "<": _compared(operator.lt),
    "<=": _compared(operator.le),
    ">": _compared(operator.gt),
    ">=": _compared(operator.ge),
    "sign": _sign,
    "sqrt": _real(math.sqrt),
    "exp": _real(math.exp),
    "ln": _real(math.log, undefined=None),  # NULL where it is not defined
    "log10": _real(math.log10, undefined=None),
    "sin": _real(math.sin),
    "cos": _real(math.cos),
    "tan": _real(math.tan),
    "asin": _real(math.asin),
    "acos": _real(math.acos),
    "atan": _real(math.atan),
    "atan2": _atan2,
    "pow": _power,
    "radians": _radians,
    "degrees": _degrees,
}
"""Functions of the values alone; like those above they never see NULL."""
