"""Spark's columns written as SQL: every kind of node, on classic Spark and on Connect, on every release."""

import importlib
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession, Window
from pyspark.sql.types import DoubleType

from streamjoin.errors import StreamJoinError
from streamjoin.operators.types import Schema
from streamjoin.predicate import parse
from streamjoin.spark.column import read_columns
from streamjoin.spark.compat import VERSION
from streamjoin.spark.compat.columns import write_column

Made = Callable[[Any], Any]

COLUMNS: dict[str, Made] = {
    # Names
    "l.x": lambda f: f.col("l.x"),
    "l.`the x`": lambda f: f.col("l.`the x`"),
    "l.pos.lat": lambda f: f.col("l.pos.lat"),
    "l.pos.`lat`": lambda f: f.col("l.pos").getField("lat"),
    "l.tags[0]": lambda f: f.col("l.tags")[0],
    # Comparisons and logic
    "(l.x = r.y)": lambda f: f.col("l.x") == f.col("r.y"),
    "((l.x < r.y) AND (l.x >= 2))": lambda f: (f.col("l.x") < f.col("r.y")) & (f.col("l.x") >= 2),
    "((l.x > r.y) OR (l.x <= 2))": lambda f: (f.col("l.x") > f.col("r.y")) | (f.col("l.x") <= 2),
    "(l.x <=> NULL)": lambda f: f.col("l.x").eqNullSafe(None),
    "(l.x IS NULL)": lambda f: f.col("l.x").isNull(),
    "(l.x IS NOT NULL)": lambda f: f.col("l.x").isNotNull(),
    "((l.x >= 1) AND (l.x <= r.y))": lambda f: f.col("l.x").between(1, f.col("r.y")),
    "(l.x IN (1, 2))": lambda f: f.col("l.x").isin(1, 2),
    # Arithmetic
    "((l.x + 1) - (r.y * 2))": lambda f: f.col("l.x") + 1 - f.col("r.y") * 2,
    "((l.x / 2.5D) % 2)": lambda f: f.col("l.x") / 2.5 % 2,
    "(1 - l.x)": lambda f: 1 - f.col("l.x"),
    "(-l.x)": lambda f: -f.col("l.x"),
    "(l.x & 3)": lambda f: f.col("l.x").bitwiseAND(3),
    # Functions
    "sqrt(l.x)": lambda f: f.sqrt("l.x"),
    "abs(l.x - r.y)": lambda f: f.abs(f.col("l.x") - f.col("r.y")),
    "greatest(l.x, r.y)": lambda f: f.greatest("l.x", "r.y"),
    "score(l.x, r.y)": lambda f: f.call_function("score", f.col("l.x"), f.col("r.y")),
    "levenshtein(l.s, r.s)": lambda f: f.levenshtein("l.s", "r.s"),
    "datediff(l.d, r.d)": lambda f: f.datediff("l.d", "r.d"),
    # Strings
    "lower(l.s)": lambda f: f.lower("l.s"),
    "(l.s LIKE 'a%')": lambda f: f.col("l.s").like("a%"),
    "(l.s ILIKE 'a%')": lambda f: f.col("l.s").ilike("a%"),
    "(l.s RLIKE '^a')": lambda f: f.col("l.s").rlike("^a"),
    "contains(l.s, r.s)": lambda f: f.col("l.s").contains(f.col("r.s")),
    # Casts and choices
    "CAST(l.x AS {int})": lambda f: f.col("l.x").cast("int"),
    "TRY_CAST(l.s AS {int})": lambda f: f.col("l.s").try_cast("int"),
    "CASE WHEN l.x > 1 THEN 2 WHEN l.x > 0 THEN 1 ELSE 0 END": lambda f: (
        f.when(f.col("l.x") > 1, 2).when(f.col("l.x") > 0, 1).otherwise(0)
    ),
    "CASE WHEN l.x > 1 THEN 2 END": lambda f: f.when(f.col("l.x") > 1, 2),
    # Text
    "(l.x + r.y < 3)": lambda f: f.expr("l.x + r.y < 3"),
    # Constants
    "NULL": lambda f: f.lit(None),
    "TRUE": lambda f: f.lit(True),
    "5": lambda f: f.lit(5),
    "1099511627776": lambda f: f.lit(2**40),
    "0.1D": lambda f: f.lit(0.1),
    "CAST('inf' AS DOUBLE)": lambda f: f.lit(float("inf")),
    "1.50BD": lambda f: f.lit(Decimal("1.50")),
    r"'it\'s \\ `x`'": lambda f: f.lit("it's \\ `x`"),
    "DATE '2026-01-02'": lambda f: f.lit(date(2026, 1, 2)),
    "TIMESTAMP '2026-01-02 03:04:05.000006+00:00'": lambda f: f.lit(datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)),
    "INTERVAL '5000000' MICROSECOND": lambda f: f.lit(timedelta(seconds=5)),
}


def classic(spark: SparkSession) -> Any:
    return importlib.import_module("pyspark.sql.functions")


def connect() -> Any:
    pytest.importorskip("grpc")
    return importlib.import_module("pyspark.sql.connect.functions")


@pytest.mark.every_spark
def test_every_column_of_classic_spark_is_written_as_sql(spark: SparkSession) -> None:
    functions = classic(spark)
    written = {sql: write_column(make(functions)) for sql, make in COLUMNS.items()}
    assert written == {sql: sql.format(int="INT") for sql in COLUMNS}


@pytest.mark.every_spark
@pytest.mark.skipif(VERSION < (4, 2), reason="Connect is supported from Spark 4.2 on")
def test_every_column_of_connect_is_written_as_sql() -> None:
    functions = connect()
    written = {sql: write_column(make(functions)) for sql, make in COLUMNS.items()}
    assert written == {sql: sql.format(int="int") for sql in COLUMNS}


SCHEMA = Schema({"x": "double", "y": "double", "s": "string", "d": "date"})
MEANT: dict[str, Made] = {
    "l.x <> r.y": lambda f: f.col("l.x") != f.col("r.y"),
    "NOT l.x < r.y": lambda f: ~(f.col("l.x") < f.col("r.y")),
    "pow(l.x, 2) < r.y": lambda f: f.col("l.x") ** 2 < f.col("r.y"),
    "startswith(l.s, r.s)": lambda f: f.col("l.s").startswith(f.col("r.s")),
    "endswith(l.s, r.s)": lambda f: f.col("l.s").endswith(f.col("r.s")),
    "substring(l.s, 1, 2) = r.s": lambda f: f.col("l.s").substr(1, 2) == f.col("r.s"),
    "round(l.x, 2) = r.y": lambda f: f.round("l.x", 2) == f.col("r.y"),
    "concat(l.s, '-', r.s) = 'a'": lambda f: f.concat("l.s", f.lit("-"), "r.s") == "a",
    "coalesce(l.x, 0) < r.y": lambda f: f.coalesce("l.x", f.lit(0)) < f.col("r.y"),
    "l.x = r.y AND l.y = r.x": lambda f: [f.col("l.x") == f.col("r.y"), f.col("l.y") == f.col("r.x")],
}


def must_mean(functions: Any) -> None:
    for sql, make in MEANT.items():
        found = read_columns(make(functions))
        assert isinstance(found, str)
        assert parse(found, SCHEMA, SCHEMA).conjuncts == parse(sql, SCHEMA, SCHEMA).conjuncts, found


@pytest.mark.every_spark
def test_columns_of_classic_spark_mean_what_sql_means(spark: SparkSession) -> None:
    must_mean(classic(spark))


@pytest.mark.every_spark
@pytest.mark.skipif(VERSION < (4, 2), reason="Connect is supported from Spark 4.2 on")
def test_columns_of_connect_mean_what_sql_means() -> None:
    must_mean(connect())


REFUSED: dict[str, Made] = {
    "a Python function is called on a column; register it": lambda f: (
        f.udf(lambda x: x, DoubleType())(f.col("l.x")) > 1
    ),
    r"a column holds a (Alias|alias)": lambda f: f.col("l.x").alias("z"),
    r"a column holds a (SortOrder|sort_order)": lambda f: f.col("l.x").asc(),
    r"a column holds a (LambdaFunction|lambda_function)": lambda f: f.exists("l.a", lambda x: x > 1),
    "a column holds a DISTINCT aggregate": lambda f: f.count_distinct("l.x") > 1,
}


def must_refuse(functions: Any) -> None:
    for reason, make in REFUSED.items():
        with pytest.raises(StreamJoinError, match=reason):
            write_column(make(functions))


@pytest.mark.every_spark
def test_what_has_no_sql_is_refused_by_name(spark: SparkSession) -> None:
    must_refuse(classic(spark))
    frame = spark.range(2).withColumnRenamed("id", "x")
    window = Window.partitionBy("x")
    functions = classic(spark)
    with pytest.raises(StreamJoinError, match="a column holds a Window"):
        write_column(functions.sum("x").over(window) > 1)
    for bound in (frame.x, frame["x"], frame.alias("l").x + 1):
        with pytest.raises(StreamJoinError, match=r"a column is bound to its DataFrame.*lambda l, r: l\.x < r\.y"):
            write_column(bound > 1)


@pytest.mark.every_spark
@pytest.mark.skipif(VERSION < (4, 2), reason="Connect is supported from Spark 4.2 on")
def test_what_has_no_sql_is_refused_on_connect() -> None:
    must_refuse(connect())
