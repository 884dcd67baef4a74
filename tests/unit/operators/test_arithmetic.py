"""Single values as Spark's ANSI mode computes them; each table was checked against Spark 4.3."""

import math
from decimal import Decimal

import pytest

from streamjoin.operators.arithmetic import EvaluationError
from streamjoin.operators.evaluate import evaluate
from streamjoin.operators.expr import Call
from streamjoin.operators.types import Schema
from streamjoin.sql.bind import bind

NONE = Schema({})
RAISES = "raises"
NAN, INF = "CAST('NaN' AS DOUBLE)", "CAST('Infinity' AS DOUBLE)"


def value(text: str) -> object:
    """A constant expression's value, or that it raises."""
    is_null = bind(f"({text}) IS NULL", NONE, NONE)
    assert isinstance(is_null, Call)
    try:
        return evaluate(is_null.args[0], {}, {})
    except EvaluationError:
        return RAISES


def check(text: str, expected: object) -> None:
    found = value(text)
    assert type(found) is type(expected)
    assert repr(found) == repr(expected)  # NaN is itself, and 0.0 is not -0.0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # NaN equals itself and is greater than every other number; the zeros are equal.
        (f"{NAN} = {NAN}", True),
        (f"{NAN} <> {NAN}", False),
        (f"{NAN} > {INF}", True),
        (f"{NAN} <= {INF}", False),
        (f"1D < {NAN}", True),
        (f"{NAN} >= {NAN}", True),
        ("-0.0D = 0.0D", True),
        ("-0.0D < 0.0D", False),
        (f"{INF} > 1e308", True),
        (f"-{INF} < -1e308", True),
        # A comparison is made in the common type: a double does not tell these whole numbers apart.
        ("9007199254740993 = 9007199254740992D", True),
        ("16777217 = CAST(16777216 AS FLOAT)", False),
        ("1.0 = 1.00", True),
        ("0.1 = 0.1D", True),
        ("0.1F = 0.1D", False),
        # Text by its code points.
        ("'a' < 'b'", True),
        ("'Z' < 'a'", True),
        ("'' < 'a'", True),
    ],
)
def test_order(text: str, expected: object) -> None:
    check(text, expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("126Y + 1Y", 127),
        ("127Y + 1Y", RAISES),
        ("-128Y - 1Y", RAISES),
        ("-(-128Y)", RAISES),
        ("abs(-128Y)", RAISES),
        ("32767S + 1S", RAISES),
        ("32767S + 1", 32768),
        ("2147483647 + 1", RAISES),
        ("2147483647 + 1L", 2147483648),
        ("-2147483648 - 1", RAISES),
        ("65536 * 65536", RAISES),
        ("9223372036854775807 + 1", RAISES),
        ("9223372036854775807 * 2", RAISES),
        ("-(-9223372036854775808L)", RAISES),
        ("abs(-9223372036854775808)", RAISES),
        ("1e308 + 1e308", math.inf),
        ("1e308 * -10", -math.inf),
        ("CAST(3e38 AS FLOAT) + CAST(3e38 AS FLOAT)", math.inf),
        (f"{INF} - {INF}", math.nan),
        (f"{INF} * 0", math.nan),
        ("0.1D + 0.2D", 0.30000000000000004),
        ("0.1F + 0.2F", 0.30000001192092896),
        ("9999.99 + 0.01", Decimal("10000.00")),
        ("1.10 * 2.05", Decimal("2.2550")),
        ("99999999999999999999999999999999999999 + 1.0", RAISES),
        ("DATE '2024-02-28' + 2 = DATE '2024-03-01'", True),
        ("DATE '2024-03-01' - DATE '2024-02-28' = INTERVAL 2 DAYS", True),
        ("datediff(DATE '2024-02-28', DATE '2024-03-01')", -2),
        ("TIMESTAMP_NTZ '2024-02-29 23:59:59' + INTERVAL 1 SECOND = TIMESTAMP_NTZ '2024-03-01 00:00:00'", True),
        ("DATE '2024-03-01' = TIMESTAMP_NTZ '2024-03-01 00:00:00'", True),
    ],
)
def test_sums_and_products_fit_or_raise(text: str, expected: object) -> None:
    check(text, expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # A division of whole numbers is a double, of decimals a decimal; by zero it raises, for doubles too.
        ("10 / 4", 2.5),
        ("1 / 3", 1 / 3),
        ("1.0 / 3", Decimal("0.333333")),
        ("1 / 0", RAISES),
        ("0D / 0D", RAISES),
        ("1D / -0.0D", RAISES),
        (f"1D / {INF}", 0.0),
        # div cuts towards zero.
        ("7 div 2", 3),
        ("-7 div 2", -3),
        ("7 div -2", -3),
        ("5.5 div 2", 2),
        ("1 div 0", RAISES),
        ("-9223372036854775808 div -1", RAISES),
        # % has the sign of the dividend.
        ("5 % 3", 2),
        ("-5 % 3", -2),
        ("5 % -3", 2),
        ("-5 % -3", -2),
        ("-5.5 % 2", Decimal("-1.5")),
        ("-5.5D % 2", -1.5),
        (f"5D % {INF}", 5.0),
        (f"{INF} % 2", math.nan),
        (f"5D % {NAN}", math.nan),
        ("1 % 0", RAISES),
        ("1D % 0", RAISES),
        ("-9223372036854775808 % -1", 0),
        # pmod is positive for a positive divisor; for a negative one it is not.
        ("pmod(5, 3)", 2),
        ("pmod(-5, 3)", 1),
        ("pmod(5, -3)", 2),
        ("pmod(-5, -3)", -2),
        ("pmod(-6, 3)", 0),
        ("pmod(-5.5D, 3D)", 0.5),
        ("pmod(-5.5, 3)", Decimal("0.5")),
        ("pmod(-100Y, 127Y)", 27),
        ("pmod(1, 0)", RAISES),
    ],
)
def test_divisions(text: str, expected: object) -> None:
    check(text, expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Half goes away from zero, on the decimal digits that a value is written with.
        ("round(2.5D)", 3.0),
        ("round(-2.5D)", -3.0),
        ("round(0.5D)", 1.0),
        ("round(2.675D, 2)", 2.68),
        ("round(0.285D, 2)", 0.29),
        ("round(1234.5678D, -2)", 1200.0),
        ("round(1e300, 2)", 1e300),
        (f"round({NAN}, 1)", math.nan),
        (f"round({INF})", math.inf),
        ("round(12.345, 2)", Decimal("12.35")),
        ("round(-12.345, 2)", Decimal("-12.35")),
        ("round(12.3, 5)", Decimal("12.3")),
        ("round(55.5, -1)", Decimal(60)),
        ("round(25, -1)", 30),
        ("round(-25, -1)", -30),
        ("round(24, -1)", 20),
        ("round(25, 2)", 25),
        ("round(4, -1)", 0),
        ("round(2147483647, -1)", RAISES),
        # floor and ceil are whole; NaN is 0 as it is in Java.
        ("floor(2.5D)", 2),
        ("floor(-2.5D)", -3),
        ("ceil(2.5D)", 3),
        ("ceil(-2.5D)", -2),
        ("floor(-9.223372036854775808E18)", -(2**63)),
        ("floor(9.223372036854775807E18)", RAISES),
        ("ceil(-1e30)", RAISES),
        (f"floor({INF})", RAISES),
        (f"floor({NAN})", 0),
        ("floor(-2.5)", Decimal(-3)),
        ("ceil(2.1)", Decimal(3)),
        ("floor(7)", 7),
    ],
)
def test_rounding(text: str, expected: object) -> None:
    check(text, expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # To whole numbers: cut towards zero, and raise where it does not fit.
        ("CAST(1.9D AS INT)", 1),
        ("CAST(-1.9D AS INT)", -1),
        ("CAST(1.5 AS INT)", 1),
        ("CAST(-1.5 AS INT)", -1),
        ("CAST(2147483647.5D AS INT)", 2147483647),
        ("CAST(2147483648D AS INT)", RAISES),
        ("CAST(127.5D AS TINYINT)", 127),
        ("CAST(128 AS TINYINT)", RAISES),
        (f"CAST({NAN} AS INT)", RAISES),
        (f"CAST({INF} AS BIGINT)", RAISES),
        ("CAST(1e19 AS BIGINT)", RAISES),
        # To decimals: half goes away from zero; a floating value by its shortest text.
        ("CAST(2.5 AS DECIMAL(2,0))", Decimal(3)),
        ("CAST(-2.5 AS DECIMAL(2,0))", Decimal(-3)),
        ("CAST(0.1D AS DECIMAL(20,18))", Decimal("0.100000000000000000")),
        ("CAST(9.5D AS DECIMAL(1,0))", RAISES),
        ("CAST(100 AS DECIMAL(2,0))", RAISES),
        ("CAST(1e300 AS DECIMAL(10,2))", RAISES),
        # To floating values: the nearest one.
        ("CAST(9007199254740993 AS DOUBLE)", 9007199254740992.0),
        ("CAST(16777217 AS FLOAT)", 16777216.0),
        ("CAST(0.1F AS DOUBLE)", 0.10000000149011612),
        ("CAST(1e40 AS FLOAT)", math.inf),
        ("CAST(-1e-50 AS FLOAT)", -0.0),
        # To and from conditions.
        ("CAST(true AS INT)", 1),
        ("CAST(false AS DOUBLE)", 0.0),
        ("CAST(-0.0D AS BOOLEAN)", False),
        ("CAST(0.5D AS BOOLEAN)", True),
        (f"CAST({NAN} AS BOOLEAN)", True),
        # Between dates and times.
        ("CAST(DATE '1969-12-31' AS TIMESTAMP_NTZ)", -86_400_000_000),
        ("CAST(TIMESTAMP_NTZ '1969-12-31 23:59:59' AS DATE)", -1),
        ("CAST(NULL AS INT)", None),
    ],
)
def test_casts(text: str, expected: object) -> None:
    check(text, expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Logarithms are NULL where they are not defined, other functions NaN.
        ("ln(0)", None),
        ("ln(-1)", None),
        ("log10(0D)", None),
        ("ln(1)", 0.0),
        ("log(1)", 0.0),
        ("log10(1000)", math.log10(1000)),
        (f"ln({NAN})", math.nan),
        (f"ln({INF})", math.inf),
        ("sqrt(-1)", math.nan),
        ("sqrt(2)", math.sqrt(2)),
        ("sqrt(-0.0D)", -0.0),
        ("asin(2)", math.nan),
        ("acos(-1.5)", math.nan),
        (f"sin({INF})", math.nan),
        ("exp(1000)", math.inf),
        ("exp(-1000)", 0.0),
        ("pow(2, 10)", 1024.0),
        ("pow(10, 400)", math.inf),
        ("pow(-10, 401)", -math.inf),
        ("pow(-8, 0.5)", math.nan),
        ("pow(0, -1)", math.inf),
        ("pow(-0.0D, -1)", -math.inf),
        ("pow(0, -2)", math.inf),
        (f"pow({NAN}, 0)", 1.0),
        ("power(2, 0.5)", math.sqrt(2)),
        ("atan2(0, -1)", math.pi),
        ("degrees(77D)", 4411.775022507339),
        ("sign(-2.5)", -1.0),
        ("sign(0)", 0.0),
        ("signum(-0.0D)", -0.0),
        (f"sign({NAN})", math.nan),
        ("abs(-0.0D)", 0.0),
        ("abs(-2.5)", Decimal("2.5")),
    ],
)
def test_functions_outside_of_their_domain(text: str, expected: object) -> None:
    check(text, expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2147483647 + 1", "2147483648 does not fit into int"),
        ("CAST(300 AS TINYINT)", "300 does not fit into tinyint"),
        ("CAST(100.5 AS DECIMAL(3,1))", "100.5 does not fit into decimal(3,1)"),
        (f"CAST({NAN} AS INT)", "nan has no int"),
        ("1 / 0", "division by zero"),
        ("1 div 0", "division by zero"),
        ("1 % 0", "remainder of a division by zero"),
        ("DATE '2024-01-01' + 2147483647", "2147503370 does not fit into date"),
    ],
)
def test_an_error_says_what_does_not_fit(text: str, message: str) -> None:
    condition = bind(f"({text}) IS NULL", NONE, NONE)
    with pytest.raises(EvaluationError) as error:
        evaluate(condition, {}, {})
    assert str(error.value) == message
