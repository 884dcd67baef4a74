"""Constants as SQL writes them, typed as Spark types them."""

import re
from datetime import UTC, date, datetime
from decimal import Decimal

from streamjoin.operators.arithmetic import cast_value
from streamjoin.operators.evaluate import physical
from streamjoin.operators.expr import Literal, Span
from streamjoin.operators.types import (
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

_MOMENT = r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)?)?"
_FLOAT = r"[+-]?(\d+\.?\d*([eE][+-]?\d+)?|inf(inity)?|nan)"

SUFFIXES = {"tinyint": "Y", "smallint": "S", "bigint": "L", "float": "F", "double": "D", "decimal": "BD"}
"""The letters that give a constant its type."""


def read_number(text: str, span: Span) -> Literal:
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


def read_text(text: str, target: Type, span: Span) -> Literal | None:
    """A constant written as text: a date, a time, a number; None for forms that are left to Spark to read."""
    plain = f"CAST('{text}' AS {str(target).upper()})"
    try:
        if target == DATE and re.fullmatch(r"\d{4}-\d\d-\d\d", text):
            return Literal(DATE, physical(date.fromisoformat(text), DATE), f"DATE '{text}'", span=span)
        if target.is_timestamp and re.fullmatch(_MOMENT, text):
            moment = datetime.fromisoformat(text)
            if target != TIMESTAMP or moment.tzinfo is None:
                moment = moment.replace(tzinfo=UTC)
            return Literal(target, physical(moment, target), f"{str(target).upper()} '{text}'", span=span)
        if target.is_floating and re.fullmatch(_FLOAT, text, re.IGNORECASE):
            value = float(text)
            return Literal(target, cast_value(value, DOUBLE, target), plain, span=span)
        if target.is_decimal and re.fullmatch(r"[+-]?\d+(\.\d+)?", text):
            return Literal(target, cast_value(Decimal(text), decimal(38, 0), target), plain, span=span)
    except (ValueError, ArithmeticError):
        pass  # left for Spark to raise
    return None
