"""Conditions that were once understood wrongly: found by trying to break the package, kept so that they stay right."""

import contextlib
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from streamjoin.errors import StreamJoinError
from streamjoin.operators.evaluate import evaluate
from streamjoin.operators.expr import Literal
from streamjoin.operators.types import parse_type
from streamjoin.predicate import On, Schema, parse
from streamjoin.predicate.classify import classify
from streamjoin.predicate.conjunct import Band, Compiled, Residual
from streamjoin.sql.bind import bind
from tests.conditions.admit import admits
from tests.conditions.messages import refusal
from tests.conditions.schemas import LEFT, RIGHT
from tests.conditions.strategies import LARGEST


@pytest.mark.parametrize(
    ("text", "f", "g"),
    [
        ("abs(l.big - r.big) <= 1e17D", 10**17 + 1, 0),  # the cast around abs() rounds
        ("l.f - r.f >= 1e39D", LARGEST["float"], -LARGEST["float"]),  # infinite as a float, then a double
        ("l.f + r.f >= 1e39D", LARGEST["float"], LARGEST["float"]),
        ("l.v + 1e308D - r.w >= 1.5e308D", 1e308, 1.7e308),  # infinite on the way
        ("(l.v + 1e308D) - (r.w + 1e308D) >= 1e300D", 1e308, 1.7e308),  # NaN on the way, the greatest of all
    ],
)
def test_a_band_loses_no_match(text: str, f: float, g: float) -> None:
    (conjunct,) = classify(bind(text, LEFT, RIGHT))
    left, right = dict.fromkeys(("v", "f", "big"), f), dict.fromkeys(("w", "f", "big"), g)
    assert evaluate(conjunct.exact, left, right) is True
    if isinstance(conjunct, Band):
        assert admits(conjunct, *(evaluate(key, left, right) for key in conjunct.keys))


def test_a_difference_of_decimals_beside_a_double_rounds() -> None:
    left, right = Schema({"p": "decimal(17,17)"}), Schema({"q": "decimal(17,17)"})
    (conjunct,) = classify(bind("abs(l.p - r.q) <= 0.1D", left, right))
    assert not isinstance(conjunct, Band)


def test_collated_strings_are_not_equal_by_their_bytes() -> None:
    schema = Schema({"s": parse_type("string collate UTF8_LCASE")})
    (conjunct,) = parse("l.s = r.s", schema, schema).conjuncts
    assert isinstance(conjunct, Residual)


def test_zeros_of_both_signs_are_two_keys() -> None:
    keys = parse("pow(0e0, l.x) = r.w AND pow(-0e0, l.x) = r.n", LEFT, RIGHT).keys("l")
    assert [key.sql() for key in keys] == ["pow(0e0, l.x)", "pow(-0e0, l.x)"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("least(l.ts, r.ts) < TIMESTAMP '2020-01-01 00:00:00'", Residual),  # read in the session's zone
        ("least(l.ts, r.ts) < DATE '2020-01-01'", Residual),
        ("least(l.ts, r.ts) < TIMESTAMP '2020-01-01 00:00:00Z'", Compiled),
        ("l.x * r.a > CAST('5' AS INT)", Residual),  # a cast that only Spark does
        ("l.ok OR r.fine OR CAST('true' AS BOOLEAN)", Residual),
    ],
)
def test_only_what_can_be_evaluated_here_is_compiled(text: str, kind: type) -> None:
    (conjunct,) = parse(text, LEFT, RIGHT).conjuncts
    assert isinstance(conjunct, kind)


@pytest.mark.parametrize(
    "on",
    [
        "l.x * r.a <= 1.5 / 0.0",
        "l.x * r.a <= CAST('abc' AS DECIMAL(3,1))",
        "l.* = r.a",
        "l.x = 300Y + r.a",
        "l.big = r.big + 99999999999999999999L",
        lambda l, r: l.m == Decimal("1E-40") + r.n,
        " AND ".join(f"l.x <> r.a + {i}" for i in range(600)),
    ],
)
def test_no_other_error_comes_out(on: On) -> None:
    with contextlib.suppress(StreamJoinError):
        parse(on, LEFT, RIGHT)


@pytest.mark.parametrize(
    "text",
    [
        "l.ok = r.fine IN (true, NULL)",
        "l.ok = r.fine NOT IN (true, NULL)",
        "l.name = r.name RLIKE 'a'",
        "l.d = r.d AND l.d < DATE 'today'",
        "l.ok <> r.fine BETWEEN false AND true",
        "(l.v D) = r.w",
        "l.x BETWEEN SYMMETRIC r.a AND 5",
        "l.ts > r.ts - INTERVAL 'abc' MINUTES",
        "my_udf(r.a) = collect_list(l.x)",
        "l.x = r.a AND my_udf(unix_timestamp(), l.x)",
    ],
)
def test_what_is_read_in_two_ways_or_in_none_is_refused(text: str) -> None:
    assert "^" in refusal(text)


def test_sql_for_spark_keeps_its_meaning() -> None:
    assert str(bind("date_add(l.name, 3) = r.d", LEFT, RIGHT)) == "date_add(l.name, 3) = r.d"
    negated = bind("l.big > -(2147483648) - 1 AND r.fine", LEFT, RIGHT)
    assert repr(bind(str(negated), LEFT, RIGHT)) == repr(negated)


@pytest.mark.parametrize("text", ["DATE '20200101'", "CAST('1_000' AS DOUBLE)", "DATE '2020-W01-1'"])
def test_text_that_spark_reads_otherwise_is_left_to_spark(text: str) -> None:
    node = bind(f"l.x = r.a AND {text} IS NULL", LEFT, RIGHT).children[1].children[0]
    assert not isinstance(node, Literal)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("round(1.005F, 2)", 1.0),
        ("round(1.5D, 2000)", 1.5),
        ("pow(1, CAST('NaN' AS DOUBLE))", math.nan),
        ("pow(-1, CAST('Infinity' AS DOUBLE))", math.nan),
        ("CAST(9.223372036854775807E18 AS BIGINT)", 2**63 - 1),
        ("CAST(CAST('NaN' AS DOUBLE) AS DECIMAL(10,2))", None),
        ("radians(77D)", 1.3439035240356338),
        ("atan2(0, -0.0D)", 0.0),
    ],
)
def test_arithmetic_as_spark_says(text: str, value: Any) -> None:
    (node,) = bind(f"({text}) IS NULL", LEFT, RIGHT).children
    assert repr(evaluate(node, {}, {})) == repr(value)


def test_the_side_that_would_be_kept_for_ever_is_named() -> None:
    for text, side in (("l.ts <= r.ts", "l"), ("l.ts >= r.ts", "r")):
        with pytest.raises(StreamJoinError, match=f"so {side} rows would be kept for ever"):
            parse(text, LEFT, RIGHT).window(("ts", "ts"))


def test_bounds_that_contradict_are_no_window() -> None:
    text = "l.ts > r.ts + INTERVAL 5 MINUTES AND l.ts < r.ts - INTERVAL 5 MINUTES"
    with pytest.raises(StreamJoinError, match="its bounds contradict"):
        parse(text, LEFT, RIGHT).window(("ts", "ts"))


def test_lambdas_take_any_name_and_constant() -> None:
    schema = Schema({"_side": "int", "select": "int"})
    assert parse(lambda l, r: l._side == r._side, schema, schema).text == "l._side = r._side"
    assert parse(["select"], schema, schema).text == "l.`select` = r.`select`"
    plain = parse(lambda l, r: l.v - 0.5 <= r.w, LEFT, RIGHT)
    assert parse(lambda l, r: l.v - np.float64(0.5) <= r.w, LEFT, RIGHT).condition == plain.condition
    assert parse(lambda l, r: l.x.isin({3, 1, 2}) & (l.x == r.a), LEFT, RIGHT).text.startswith("(l.x IN (1, 2, 3))")
    assert "FALSE" in parse(lambda l, r: l.x.isin([]) & (l.x == r.a), LEFT, RIGHT).text


@pytest.mark.parametrize(
    "text",
    [
        "l.x - r.a <= datediff(TIMESTAMP'2024-01-02T02:00:00Z', DATE'2024-01-01')",
        "datediff(TIMESTAMP'2024-01-02T02:00:00Z', DATE'2024-01-01') = 1 OR l.x < r.a",
    ],
)
def test_a_constant_that_hangs_on_the_zone_is_left_to_spark(text: str) -> None:
    """In New York it is another one than in London."""
    (conjunct,) = parse(text, LEFT, RIGHT).conjuncts
    assert isinstance(conjunct, Residual)


def test_a_doubled_quote_is_a_quote() -> None:
    """sqlglot reads two strings, one after the other."""
    predicate = parse("l.name = 'it''s' AND l.name <> \"a\"\"b\" AND l.name <> '''' AND l.x = r.a", LEFT, RIGHT)
    values = [node.value for node in predicate.condition.walk() if isinstance(node, Literal)]
    assert values == ["it's", 'a"b', "'"]
