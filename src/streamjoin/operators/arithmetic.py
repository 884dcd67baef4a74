"""Operators on single values, as Spark's ANSI mode computes them: plain Python.

Whole numbers and decimals are exact until the result is brought into its type, where it may not fit and raises.
Floating values follow IEEE 754, except that a division by zero raises too.
"""

import math
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
        return _to_number(value, target)
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


def _to_number(value: Any, target: Type) -> Any:
    if target.is_floating:
        return _to_float32(float(value)) if target == FLOAT else float(value)
    if isinstance(value, float) and not math.isfinite(value):
        if target.is_decimal:
            return None
        raise EvaluationError(f"{value} has no {target}")
    if isinstance(value, float) and target == BIGINT and value == 2.0**63:
        return 2**63 - 1  # the JVM compares with the nearest double of the greatest bigint
    if target.is_decimal:
        # Spark reads a floating value by its shortest decimal text.
        return _to_decimal(Decimal(repr(value)) if isinstance(value, float) else Decimal(value), target)
    return _to_integral(math.trunc(value), target)


def _to_float32(value: float) -> float:
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def _to_integral(value: int, type: Type) -> int:
    limit = INTEGRAL_RANGE[BIGINT if type.is_interval or type.is_timestamp else INT if type == DATE else type]
    if not -limit <= value < limit:
        raise EvaluationError(f"{value} does not fit into {type}")
    return value


def _to_decimal(value: Decimal, type: Type) -> Decimal:
    limit = Decimal(10) ** (type.precision - type.scale)
    if abs(value) < limit:
        rounded = value.quantize(Decimal(1).scaleb(-type.scale), context=_CONTEXT)
        if abs(rounded) < limit:
            return rounded
    raise EvaluationError(f"{value} does not fit into {type}")


def _to_type(value: Any, type: Type) -> Any:
    """An exact result brought into the range and precision of its type."""
    if type.is_floating:
        return _to_float32(value) if type == FLOAT else value
    return _to_decimal(value, type) if type.is_decimal else _to_integral(value, type)


def in_unit_of(type: Type, own: Type, value: Any) -> Any:
    """An operand in its result's unit: days beside dates, microseconds beside times."""
    if type == DATE and own.is_interval:
        return value // MICROS_PER_DAY
    return value * MICROS_PER_DAY if own == DATE and (type.is_interval or type.is_timestamp) else value


def add(type: Type, a: Any, b: Any) -> Any:
    return _to_type(_CONTEXT.add(a, b) if type.is_decimal else a + b, type)


def subtract(type: Type, a: Any, b: Any = None) -> Any:
    if b is None:
        return _to_type(-a, type)
    return _to_type(_CONTEXT.subtract(a, b) if type.is_decimal else a - b, type)


def multiply(type: Type, a: Any, b: Any) -> Any:
    return _to_type(_CONTEXT.multiply(a, b) if type.is_decimal else a * b, type)


def divide(type: Type, a: Any, b: Any) -> Any:
    if b == 0:
        raise EvaluationError("division by zero")
    if type.is_decimal:
        return _to_decimal(_CONTEXT.divide(a, b), type)
    return _to_type(a / b, type)


def divide_whole(type: Type, a: Any, b: Any) -> Any:
    if b == 0:
        raise EvaluationError("division by zero")
    return _to_integral(int(_CONTEXT.divide_int(Decimal(a), Decimal(b))), type)


def remainder(type: Type, a: Any, b: Any) -> Any:
    """The remainder with the sign of the dividend."""
    if b == 0:
        raise EvaluationError("remainder of a division by zero")
    if type.is_floating:
        return _to_type(math.fmod(a, b) if math.isfinite(a) and not math.isnan(b) else math.nan, type)
    if type.is_decimal:
        return _to_decimal(_CONTEXT.remainder(a, b), type)
    return int(math.copysign(1, a)) * (abs(a) % abs(b))


def positive_remainder(type: Type, a: Any, b: Any) -> Any:
    """The remainder that is positive for a positive divisor."""
    r = remainder(type, a, b)
    if r >= 0 or (isinstance(r, float) and math.isnan(r)):
        return r
    return remainder(type, _CONTEXT.add(r, b) if type.is_decimal else _wrap(r + b, type), b)


def _wrap(value: Any, type: Type) -> Any:
    """A sum as the JVM computes it: whole numbers wrap, in 32 bits at least."""
    if type.is_floating:
        return _to_type(value, type)
    limit = max(INTEGRAL_RANGE[type], INTEGRAL_RANGE[INT])
    return (value + limit) % (2 * limit) - limit


def absolute(type: Type, a: Any) -> Any:
    return _to_type(abs(a), type)


def to_whole(rounded: Callable[[Any], int]) -> Callable[..., Any]:
    """Floor or ceil."""

    def apply(type: Type, a: Any) -> Any:
        if isinstance(a, float) and math.isnan(a):
            return 0  # as the JVM converts it
        if a in (math.inf, -math.inf):
            raise EvaluationError(f"{a} has no {type}")
        return _to_type(Decimal(rounded(a)) if type.is_decimal else rounded(a), type)

    return apply


def round_half_up(type: Type, a: Any, places: int = 0) -> Any:
    if isinstance(a, float):
        if not math.isfinite(a) or places > _ALL_PLACES:
            return a
        return _to_type(float(_round_decimal(Decimal(repr(a)), places)), type)
    return _to_type(
        _round_decimal(a, places) if type.is_decimal else int(_round_decimal(Decimal(a), min(places, 0))), type
    )


def _round_decimal(value: Decimal, places: int) -> Decimal:
    return Context(prec=1200, rounding=ROUND_HALF_UP).quantize(value, Decimal(1).scaleb(-places))
