"""What each operator accepts and yields: Spark's ANSI rules."""

import pytest

from streamjoin.operators.expr import Call, Cast, Expr
from streamjoin.operators.registry import apply
from streamjoin.operators.types import BIGINT, DOUBLE, INT, STRING, UNKNOWN, Type, decimal, parse_type
from streamjoin.operators.widening import common_type
from streamjoin.sql.bind import bind
from tests.conditions.messages import check_pointed, refusal
from tests.conditions.schemas import LEFT, RIGHT


def bound(text: str) -> Expr:
    is_null = bind(f"({text}) IS NULL", LEFT, RIGHT)
    assert isinstance(is_null, Call)
    return is_null.args[0]


@pytest.mark.parametrize(
    ("text", "type"),
    [
        # Whole numbers widen to the wider, and any of them with a floating value to double.
        ("r.tiny + r.tiny", "tinyint"),
        ("l.small + r.tiny", "smallint"),
        ("l.x - l.small", "int"),
        ("l.x * l.big", "bigint"),
        ("l.x + l.f", "double"),
        ("l.f + r.f", "float"),
        ("l.f + l.v", "double"),
        ("l.m + l.v", "double"),
        ("l.x % l.small", "int"),
        ("pmod(l.big, r.a)", "bigint"),
        ("-l.small", "smallint"),
        ("abs(r.tiny)", "tinyint"),
        # A division is a double, `div` a bigint.
        ("l.x / r.a", "double"),
        ("l.f / r.f", "double"),
        ("l.x div r.tiny", "bigint"),
        ("l.m div r.n", "bigint"),
        # Decimals: as many digits as the result may need, up to 38.
        ("l.m + r.n", "decimal(13,4)"),
        ("l.m - 1", "decimal(11,2)"),
        ("l.m + r.a", "decimal(13,2)"),
        ("l.m + r.big", "decimal(23,2)"),
        ("l.m * r.n", "decimal(23,6)"),
        ("l.m / r.n", "decimal(27,15)"),
        ("l.m % r.n", "decimal(12,4)"),
        ("l.m * 100", "decimal(14,2)"),
        ("l.wide + r.wide", "decimal(38,9)"),
        ("l.wide * r.wide", "decimal(38,6)"),
        ("l.wide / r.wide", "decimal(38,6)"),
        ("-l.m", "decimal(10,2)"),
        # Rounding.
        ("floor(l.v)", "bigint"),
        ("ceil(l.x)", "bigint"),
        ("floor(l.m)", "decimal(9,0)"),
        ("round(l.x)", "int"),
        ("round(l.f, 1)", "float"),
        ("round(l.m)", "decimal(9,0)"),
        ("round(l.m, 1)", "decimal(10,1)"),
        ("round(l.m, 5)", "decimal(11,2)"),
        ("round(l.m, -3)", "decimal(9,0)"),
        # Functions on doubles.
        ("sqrt(l.x)", "double"),
        ("pow(l.m, 2)", "double"),
        ("atan2(l.f, 1)", "double"),
        ("sign(l.x)", "double"),
        # Dates and times.
        ("l.d + 3", "date"),
        ("3 + l.d", "date"),
        ("l.d - r.tiny", "date"),
        ("l.d + INTERVAL 3 DAYS", "date"),
        ("l.d + INTERVAL 12 HOURS", "timestamp"),
        ("INTERVAL 12 HOURS + l.d", "timestamp"),
        ("l.d - r.d", "interval day"),
        ("l.ts - r.ts", "interval day to second"),
        ("l.tn - r.tn", "interval day to second"),
        ("l.ts + l.iv", "timestamp"),
        ("l.tn - INTERVAL 3 DAYS", "timestamp_ntz"),
        ("l.ts + INTERVAL 1 MONTH", "timestamp"),
        ("l.d - INTERVAL 1 MONTH", "date"),
        ("l.iv + INTERVAL 1 DAY", "interval day to second"),
        ("INTERVAL 1 DAY + INTERVAL 2 DAYS", "interval day"),
        ("-l.iv", "interval day to second"),
        ("abs(INTERVAL 3 DAYS)", "interval day"),
        ("datediff(l.d, r.d)", "int"),
        # Values of one type.
        ("least(l.x, r.big)", "bigint"),
        ("greatest(l.x, r.w)", "double"),
        ("coalesce(l.x, r.n)", "decimal(14,4)"),
        ("coalesce(NULL, l.name)", "string"),
        ("coalesce(l.d, r.ts)", "timestamp"),
        ("coalesce(l.d, r.tn)", "timestamp_ntz"),
        ("coalesce(l.ts, r.tn)", "timestamp"),
        ("coalesce(l.iv, INTERVAL 1 DAY)", "interval day to second"),
        ("CASE WHEN l.ok THEN 1 WHEN r.fine THEN 2.5 END", "decimal(11,1)"),
        ("if(l.ok, l.f, r.f)", "float"),
        ("if(l.ok, NULL, NULL)", "void"),
        # What only Spark understands.
        ("l.x + l.name", "unknown"),
        ("l.iv * 2", "unknown"),
        ("l.x + NULL", "unknown"),
        ("abs(l.name)", "unknown"),
        ("coalesce(l.x, l.name)", "unknown"),
        ("upper(l.name)", "string"),
        ("my_udf(l.name)", "unknown"),
        ("l.name || r.name", "string"),
        ("l.name LIKE 'a'", "boolean"),
        ("TRY_CAST(l.name AS DATE)", "date"),
    ],
)
def test_the_type_of_a_result(text: str, type: str) -> None:
    assert str(bound(text).type) == type


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("l.x = r.big", ["bigint", "bigint"]),
        ("l.x < r.n", ["decimal(14,4)", "decimal(14,4)"]),
        ("l.m < 5", ["decimal(12,2)", "decimal(12,2)"]),
        ("l.f < r.n", ["double", "double"]),
        ("l.d < r.ts", ["timestamp", "timestamp"]),
        ("l.x IN (r.tiny, r.big, NULL)", ["bigint"] * 4),
        ("l.x / r.a", ["double", "double"]),
        ("l.x div r.a", ["bigint", "bigint"]),
        ("l.m * 7", ["decimal(10,2)", "decimal(1,0)"]),
        ("l.m * r.a", ["decimal(10,2)", "decimal(10,0)"]),
        ("sqrt(l.x)", ["double"]),
        ("floor(l.f)", ["double"]),
        ("least(l.x, r.w, NULL)", ["double"] * 3),
        ("CASE WHEN l.ok THEN l.x ELSE r.w END", ["boolean", "double", "double"]),
        ("l.name = r.d", ["unknown", "unknown"]),
        ("l.pos = r.pos", ["unknown", "unknown"]),
    ],
)
def test_operands_are_cast_as_spark_casts_them(text: str, types: list[str]) -> None:
    call = bound(text)
    assert isinstance(call, Call)
    assert [str(arg.type) for arg in call.args] == types
    assert all(arg.implicit for arg in call.args if isinstance(arg, Cast))


@pytest.mark.parametrize(
    ("names", "common"),
    [
        ("int void", "int"),
        ("void date", "date"),
        ("tinyint bigint int", "bigint"),
        ("bigint decimal(10,2)", "decimal(22,2)"),
        ("decimal(38,0) decimal(38,10)", "decimal(38,10)"),
        ("string binary", "unknown"),
        ("string decimal(10,2)", "unknown"),
        ("array<int> array<bigint>", "unknown"),
        ("boolean int", None),
        ("date int", None),
        ("string array<int>", None),
    ],
)
def test_the_type_in_which_values_are_compared(names: str, common: str | None) -> None:
    found = common_type([parse_type(name) for name in names.split()])
    assert (None if found is None else str(found)) == common


def test_types_are_told_without_text() -> None:
    unknown = Type("struct", fields=(("x", INT),))
    assert common_type([BIGINT, DOUBLE]) == DOUBLE
    assert common_type([STRING, INT]) == common_type([UNKNOWN, unknown]) == UNKNOWN
    assert common_type([decimal(5, 2), INT]) == decimal(12, 2)
    assert apply("IS NULL", [bound("l.x")]).type.name == "boolean"


@pytest.mark.parametrize(
    ("message", "text", "carets"),
    [
        # Arithmetic.
        (
            "+ is not defined for boolean and int",
            "l.ok + r.a > 1",
            "^^^^^^^^^^",
        ),
        (
            "* is not defined for date and int",
            "1 < l.d * r.a",
            "    ^^^^^^^^^",
        ),
        (
            "- is not defined for int and date",
            "l.x - r.d > 1",
            "^^^^^^^^^",
        ),
        (
            "+ is not defined for date and bigint",
            "l.d + r.big = r.d",
            "^^^^^^^^^^^",
        ),
        (
            "+ is not defined for timestamp and int",
            "l.ts + 5 > r.ts",
            "^^^^^^^^",
        ),
        (
            "- is not defined for string and string",
            "(l.name - r.name) = 1",
            " ^^^^^^^^^^^^^^^",
        ),
        (
            "+ is not defined for array<int> and int",
            "l.tags + r.a = 1",
            "^^^^^^^^^^^^",
        ),
        (
            "div is not defined for double and int",
            "l.v div r.a = 3",
            "^^^^^^^^^^^",
        ),
        (
            "% is not defined for boolean and int",
            "mod(l.ok, r.a) = 3",
            "^^^^^^^^^^^^^^",
        ),
        (
            "- is not defined for boolean",
            "-l.ok = r.a",
            " ^^^^",
        ),
        (
            "abs is not defined for timestamp",
            "l.x = r.a AND abs(l.ts) = r.ts",
            "              ^^^^^^^^^",
        ),
        # Functions.
        (
            "sqrt is not defined for date",
            "sqrt(l.d) < r.w",
            "^^^^^^^^^",
        ),
        (
            "atan2 is not defined for double and boolean",
            "atan2(l.v, r.fine) > 1",
            "^^^^^^^^^^^^^^^^^^",
        ),
        (
            "floor is not defined for date",
            "floor(l.d) = r.a",
            "^^^^^^^^^^",
        ),
        (
            "round is not defined for boolean",
            "round(l.ok) = r.a",
            "^^^^^^^^^^^",
        ),
        (
            "round takes a whole number of places, not r.a",
            "round(l.v, r.a) = 3",
            "^^^^^^^^^^^^^^^",
        ),
        (
            "datediff is not defined for int and date",
            "datediff(l.x, r.d) = 3",
            "^^^^^^^^^^^^^^^^^^",
        ),
        # Comparisons.
        (
            "cannot compare boolean with int",
            "l.ok = r.a",
            "^^^^^^^^^^",
        ),
        (
            "cannot compare boolean with int; between conditions write AND",
            "l.x = r.a & l.x = r.a",
            "^^^^^^^^^^^^^^^^^^^^^",
        ),
        (
            "cannot compare int with timestamp",
            "l.x < r.ts",
            "^^^^^^^^^^",
        ),
        (
            "cannot compare date with int",
            "l.d BETWEEN r.a AND 5",
            "^^^^^^^^^^^^^^^^^^^^^",
        ),
        (
            "cannot compare array<int> with int",
            "l.tags = r.a",
            "^^^^^^^^^^^^",
        ),
        (
            "cannot compare map<string,int> with map<string,int>",
            "l.props = r.props",
            "^^^^^^^^^^^^^^^^^",
        ),
        (
            "cannot compare interval day to second with int",
            "l.ts - r.ts < 5",
            "^^^^^^^^^^^^^^^",
        ),
        (
            "cannot compare int with date",
            "CASE l.x WHEN l.d THEN r.fine END",
            "              ^^^^^^^^^^^^^^^",
        ),
        # Conditions.
        (
            "AND takes conditions, but l.x is int",
            "l.x AND r.a = 1",
            "^^^",
        ),
        (
            "OR takes conditions, but r.d is date",
            "l.x = r.a OR r.d",
            "             ^^^",
        ),
        (
            "NOT takes conditions, but l.x + r.a is int",
            "NOT (l.x + r.a)",
            "     ^^^^^^^^^",
        ),
        (
            "IS TRUE takes conditions, but l.x is int",
            "l.x IS TRUE AND r.fine",
            "^^^",
        ),
        # Values of one type.
        (
            "IN takes values of one type, not int, boolean, int",
            "l.x IN (r.fine, 3)",
            "^^^^^^^^^^^^^^^^^",
        ),
        (
            "least takes values of one type, not int, date",
            "least(l.x, r.d) = 3",
            "^^^^^^^^^^^^^^^",
        ),
        (
            "coalesce takes values of one type, not boolean, int",
            "coalesce(l.ok, r.a) = 3",
            "^^^^^^^^^^^^^^^^^^^",
        ),
        # Numbers of arguments.
        (
            "abs takes 1 argument, not 2",
            "abs(l.x, 2) = r.a",
            "^^^^^^^^^^^",
        ),
        (
            "pow takes 2 arguments, not 1",
            "pow(l.x) = r.a",
            "^^^^^^^^",
        ),
        (
            "pow takes 2 arguments, not 3",
            "power(l.x, 2, 3) = r.a",
            "^^^^^^^^^^^^^^^^",
        ),
        (
            "round takes 1 or 2 arguments, not 3",
            "round(l.x, 1, 2) = r.a",
            "^^^^^^^^^^^^^^^^",
        ),
        (
            "least takes 2 or more arguments, not 1",
            "least(l.x) = r.a",
            "^^^^^^^^^^",
        ),
        (
            "coalesce takes 1 or more arguments, not 0",
            "coalesce() = r.a AND l.ok",
            "^^^^^^^^^^",
        ),
        (
            "sqrt takes 1 argument, not 0",
            "l.x = r.a AND sqrt( ) > 1",
            "              ^^^^^^^",
        ),
        (
            "IS NULL takes 1 argument, not 2",
            "isnull(l.x, r.a)",
            "^^^^^^^^^^^^^^^^",
        ),
    ],
)
def test_what_does_not_fit_is_refused(message: str, text: str, carets: str) -> None:
    check_pointed(message, text, carets)


@pytest.mark.parametrize(
    ("text", "number"),
    [("l.name = r.a", "int"), ("r.w <= trim(l.name)", "double"), ("l.name IN ('x', r.a)", "int")],
)
def test_a_string_of_one_side_is_not_compared_with_a_number_of_the_other(text: str, number: str) -> None:
    """Spark would, until the first string that is no number."""
    said = refusal(text)
    assert "(string) with r." in said
    assert f"({number}): Spark would turn every string into a number" in said
    assert "write CAST(r." in said


@pytest.mark.parametrize("text", ["l.name = 5 AND l.x = r.a", "l.x = '5' AND l.x = r.a", "r.a < '5' OR l.ok"])
def test_a_string_beside_a_number_of_its_own_side_is_for_spark(text: str) -> None:
    bind(text, LEFT, RIGHT)
