import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

from streamjoin.operators.arithmetic import EvaluationError, NotEvaluable
from streamjoin.operators.evaluate import evaluate, physical
from streamjoin.operators.types import BIGINT, BINARY, DATE, INTERVAL, STRING, TIMESTAMP, TIMESTAMP_NTZ, Schema, Type
from streamjoin.predicate import parse
from streamjoin.sql.bind import bind
from tests.conditions.schemas import LEFT, RIGHT

LOGIC = Schema({"p": "boolean", "q": "boolean"}), Schema({"r0": "boolean"})


@pytest.mark.parametrize(
    ("p", "q", "both", "either"),
    [
        (True, True, True, True),
        (True, False, False, True),
        (True, None, None, True),
        (False, True, False, True),
        (False, False, False, False),
        (False, None, False, None),
        (None, True, None, True),
        (None, False, False, None),
        (None, None, None, None),
    ],
)
def test_and_and_or_have_three_values(p: Any, q: Any, both: Any, either: Any) -> None:
    row = {"p": p, "q": q}
    assert evaluate(bind("p AND q", *LOGIC), row, {}) is both
    assert evaluate(bind("p OR q", *LOGIC), row, {}) is either


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("NOT p", (False, True, None)),
        ("p IS NULL", (False, False, True)),
        ("p IS NOT NULL", (True, True, False)),
        ("p IS TRUE", (True, False, False)),
        ("p IS NOT TRUE", (False, True, True)),
        ("p IS FALSE", (False, True, False)),
        ("p IS NOT FALSE", (True, False, True)),
        ("p = NULL", (None, None, None)),
        ("p <=> NULL", (False, False, True)),
        ("NOT p <=> NULL", (True, True, False)),
        ("p IN (true, NULL)", (True, None, None)),
        ("p NOT IN (true, NULL)", (False, None, None)),
        ("p IN (true)", (True, False, None)),
        ("if(p, false, true)", (False, True, True)),
        ("CASE WHEN p THEN false END", (False, None, None)),
        ("coalesce(p, false)", (True, False, False)),
        ("least(p, NULL)", (True, False, None)),
        ("greatest(p, true)", (True, True, True)),
    ],
)
def test_conditions_on_true_false_and_null(text: str, values: tuple[Any, Any, Any]) -> None:
    condition = bind(text, *LOGIC)
    assert tuple(evaluate(condition, {"p": p}, {}) for p in (True, False, None)) == values


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 IN (NULL, 2)", None),
        ("1 IN (1, NULL)", True),
        ("NULL IN (1, 2)", None),
        ("1 NOT IN (2, 3)", True),
        ("CAST('NaN' AS DOUBLE) IN (1D, CAST('NaN' AS DOUBLE))", True),
        ("CAST('NaN' AS DOUBLE) <=> CAST('NaN' AS DOUBLE)", True),
        ("0.0D <=> -0.0D", True),
        ("NULL <=> NULL", True),
        ("NULL < 1", None),
        ("least(NULL, 2, 1) = 1", True),
        ("greatest(NULL, 2, 1) = 2", True),
        ("greatest(CAST('NaN' AS DOUBLE), CAST('Infinity' AS DOUBLE)) = CAST('NaN' AS DOUBLE)", True),
        ("least(CAST('NaN' AS DOUBLE), 1D) = 1", True),
        ("least(CAST(NULL AS INT), NULL) IS NULL", True),
        ("coalesce(NULL, NULL, 3) = 3", True),
        ("2 BETWEEN 1 AND 3", True),
        ("2 BETWEEN NULL AND 1", False),
        ("2 BETWEEN NULL AND 3", None),
        ("2 NOT BETWEEN NULL AND 1", True),
        ("CASE WHEN CAST(NULL AS BOOLEAN) THEN 1 WHEN true THEN 2 ELSE 3 END = 2", True),
        ("CASE 3 WHEN NULL THEN 1 WHEN 3 THEN 2 END = 2", True),
        ("isnull(1) OR isnotnull(NULL)", False),
        ("nvl(NULL, 1) = ifnull(1, 2)", True),
    ],
)
def test_null_and_nan_among_other_values(text: str, expected: bool | None) -> None:
    assert evaluate(bind(text, *LOGIC), {}, {}) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("false AND 1 / 0 > 1", False),
        ("true OR 1 / 0 > 1", True),
        ("if(false, 1 / 0 > 1, true)", True),
        ("CASE WHEN true THEN true WHEN 1 / 0 > 1 THEN false END", True),
        ("coalesce(true, 1 / 0 > 1)", True),
    ],
)
def test_a_guard_keeps_what_is_behind_it_from_raising(text: str, expected: bool) -> None:
    assert evaluate(bind(text, *LOGIC), {}, {}) is expected


@pytest.mark.parametrize("text", ["1 / 0 > 1 AND false", "NULL AND 1 / 0 > 1", "NULL OR 1 / 0 > 1", "NOT 1 % 0 = 1"])
def test_without_a_guard_it_raises(text: str) -> None:
    with pytest.raises(EvaluationError):
        evaluate(bind(text, *LOGIC), {}, {})


def test_any_null_makes_arithmetic_null() -> None:
    condition = bind("abs(l.x - r.a) + pow(l.v, r.w) <= r.n * 2", LEFT, RIGHT)
    full = {"x": 1, "v": 1.0}, {"a": 2, "w": 2.0, "n": Decimal(1)}
    assert evaluate(condition, *full) is True
    for side, row in enumerate(full):
        for name in row:
            rows = [dict(full[0]), dict(full[1])]
            rows[side][name] = None
            assert evaluate(condition, *rows) is None


def test_fields_of_structs_are_read_and_null_structs_are_null() -> None:
    condition = bind("l.pos.cell.id = r.pos.cell.id", LEFT, RIGHT)
    row = {"pos": {"cell": {"Id": 3}}}
    assert evaluate(condition, row, {"pos": {"cell": {"Id": 3}}}) is True
    assert evaluate(condition, row, {"pos": {"cell": {"Id": None}}}) is None
    assert evaluate(condition, row, {"pos": {"cell": None}}) is None
    assert evaluate(condition, row, {"pos": None}) is None


@pytest.mark.parametrize(
    ("value", "type", "expected"),
    [
        (datetime(1970, 1, 1, 0, 0, 1), TIMESTAMP_NTZ, 1_000_000),
        (datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), TIMESTAMP, 1_000_000),
        (datetime(1970, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))), TIMESTAMP, 0),
        (datetime(1969, 12, 31, 23, 59, 59, 999_999), TIMESTAMP_NTZ, -1),
        (date(1970, 1, 2), DATE, 1),
        (date(1969, 12, 31), DATE, -1),
        (timedelta(days=-1, microseconds=1), INTERVAL, -86_399_999_999),
        (bytearray(b"ab"), BINARY, b"ab"),
        (5, BIGINT, 5),
        ("a", STRING, "a"),
        (None, DATE, None),
    ],
)
def test_values_as_spark_hands_them_over(value: Any, type: Type, expected: Any) -> None:
    assert physical(value, type) == expected


def test_rows_may_hold_values_as_spark_hands_them_over() -> None:
    predicate = parse("l.ts BETWEEN r.ts - INTERVAL 1 HOUR AND r.ts AND l.d <= r.d AND l.iv < r.iv", LEFT, RIGHT)
    left = {"ts": datetime(2024, 1, 1, 12, tzinfo=UTC), "d": date(2024, 1, 1), "iv": timedelta(seconds=1)}
    right = {"ts": datetime(2024, 1, 1, 13, tzinfo=UTC), "d": date(2024, 1, 1), "iv": timedelta(seconds=2)}
    assert predicate(left, right) is True
    assert predicate(left, right | {"ts": datetime(2024, 1, 1, 13, 0, 1, tzinfo=UTC)}) is False
    assert predicate(left, right | {"d": None}) is None


@pytest.mark.parametrize(
    "text",
    [
        "my_udf(l.x) = r.a",
        "my_udf(l.name) = my_udf(r.name)",
        "l.name = r.d",
        "l.x + r.name > 1",
        "CAST(l.name AS INT) = r.a",
        "l.tags = r.tags",
        "l.ts + INTERVAL 1 MONTH = r.ts",
    ],
)
def test_what_only_spark_evaluates_is_refused(text: str) -> None:
    row = {"x": 1, "a": 1, "name": "1", "tags": [1], "ts": 0}
    with pytest.raises(NotEvaluable):
        parse(text, LEFT, RIGHT)(row, row)


def test_a_key_has_the_value_that_spark_computes() -> None:
    predicate = parse("l.big = r.w AND l.d = r.ts", LEFT, RIGHT)
    number, time = predicate.keys("l")
    row = {"big": 2**53 + 1, "d": 1}
    assert evaluate(number, row, {}) == 2.0**53
    assert isinstance(evaluate(number, row, {}), float)
    assert evaluate(time, row, {}) == 86_400_000_000
    assert math.isnan(evaluate(predicate.keys("r")[0], {}, {"w": math.nan}))
