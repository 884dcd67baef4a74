"""Constants: the type that Spark gives them, their value, and how they are written back."""

import math
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from streamjoin.operators.evaluate import physical
from streamjoin.operators.expr import Call, Expr, Literal
from streamjoin.operators.types import DATE, TIMESTAMP_NTZ, Schema
from streamjoin.sql.bind import bind

NONE = Schema({})
DAY, HOUR, MINUTE = 86_400_000_000, 3_600_000_000, 60_000_000


def bound(text: str) -> Expr:
    """The expression that a text is bound to."""
    is_null = bind(f"({text}) IS NULL", NONE, NONE)
    assert isinstance(is_null, Call)
    return is_null.args[0]


@pytest.mark.parametrize(
    ("text", "type", "value"),
    [
        # Whole numbers by their size.
        ("0", "int", 0),
        ("2147483647", "int", 2147483647),
        ("-2147483648", "int", -2147483648),
        ("2147483648", "bigint", 2147483648),
        ("-9223372036854775808", "bigint", -(2**63)),
        ("9223372036854775808", "decimal(19,0)", Decimal(2**63)),
        # Broken numbers are decimals, with an exponent doubles.
        ("1.50", "decimal(3,2)", Decimal("1.50")),
        ("-0.001", "decimal(3,3)", Decimal("-0.001")),
        (".5", "decimal(1,1)", Decimal("0.5")),
        ("1e3", "double", 1000.0),
        ("-1.5E-3", "double", -0.0015),
        ("-0e0", "double", -0.0),
        # Suffixes.
        ("5L", "bigint", 5),
        ("-9223372036854775808L", "bigint", -(2**63)),
        ("-3S", "smallint", -3),
        ("127Y", "tinyint", 127),
        ("0.1F", "float", 0.10000000149011612),
        ("-0.0D", "double", -0.0),
        ("1e-07D", "double", 1e-07),
        ("3BD", "decimal(1,0)", Decimal(3)),
        ("-1.50BD", "decimal(3,2)", Decimal("-1.50")),
        # Words and text.
        ("true", "boolean", True),
        ("NULL", "void", None),
        ("'it\\'s'", "string", "it's"),
        ("'a\\\\b'", "string", "a\\b"),
        ('"double quoted"', "string", "double quoted"),
        # Typed text.
        ("DATE '1970-01-02'", "date", 1),
        ("DATE '0001-01-01'", "date", physical(date(1, 1, 1), DATE)),
        ("TIMESTAMP '1970-01-01 00:00:01'", "timestamp", 1_000_000),
        ("TIMESTAMP '1970-01-01T02:00:00+02:00'", "timestamp", 0),
        ("TIMESTAMP '1970-01-01 00:00:00.000001Z'", "timestamp", 1),
        ("TIMESTAMP_NTZ '1970-01-02 00:00:00'", "timestamp_ntz", DAY),
        ("TIMESTAMP_NTZ '2024-02-29'", "timestamp_ntz", physical(datetime(2024, 2, 29), TIMESTAMP_NTZ)),
        ("CAST('NaN' AS DOUBLE)", "double", math.nan),
        ("CAST('-Infinity' AS FLOAT)", "float", -math.inf),
        ("CAST('1.25' AS DECIMAL(5,1))", "decimal(5,1)", Decimal("1.3")),
        # Intervals: of days, or to the second.
        ("INTERVAL 3 DAYS", "interval day", 3 * DAY),
        ("INTERVAL '1' WEEK", "interval day", 7 * DAY),
        ("INTERVAL '-5' DAY", "interval day", -5 * DAY),
        ("INTERVAL 5 MINUTES", "interval day to second", 5 * MINUTE),
        ("INTERVAL -5 MINUTES", "interval day to second", -5 * MINUTE),
        ("INTERVAL '90 seconds'", "interval day to second", 90_000_000),
        ("INTERVAL '1.5' SECOND", "interval day to second", 1_500_000),
        ("INTERVAL 250 MILLISECONDS", "interval day to second", 250_000),
        ("INTERVAL '7' MICROSECOND", "interval day to second", 7),
        ("INTERVAL 24 HOURS", "interval day to second", DAY),
    ],
)
def test_a_constant_has_its_type_and_value(text: str, type: str, value: object) -> None:
    literal = bound(text)
    assert isinstance(literal, Literal)
    assert (str(literal.type), repr(literal.value)) == (type, repr(value))
    again = bound(str(literal))
    assert repr(again) == repr(literal)


def test_a_zoned_constant_without_a_zone_is_in_utc() -> None:
    literal = bound("TIMESTAMP '2024-07-01 12:00:00'")
    assert isinstance(literal, Literal)
    assert literal.value == physical(datetime(2024, 7, 1, 12, tzinfo=UTC), literal.type)


@pytest.mark.parametrize(
    "text",
    [
        "DATE '2020-2-30'",
        "DATE '2024-13-01'",
        "TIMESTAMP 'noon'",
        "CAST('abc' AS DOUBLE)",
        "CAST('12345' AS DECIMAL(3,0))",
        "INTERVAL 1 MONTH",
        "INTERVAL '2' YEARS",
        "INTERVAL '1-2' YEAR TO MONTH",
        "INTERVAL '1 02:03:04' DAY TO SECOND",
        "100000000000000000000000000000000000000000",
    ],
)
def test_what_cannot_be_read_is_left_to_spark(text: str) -> None:
    found = bound(text)
    assert not isinstance(found, Literal) or found.value is None
    assert repr(bound(str(found))) == repr(found)
