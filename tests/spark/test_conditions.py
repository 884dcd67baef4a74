"""Conditions as PySpark people write them, each compared with Spark's own join on the same words."""

import math
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import streamjoin as sj
from tests.spark.harness import values

WINDOW = {"window": sj.within("5 seconds"), "time": "ts"}


@pytest.fixture(scope="module")
def trades(spark: SparkSession) -> DataFrame:
    columns = "timestamp_seconds(id) AS ts", "CAST(id * 7 % 20 AS DOUBLE) AS x", "concat('s', id % 4) AS sym", "id"
    return spark.range(20).selectExpr(*columns)


@pytest.fixture(scope="module")
def quotes(spark: SparkSession) -> DataFrame:
    columns = "timestamp_seconds(id + 1) AS ts", "CAST(id * 3 % 20 AS DOUBLE) AS y", "concat('s', id % 5) AS sym", "id"
    return spark.range(20).selectExpr(*columns)


def spark_rows(trades: DataFrame, quotes: DataFrame, on: str, how: str = "inner") -> Any:
    near = "abs(unix_micros(r.ts) - unix_micros(l.ts)) <= 5000000"
    joined = trades.alias("l").join(quotes.alias("r"), F.expr(f"({on}) AND {near}"), how)
    return values(joined.selectExpr("l.id", "r.id").collect())


def our_rows(trades: DataFrame, quotes: DataFrame, on: Any, how: str = "inner") -> Any:
    return values(sj.join(trades, quotes, on=on, how=how, **WINDOW).selectExpr("id_l", "id_r").collect())


CONDITIONS: dict[str, Any] = {
    "sqrt(l.x) < r.y": lambda l, r: F.sqrt(l.x) < r.y,
    "abs(l.x - r.y) <= sqrt(r.y)": lambda l, r: abs(l.x - r.y) <= F.sqrt(r.y),
    "round(l.x / 3 + r.y) = greatest(r.y, 2)": lambda l, r: round(l.x / 3 + r.y) == F.greatest(r.y, F.lit(2)),
    "l.x < r.y AND l.sym LIKE 's%'": lambda l, r: (l.x < F.col("r.y")) & l.sym.like("s%"),
    "startswith(l.sym, substring(r.sym, 1, 2))": lambda l, r: l.sym.startswith(r.sym.substr(1, 2)),
    "CASE WHEN l.sym = r.sym THEN l.x ELSE r.y END > 10": lambda l, r: F.when(l.sym == r.sym, l.x).otherwise(r.y) > 10,
}


COLUMNS: dict[str, Callable[[], Any]] = {
    "l.x + r.y < 20": lambda: F.expr("l.x + r.y < 20"),
    "l.x < r.y + 2": lambda: F.col("l.x") < F.col("r.y") + 2,
    "l.x >= r.y AND l.sym = r.sym": lambda: [F.col("l.x") >= F.col("r.y"), F.col("l.sym") == F.col("r.sym")],
}


@pytest.mark.parametrize("sql", COLUMNS)
def test_columns_as_conditions(trades: DataFrame, quotes: DataFrame, sql: str) -> None:
    assert our_rows(trades, quotes, COLUMNS[sql]()) == spark_rows(trades, quotes, sql)


@pytest.mark.parametrize("sql", CONDITIONS)
def test_columns_and_functions_of_spark(trades: DataFrame, quotes: DataFrame, sql: str) -> None:
    wanted = spark_rows(trades, quotes, sql)
    assert 5 < wanted.total() < 200
    assert our_rows(trades, quotes, CONDITIONS[sql]) == wanted


@pytest.mark.every_spark
def test_a_function_of_spark_in_a_lambda(trades: DataFrame, quotes: DataFrame) -> None:
    wanted = spark_rows(trades, quotes, "sqrt(l.x) < r.y")
    assert our_rows(trades, quotes, lambda l, r: F.sqrt(l.x) < r.y) == wanted


def test_a_registered_function_works_by_its_name(spark: SparkSession, trades: DataFrame, quotes: DataFrame) -> None:
    spark.udf.register("near_enough", lambda x, y: x is not None and abs(x - y) < 4, "boolean")
    spark.udf.register("twice", lambda x: 2 * x, "double")
    try:
        for sql, on in {
            "near_enough(l.x, r.y)": lambda l, r: F.call_function("near_enough", l.x, r.y),
            "near_enough(l.x, r.y) AND l.sym = r.sym": "near_enough(l.x, r.y) AND l.sym = r.sym",
            "twice(l.x) < r.y": lambda l, r: F.call_function("twice", l.x) < r.y,
        }.items():
            assert our_rows(trades, quotes, on) == spark_rows(trades, quotes, sql)
        assert "Spark, after the join" in str(sj.explain(trades, quotes, on="near_enough(l.x, r.y)", **WINDOW))
        with pytest.raises(sj.StreamJoinError, match=r"near_enough\(l\.x, r\.y\): only Spark .*how='inner'"):
            sj.join(trades, quotes, on="near_enough(l.x, r.y)", how="left", **WINDOW)
        kept = our_rows(trades, quotes, "twice(l.x) < r.y", how="left")
        assert kept == spark_rows(trades, quotes, "twice(l.x) < r.y", how="left")
    finally:
        for name in ("near_enough", "twice"):
            spark.sql(f"DROP TEMPORARY FUNCTION {name}")


HINTS: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "math": (lambda l, r: math.sqrt(l.x) < r.y, r"F\.sqrt\(l\.x\)"),
    "max": (lambda l, r: max(l.x, r.y) < 3, r"Python's max, .* F\.greatest"),
    "and": (lambda l, r: l.x < r.y and l.x > 0, "combine conditions with &"),
    "in": (lambda l, r: (l.x < r.y) & (l.sym in ("A", "B")), r"write \.isin\(\.\.\.\) for in"),
    "& of functions": (lambda l, r: F.sqrt(l.x) == r.y & l.x < r.y, r"parentheses are missing: .*\) & \("),
    "and of functions": (lambda l, r: F.sqrt(l.x) < r.y and l.x > 0, "combine conditions with &"),
    "max of functions": (lambda l, r: max(F.sqrt(l.x), r.y) < 3, r"Python's max, .* F\.greatest"),
    "min of a function": (lambda l, r: min(l.x, F.sqrt(r.y)) < 3, r"Python's min, .* F\.least"),
    "unknown": (lambda l, r: l.sym.sound() == r.sym, "no function sound for a lambda"),
    "math of functions": (lambda l, r: math.sqrt(F.sqrt(l.x)) < r.y, r"F\.sqrt\(l\.x\)"),
}


@pytest.mark.parametrize("name", HINTS)
def test_what_python_keeps_to_itself_has_its_own_hint(trades: DataFrame, quotes: DataFrame, name: str) -> None:
    condition, hint = HINTS[name]
    with pytest.raises(sj.StreamJoinError, match=hint):
        sj.join(trades, quotes, on=condition, **WINDOW)


def test_a_column_of_a_dataframe_is_refused(trades: DataFrame, quotes: DataFrame) -> None:
    with pytest.raises(sj.StreamJoinError, match="on: a column is bound to its DataFrame"):
        sj.join(trades, quotes, on=trades.x < quotes.y, **WINDOW)
    with pytest.raises(sj.StreamJoinError, match="on: a Python function is called on a column; register it"):
        sj.join(trades, quotes, on=lambda l, r: F.udf(lambda x: x, "double")(l.x) < r.y, **WINDOW)


def test_a_string_and_a_number_are_not_compared(trades: DataFrame, quotes: DataFrame) -> None:
    with pytest.raises(sj.StreamJoinError, match=r"cannot compare l\.sym .*CAST\(r\.y AS STRING\)"):
        sj.join(trades, quotes, on="l.sym = r.y", **WINDOW)


# Names


def test_one_name_alone_is_taken_for_a_list(trades: DataFrame, quotes: DataFrame) -> None:
    with pytest.raises(sj.StreamJoinError, match=r"did you mean on=\['sym'\]"):
        sj.join(trades, quotes, on="sym", **WINDOW)


@pytest.mark.parametrize("how", ["inner", "left", "right", "full", "left_semi", "left_anti"])
def test_names_are_one_column_for_both_sides(trades: DataFrame, quotes: DataFrame, how: str) -> None:
    left = trades.select("ts", "x", "sym", F.col("id").alias("key")).where("id < 12")
    right = quotes.select("y", "ts", F.expr("CAST(id AS INT) + 3 AS KEY"), "sym").where("id > 5")
    found = sj.join(left, right, on=["key", "sym"], how=how, **WINDOW)
    near = "abs(unix_micros(r.ts) - unix_micros(l.ts)) <= 5000000"
    kept = how in ("left_semi", "left_anti")
    keys = {"right": ("r.KEY", "r.sym"), "full": ("coalesce(l.key, r.KEY)", "coalesce(l.sym, r.sym)")}.get(
        how, ("l.key", "l.sym")
    )
    columns = [*keys, "l.ts", "l.x", *([] if kept else ["r.y", "r.ts"])]
    spark_own = left.alias("l").join(right.alias("r"), F.expr(f"l.key = r.KEY AND l.sym = r.sym AND {near}"), how)
    assert found.columns == [
        "KEY" if how == "right" else "key",
        "sym",
        *(["ts", "x"] if kept else ["ts_l", "x", "y", "ts_r"]),
        "join_time",
    ]
    assert values(found.drop("join_time").collect()) == values(spark_own.selectExpr(*columns).collect())
    using = left.drop("ts").join(right.drop("ts"), ["key", "sym"], how)  # names and types as in Spark's own
    without_times = found.drop("ts", "ts_l", "ts_r", "join_time")
    assert using.columns == without_times.columns
    assert [f.dataType for f in using.schema][:2] == [f.dataType for f in found.schema][:2]


def test_both_columns_of_a_name_remain_selectable(trades: DataFrame, quotes: DataFrame) -> None:
    def columns(*select: str) -> list[str]:
        return sj.join(trades, quotes, on=["sym"], select=select, how="full", **WINDOW).columns

    assert columns("l.sym", "r.sym", "r.y") == ["sym_l", "sym_r", "y", "join_time"]
    assert columns("sym", "r.sym", "l.x") == ["sym", "sym_r", "x", "join_time"]
    assert columns("SYM AS s", "l.sym") == ["s", "sym", "join_time"]
    with pytest.raises(sj.StreamJoinError, match="'x' does not name a column of one side"):
        columns("x")
