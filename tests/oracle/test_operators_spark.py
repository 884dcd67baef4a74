"""The judge is Spark: every operator of the registry has the value, the type and the errors that Spark gives it."""

import math
from typing import Any

import pytest

from streamjoin.operators.arithmetic import EvaluationError
from streamjoin.operators.evaluate import evaluate, physical
from streamjoin.operators.expr import Expr
from streamjoin.operators.types import Schema
from streamjoin.sql.bind import bind
from tests.conditions.operators import GROUPS, rows_of, texts_of
from tests.conditions.pairs import outcomes, view_of_pairs

pytestmark = pytest.mark.spark


ALIKE = ("tinyint", "smallint", "bigint", "float")
"""Types that have the rules of another, which is always tested."""


@pytest.mark.parametrize(
    "group", [pytest.param(group, marks=pytest.mark.slow if group in ALIKE else ()) for group in GROUPS]
)
def test_every_operator_means_what_spark_says(spark: Any, group: str) -> None:
    ddl = ", ".join(f"{name} {type}" for name, type in GROUPS[group].items())
    texts = texts_of(group)
    exprs = [_bind(text, group) for text in texts]
    with view_of_pairs(spark, ddl) as make:
        pairs = make(rows_of(group, 20, 1), rows_of(group, 20, 2), lambda row: tuple(row.values()))
        wanted = [outcomes(lambda l, r, e=expr: evaluate(e, l, r), pairs) for expr in exprs]
        frame = spark.sql(f"SELECT {', '.join(map(_guard, texts, wanted))} FROM pairs ORDER BY id")
        for text, expr, field in zip(texts, exprs, frame.schema.fields, strict=True):
            assert field.dataType.simpleString() == str(expr.type), text
        found = list(zip(*frame.collect(), strict=True))
        for text, expr, ours, theirs in zip(texts, exprs, wanted, found, strict=True):
            for pair, a, b in zip(pairs, ours, theirs, strict=True):
                b = physical(b, expr.type)
                assert isinstance(a, EvaluationError) or _is_same(a, b, group), f"{text} on {pair}: {a}, in Spark {b}"
        for text, ours in zip(texts, wanted, strict=True):
            raising = [i for i, value in enumerate(ours) if isinstance(value, EvaluationError)]
            assert not raising or _raises(spark, f"SELECT {text} FROM pairs WHERE id = {raising[0]}"), text


def _bind(text: str, group: str) -> Expr:
    schema = Schema(GROUPS[group])
    (expr,) = bind(f"({text}) IS NULL", schema, schema).children
    return expr


def _guard(text: str, values: list[Any]) -> str:
    """The text on the pairs on which it does not raise here."""
    quiet = [str(i) for i, value in enumerate(values) if not isinstance(value, EvaluationError)]
    return f"CASE WHEN id IN ({', '.join(quiet) or 'NULL'}) THEN ({text}) END"


def _is_same(a: Any, b: Any, group: str) -> bool:
    if not (isinstance(a, float) and isinstance(b, float)):
        return bool(a == b)
    if math.isnan(a) or a == b or group != "angle":
        return math.isnan(a) == math.isnan(b) and (a == b or math.isnan(a))
    return math.isclose(a, b, rel_tol=4e-16)


def _raises(spark: Any, query: str) -> bool:
    from pyspark.errors import PySparkException

    try:
        return not spark.sql(query).collect()
    except PySparkException:
        return True
