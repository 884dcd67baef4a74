"""A lambda becomes the SQL text that says the same."""

import math
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import functions as F  # noqa: N812 (as everybody calls it)

from streamjoin.errors import StreamJoinError
from streamjoin.operators.evaluate import evaluate, physical
from streamjoin.operators.expr import Call, Literal
from streamjoin.operators.registry import FUNCTION_NAMES
from streamjoin.operators.types import STRING, TIMESTAMP, TIMESTAMP_NTZ, Schema
from streamjoin.predicate import parse
from streamjoin.sql.bind import bind
from streamjoin.sql.trace import Traced, sql_value, trace
from tests.conditions.messages import refusal
from tests.conditions.schemas import LEFT, RIGHT

Condition = Callable[[Any, Any], Any]

OPERATORS: dict[str, Condition] = {
    # Comparisons, in either order.
    "l.x = r.a": lambda l, r: l.x == r.a,
    "l.x <> r.a": lambda l, r: l.x != r.a,
    "l.x < r.a": lambda l, r: l.x < r.a,
    "l.x <= 5": lambda l, r: l.x <= 5,
    "l.x > 5": lambda l, r: 5 < l.x,  # noqa: SIM300
    "l.x >= 5": lambda l, r: 5 <= l.x,  # noqa: SIM300
    "l.x <=> r.a": lambda l, r: l.x.eqNullSafe(r.a),
    # Arithmetic, with the constant on either side.
    "(l.x + 1) = (1 + r.a)": lambda l, r: l.x + 1 == 1 + r.a,
    "(l.x - 1) = (1 - r.a)": lambda l, r: l.x - 1 == 1 - r.a,
    "(l.x * 2) = (2 * r.a)": lambda l, r: l.x * 2 == 2 * r.a,
    "(l.x / 2) = (2 / r.a)": lambda l, r: l.x / 2 == 2 / r.a,
    "(l.x % 2) = (2 % r.a)": lambda l, r: l.x % 2 == 2 % r.a,
    "pow(l.x, 2) = pow(2, r.a)": lambda l, r: l.x**2 == 2**r.a,
    "(-l.x) = r.a": lambda l, r: -l.x == r.a,
    "(-(-l.x)) = r.a": lambda l, r: -(-l.x) == r.a,  # noqa: B002
    "(l.x - -5) = r.a": lambda l, r: l.x - -5 == r.a,
    "((l.x + r.a) * 2) < 1": lambda l, r: (l.x + r.a) * 2 < 1,
    "(l.x + (r.a * 2)) < 1": lambda l, r: l.x + r.a * 2 < 1,
    # Python's own functions.
    "abs(l.x - r.a) <= 10": lambda l, r: abs(l.x - r.a) <= 10,
    "round(l.v, 2) = round(r.w, 0)": lambda l, r: round(l.v, 2) == round(r.w),
    "floor(l.v) = ceil(r.w)": lambda l, r: math.floor(l.v) == math.ceil(r.w),
    # Conditions.
    "(l.ok AND r.fine) OR (l.x = r.a)": lambda l, r: (l.ok & r.fine) | (l.x == r.a),
    "NOT (l.x = r.a)": lambda l, r: ~(l.x == r.a),
    "TRUE AND r.fine": lambda l, r: True & r.fine,
    "FALSE OR r.fine": lambda l, r: False | r.fine,
    "(l.x = r.a) = TRUE": lambda l, r: (l.x == r.a) == True,  # noqa: E712
    "l.x BETWEEN (r.a - 10) AND 5": lambda l, r: l.x.between(r.a - 10, 5),
    "l.x IN (1, r.a)": lambda l, r: l.x.isin(1, r.a),
    "l.x IN (r.a, 2)": lambda l, r: l.x.isin([r.a, 2]),
    "l.x IN (r.b)": lambda l, r: l.x.isin(r.b),
    "(l.x IS NULL) AND (r.a IS NOT NULL)": lambda l, r: l.x.isNull() & r.a.isNotNull(),
    # Casts and functions.
    "CAST(l.x + 1 AS double) = r.w": lambda l, r: (l.x + 1).cast("double") == r.w,
    "sqrt(l.v - r.w) < 2": lambda l, r: (l.v - r.w).sqrt() < 2,
    "atan2(l.v, r.w + 1) > 0": lambda l, r: l.v.atan2(r.w + 1) > 0,
    "least(l.x, r.a, 3) > 0": lambda l, r: l.x.least(r.a, 3) > 0,
    "datediff(l.d, r.d) < 3": lambda l, r: l.d.datediff(r.d) < 3,
    # Columns and fields of any name.
    "l.`only left` = r.a": lambda l, r: l["only left"] == r.a,
    "l.pos.lat = r.pos.lat": lambda l, r: l.pos["lat"] == r["pos"]["lat"],
    "l.pos.cell.Id = r.a": lambda l, r: l.pos["cell"]["Id"] == r.a,
    "l.X = R.a": lambda l, r: Traced("l.X") == Traced("R.a"),
    # Parentheses inside of text are text.
    "(l.name = ')(') AND (r.name = '(')": lambda l, r: (l.name == ")(") & (r.name == "("),
    "TRUE": lambda l, r: True,
}


@pytest.mark.parametrize(("text", "condition"), OPERATORS.items(), ids=OPERATORS)
def test_every_operator_is_written_down(text: str, condition: Condition) -> None:
    assert trace(condition) == text
    bind(text, LEFT, RIGHT)


@pytest.mark.parametrize("name", FUNCTION_NAMES)
def test_every_function_is_a_method(name: str) -> None:
    assert trace(lambda l, r: getattr(l.x, name)(r.a, 1)) == f"{name}(l.x, r.a, 1)"


# Constants


def constant(value: object) -> Any:
    """What a Python value becomes: the constant, or the expression that is bound for it."""
    is_null = bind(f"{sql_value(value)} IS NULL", LEFT, RIGHT)
    assert isinstance(is_null, Call)
    return is_null.args[0]


@pytest.mark.parametrize(
    ("value", "sql", "type"),
    [
        (5, "5", "int"),
        (-5, "-5", "int"),
        (2**31, "2147483648", "bigint"),
        (-(2**63), "-9223372036854775808", "bigint"),
        (0.5, "0.5D", "double"),
        (-0.0, "-0.0D", "double"),
        (1e-07, "1e-07D", "double"),
        (1e300, "1e+300D", "double"),
        (5e-324, "5e-324D", "double"),
        (math.nan, "CAST('nan' AS DOUBLE)", "double"),
        (math.inf, "CAST('inf' AS DOUBLE)", "double"),
        (-math.inf, "CAST('-inf' AS DOUBLE)", "double"),
        (Decimal("1.50"), "1.50BD", "decimal(3,2)"),
        (Decimal("-0.001"), "-0.001BD", "decimal(3,3)"),
        (Decimal("1E+3"), "1000BD", "decimal(4,0)"),
        (True, "TRUE", "boolean"),
        (None, "NULL", "void"),
        ("plain", "'plain'", "string"),
        ("it's", r"'it\'s'", "string"),
        ("back\\slash", r"'back\\slash'", "string"),
        ("", "''", "string"),
        (date(2024, 2, 29), "DATE '2024-02-29'", "date"),
        (datetime(2024, 2, 29, 1, 2, 3), "TIMESTAMP '2024-02-29 01:02:03'", "timestamp"),
        (datetime(2024, 2, 29, 1, 2, 3, 4, tzinfo=UTC), "TIMESTAMP '2024-02-29 01:02:03.000004+00:00'", "timestamp"),
        (
            datetime(2024, 2, 29, tzinfo=timezone(timedelta(hours=-5))),
            "TIMESTAMP '2024-02-29 00:00:00-05:00'",
            "timestamp",
        ),
        (timedelta(days=3), "INTERVAL '3' DAY", "interval day"),
        (timedelta(days=-1), "INTERVAL '-1' DAY", "interval day"),
        (timedelta(minutes=5), "INTERVAL '300000000' MICROSECOND", "interval day to second"),
        (timedelta(microseconds=-3), "INTERVAL '-3' MICROSECOND", "interval day to second"),
        (timedelta(0), "INTERVAL '0' DAY", "interval day"),
    ],
)
def test_a_python_value_is_the_same_value_in_sql(value: object, sql: str, type: str) -> None:
    assert sql_value(value) == sql
    literal = constant(value)
    assert isinstance(literal, Literal)
    assert str(literal.type) == type
    expected = physical(value, literal.type)
    assert literal.value == expected or repr(literal.value) == repr(expected)


@given(st.floats())
def test_every_float_is_kept(value: float) -> None:
    assert repr(evaluate(constant(value), {}, {})) == repr(value)


@given(st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("'\"\\`%_\n\t()-")))
def test_every_text_is_kept(value: str) -> None:
    literal = constant(value)
    assert (literal.type, literal.value) == (STRING, value)
    again = bind(f"{literal} IS NULL", LEFT, RIGHT)
    assert again.children[0] == literal


@given(st.integers(-(2**63), 2**63 - 1))
def test_every_whole_number_is_kept(value: int) -> None:
    assert constant(value).value == value


NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0*"), min_size=1)


@given(NAMES | st.sampled_from(["select", "NOT", "order", "_side", "l"]))
def test_any_name_can_be_written(name: str) -> None:
    schema = Schema({name: "int"})
    condition = bind(trace(lambda l, r: (l[name] == r[name]) & (l[name] > 0)), schema, schema)
    assert {column.path for column in condition.columns} == {(name,)}


def test_a_naive_time_is_compared_with_both_kinds_of_timestamp() -> None:
    moment = datetime(2024, 2, 29)
    for name, type in (("ts", TIMESTAMP), ("tn", TIMESTAMP_NTZ)):
        condition = bind(trace(lambda l, r, name=name: l[name] == moment), LEFT, RIGHT)
        assert evaluate(condition, {name: physical(moment, type)}, {}) is True


# Traps

HINT = (
    "combine conditions with & | ~ (each in parentheses), chain comparisons with .between(low, high), write "
    ".isin(...) for in"
)


@pytest.mark.parametrize(
    "condition",
    [
        pytest.param(lambda l, r: l.x == r.a and l.y == r.b, id="and"),
        pytest.param(lambda l, r: l.x == r.a or l.y == r.b, id="or"),
        pytest.param(lambda l, r: not l.x == r.a, id="not"),  # noqa: SIM201
        pytest.param(lambda l, r: 0 < l.x < r.a, id="chained comparison"),
        pytest.param(lambda l, r: l.x in [1, r.a], id="in"),
    ],
)
def test_operators_that_python_keeps_to_itself(condition: Condition) -> None:
    assert refusal(condition) == f"on: the lambda uses and, or, not, in or a chained comparison; {HINT}"


@pytest.mark.parametrize(
    ("condition", "joined"),
    [
        (lambda l, r: l.x == r.a & l.y < r.b, "&"),
        (lambda l, r: l.x == r.a | l.y < r.b, "|"),
        (lambda l, r: (l.x == r.a) & (l.y < r.b) | l.x == r.a & l.y < r.b, "&"),
    ],
)
def test_parentheses_that_are_missing_are_asked_for(condition: Condition, joined: str) -> None:
    assert refusal(condition) == (
        f"on: parentheses are missing: Python reads {joined} before comparisons; write each comparison in "
        f"parentheses, as in (l.x == r.x) {joined} (l.y < r.y)"
    )


def test_no_parentheses_are_missing_where_and_follows() -> None:
    assert HINT in refusal(lambda l, r: (l.x == r.a) & (l.y < r.b) and l.x < 3)


@pytest.mark.parametrize(
    ("condition", "name", "instead"),
    [
        (lambda l, r: min(l.x, r.a) == 1, "min", "least"),
        (lambda l, r: l.x < max(r.a, 3, l.y), "max", "greatest"),
        (lambda l, r: max([l.x, r.a], key=abs) == 1, "max", "greatest"),
    ],
)
def test_the_greater_of_two_columns_is_for_sql_to_find(condition: Condition, name: str, instead: str) -> None:
    assert refusal(condition) == (
        f"on: the lambda calls Python's {name}, which compares columns as if they had values; write "
        f"l.x.{instead}(r.x), F.{instead}(l.x, r.x) or SQL's {instead}(l.x, r.x)"
    )


def test_and_beside_a_call_of_max_is_still_and() -> None:
    assert HINT in refusal(lambda l, r: l.x < max(3, 4) and l.y < r.b)


def test_the_math_module_takes_numbers() -> None:
    assert refusal(lambda l, r: math.sqrt(l.v) == r.w) == (
        "on: the lambda cannot be read as a condition over (l, r): must be real number, not Traced; a column is no "
        "number for Python's math module: write SQL's function, as in l.x.sqrt() or F.sqrt(l.x)"
    )


@pytest.mark.parametrize(
    "condition",
    [lambda l, r: F.lower(l.name) == r.name, lambda l, r: F.greatest(l.x, r.a) < 3],
    ids=["lower", "greatest"],
)
def test_without_spark_its_functions_are_refused(condition: Condition) -> None:
    assert "on: the lambda calls a function of Spark's, and there is no Spark here" in refusal(condition)


def test_an_error_of_the_lambdas_own_stays_what_it_is() -> None:
    with pytest.raises(ZeroDivisionError):
        parse(lambda l, r: l.x < 1 / 0, LEFT, RIGHT)


@pytest.mark.parametrize(
    ("condition", "wanted"),
    [
        (lambda l, r: l.name.lower() == r.name, True),
        (lambda l, r: l.name.startswith(r.name.substr(1, 1).upper()), True),
        (lambda l, r: l.name.like("A%") & r.name.rlike("^a"), True),
        (lambda l, r: l.name.contains("bc") & (r.name.length() == 3), True),
        (lambda l, r: l.name.levenshtein(r.name) < 1, False),
        (lambda l, r: l.name.ilike(r.name) & l.name.endswith("bc"), True),
        (lambda l, r: l.name.replace("A", "a") == r.name.trim(), True),
    ],
)
def test_strings_have_their_functions_without_spark(condition: Condition, wanted: bool) -> None:
    assert parse(condition, LEFT, RIGHT)({"name": "Abc"}, {"name": "abc"}) is wanted


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        (lambda l, r: l.x // r.a == 1, "unsupported operand type(s) for //: 'Traced' and 'Traced'"),
        (lambda l, r: {l.x: 1} == r.a, "unhashable type: 'Traced'"),
    ],
)
def test_what_cannot_be_traced(condition: Condition, reason: str) -> None:
    assert refusal(condition) == f"on: the lambda cannot be read as a condition over (l, r): {reason}; {HINT}"


@pytest.mark.parametrize(
    ("condition", "hint"),
    [
        (lambda l: l.x, "it takes two rows, one of each side: lambda l, r: l.x < r.y"),
        (lambda l, r, q: l.x, "it takes two rows, one of each side: lambda l, r: l.x < r.y"),
        (lambda l, r: len(l.name) > 3, "write l.x.length() or F.length(l.x)"),
    ],
)
def test_mistakes_that_many_make_have_hints_of_their_own(condition: Condition, hint: str) -> None:
    assert refusal(condition).endswith(f"; {hint}")


def test_a_lambda_that_writes_sql_is_not_needed() -> None:
    assert refusal(lambda l, r: f"{l.x} = {r.a}") == (
        "on: the lambda returned a text; give SQL text itself as `on`, without a lambda"
    )


@pytest.mark.parametrize(("result", "shown"), [(5, "5"), (None, "None")])
def test_a_lambda_returns_a_condition(result: object, shown: str) -> None:
    assert refusal(lambda l, r: result) == f"on: the lambda returned {shown}, not a condition on l and r"


def test_a_lambda_that_returns_a_side_returns_no_condition() -> None:
    assert refusal(lambda l, r: l).startswith("on: the lambda returned <")
    assert refusal(lambda l, r: l.x) == "on: expected a condition, but this is int\n  l.x\n  ^^^"


def test_an_unknown_function() -> None:
    assert refusal(lambda l, r: l.name.my_udf() == r.name) == (
        "on: there is no function my_udf for a lambda. "
        'Write a struct field as ["my_udf"], any other function in SQL text'
    )
    assert "for a lambda; did you mean upper? Write" in refusal(lambda l, r: l.name.uper() == r.name)


@pytest.mark.parametrize("value", [[1], {1: 2}, b"bytes", object, 1j])
def test_a_value_without_sql(value: object) -> None:
    assert refusal(lambda l, r: l.x == value) == f"on: the lambda uses {value!r}, which has no SQL constant"


def test_errors_of_the_text_show_the_text_that_was_traced() -> None:
    assert refusal(lambda l, r: l.x.sqrt(3) == r.a) == (
        "on: sqrt takes 1 argument, not 2\n  sqrt(l.x, 3) = r.a\n  ^^^^^^^^^^^^"
    )
    assert refusal(lambda l, r: l.pos["alt"] == r.w).splitlines()[1:] == ["  l.pos.alt = r.w", "  ^^^^^^^^^"]


def test_errors_of_the_lambda_itself_are_its_own() -> None:
    with pytest.raises(ZeroDivisionError):
        trace(lambda l, r: l.x == 1 // 0)
    with pytest.raises(StreamJoinError) as error:
        trace(lambda l, r: l.x == [])
    assert error.value.__cause__ is None


def test_protocols_of_python_find_nothing() -> None:
    side = Traced("l.x")
    assert not hasattr(side, "__array__")
    assert not hasattr(side, "__len__")
