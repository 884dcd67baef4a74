"""Constants as SQL writes them, typed as Spark types them."""

from datetime import UTC, date, datetime
from decimal import Decimal

from streamjoin.predicate.arithmetic import cast_value
from streamjoin.predicate.evaluate import physical
from streamjoin.predicate.expr import Literal, Span
from streamjoin.predicate.types import (
    BIGINT,
    DATE,
    DOUBLE,
    INT,
    INTEGRAL_RANGE,
    MAX_PRECISION,
    TIMESTAMP,
    UNKNOWN,
    Type,
    decimal,
)

SUFFIXES = {"tinyint": "Y", "smallint": "S", "bigint": "L", "float": "F", "double": "D", "decimal": "BD"}
"""The letters that give a constant its type."""


def number(text: str, span: Span) -> Literal:
    """A constant without suffix: int, bigint or decimal by its size, double with an exponent."""
    if "e" in text.lower():
        return Literal(DOUBLE, float(text), text, span=span)
    value = Decimal(text)
    if "." not in text:
        for kind in (INT, BIGINT):
            if -INTEGRAL_RANGE[kind] <= value < INTEGRAL_RANGE[kind]:
                return Literal(kind, int(value), text, span=span)
    digits = value.as_tuple()
    scale = max(-int(digits.exponent), 0)
    if max(len(digits.digits), scale) > MAX_PRECISION:
        return Literal(UNKNOWN, None, text, span=span)
    return Literal(decimal(max(len(digits.digits), scale), scale), value, text, span=span)


def typed_text(text: str, target: Type, span: Span) -> Literal | None:
    """A constant written as text: a date, a time, a number."""
    plain = f"CAST('{text}' AS {str(target).upper()})"
    try:
        if target == DATE:
            return Literal(DATE, physical(date.fromisoformat(text), DATE), f"DATE '{text}'", span=span)
        if target.is_timestamp:
            moment = datetime.fromisoformat(text)
            if target == TIMESTAMP and moment.tzinfo is None:
                moment = moment.replace(tzinfo=UTC)
            return Literal(target, physical(moment, target), f"{str(target).upper()} '{text}'", span=span)
        if target.is_floating:
            return Literal(target, float(text), plain, span=span)
        if target.is_decimal:
            return Literal(target, cast_value(Decimal(text), DOUBLE, target), plain, span=span)
    except (ValueError, ArithmeticError):
        pass  # left for Spark to raise
    return None
