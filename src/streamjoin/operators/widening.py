"""Types that meet: the one in which Spark compares values, and the decimals that arithmetic yields."""

from collections.abc import Sequence
from functools import reduce

from streamjoin.operators.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGRAL_DIGITS,
    INTEGRAL_RANGE,
    INTERVAL,
    MAX_PRECISION,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    UNKNOWN,
    VOID,
    Type,
    decimal,
)


def common_type(types: Sequence[Type]) -> Type | None:
    """The type in which Spark compares values of these types; None where it refuses to."""
    return reduce(lambda a, b: a and _wider(a, b), types[1:], types[0])  # type: ignore[arg-type,return-value]


def _wider(a: Type, b: Type) -> Type | None:
    if a == b or b == VOID:
        return a
    if a == VOID:
        return b
    if UNKNOWN in (a, b) or (STRING in (a, b) and (b if a == STRING else a).name in _FROM_STRING):
        return UNKNOWN  # Spark casts the string to the other's type, by rules that it keeps to itself
    if a.is_numeric and b.is_numeric:
        return wider_number(a, b)
    if {a, b} <= {DATE, TIMESTAMP, TIMESTAMP_NTZ}:
        return TIMESTAMP if TIMESTAMP in (a, b) else TIMESTAMP_NTZ
    if a.is_interval and b.is_interval:
        return INTERVAL
    return UNKNOWN if is_foreign(a) and is_foreign(b) else None


def is_foreign(type: Type) -> bool:
    """Whether it is a type that only Spark computes with, as arrays are."""
    return not (type.is_numeric or type.is_plain or type in (STRING, BINARY, VOID, UNKNOWN))


_FROM_STRING = frozenset(
    type.name
    for type in (BOOLEAN, BINARY, DATE, TIMESTAMP, TIMESTAMP_NTZ, FLOAT, DOUBLE, decimal(1, 0), *INTEGRAL_DIGITS)
)


def wider_number(a: Type, b: Type) -> Type:
    """The type in which two numbers meet."""
    if a.is_integral and b.is_integral:
        return max(a, b, key=list(INTEGRAL_RANGE).index)
    if a.is_floating or b.is_floating:
        return FLOAT if a == b == FLOAT else DOUBLE
    a, b = to_decimal(a), to_decimal(b)
    scale = max(a.scale, b.scale)
    return decimal(max(a.precision - a.scale, b.precision - b.scale) + scale, scale)


def to_decimal(type: Type) -> Type:
    """The decimal that holds all values of a whole or decimal type."""
    return decimal(INTEGRAL_DIGITS[type], 0) if type.is_integral else type


def _fit_decimal(precision: int, scale: int) -> Type:
    """Keep the digits before the point when a result would need more than 38."""
    if precision <= MAX_PRECISION:
        return decimal(precision, scale)
    return decimal(MAX_PRECISION, max(MAX_PRECISION - (precision - scale), min(scale, 6)))


def decimal_result(op: str, a: Type, b: Type) -> Type:
    """The type of arithmetic on two decimals."""
    whole_a, whole_b = a.precision - a.scale, b.precision - b.scale
    scale = max(a.scale, b.scale)
    match op:
        case "+" | "-":
            return _fit_decimal(max(whole_a, whole_b) + scale + 1, scale)
        case "*":
            return _fit_decimal(a.precision + b.precision + 1, a.scale + b.scale)
        case "/":
            scale = max(6, a.scale + b.precision + 1)
            return _fit_decimal(whole_a + b.scale + scale, scale)
        case _:
            return _fit_decimal(min(whole_a, whole_b) + scale, scale)
