"""Names: what a result's columns are called, and that any name a DataFrame bears can be joined on and carried."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import streamjoin as sj
from tests.spark.harness import feed, run, spark_join, values

ODD = [
    "a b",
    "a.b",
    "a`b",
    "it's",
    'say "no"',
    "größe",
    "日本",
    "UPPER",
    "l",
    "r",
    "c0",
    "select",
    "x AS y",
    "-- no",
    " ",
]


@pytest.fixture
def rows(spark: SparkSession) -> DataFrame:
    inner = "named_struct('A b', id, 'p.q', -id) AS inner"
    return spark.range(6).selectExpr("id", "timestamp_seconds(id) AS ts", "CAST(id % 3 AS INT) AS x", inner)


def joined(left: DataFrame, right: DataFrame, on: Any = "l.x = r.x", **options: Any) -> DataFrame:
    return sj.join(left, right, on=on, window=sj.within("2 seconds"), time="ts", **options)


def result(rows: DataFrame, select: Sequence[str] | None = None, **options: Any) -> list[str]:
    return joined(rows, rows, select=select, **options).columns


def test_names_of_both_sides_get_suffixes(rows: DataFrame) -> None:
    both = joined(rows, rows.withColumnRenamed("id", "ID").drop("inner"))
    assert both.columns == ["id_l", "ts_l", "x_l", "inner", "ID_r", "ts_r", "x_r", "join_time"]


def test_suffixes_can_be_chosen(rows: DataFrame) -> None:
    found = result(rows.select("id", "ts", "x"), suffixes=("", " of right"))
    assert found == ["id", "ts", "x", "id of right", "ts of right", "x of right", "join_time"]


@pytest.mark.parametrize("suffixes", [("", ""), ("_a", "_A")], ids=str)
def test_suffixes_that_leave_two_columns_of_one_name_are_refused(rows: DataFrame, suffixes: tuple[str, str]) -> None:
    with pytest.raises(sj.StreamJoinError, match=r"two columns named 'id.*suffixes="):
        result(rows, suffixes=suffixes)


def test_a_suffixed_name_that_is_taken_is_refused(rows: DataFrame) -> None:
    with pytest.raises(sj.StreamJoinError, match="two columns named 'X_l'"):
        joined(rows.selectExpr("*", "1 AS X_l"), rows)


def test_a_column_named_join_time_gives_way_to_the_result_s(rows: DataFrame) -> None:
    named = rows.select("ts", "x").withColumnRenamed("x", "join_time")
    plain = rows.select("ts", "x")
    assert joined(named, plain, "l.join_time = r.x").columns == ["ts_l", "join_time_l", "ts_r", "x", "join_time"]
    expected = spark_join(named, plain, "l.join_time = r.x", 2_000_000)
    assert values(joined(named, plain, "l.join_time = r.x").collect()) == values(expected.collect())


@pytest.mark.parametrize(
    ("select", "columns"),
    [
        (["l.id", "r.id"], ["id_l", "id_r"]),
        (["l.id", "r.x"], ["id", "x"]),
        (["L.ID AS one", "r.id two"], ["one", "two"]),
        (["l.*"], ["id", "ts", "x", "inner"]),
        (["l.id", "r.id AS other"], ["id", "other"]),
        (["r.id AS `the other`", "l.*"], ["the other", "id", "ts", "x", "inner"]),
        (["l.inner.`A b`", "r.inner.`p.q`"], ["A b", "p.q"]),
        (["l.inner.`A b`", "r.inner.`A b`"], ["A b_l", "A b_r"]),
        (["l.inner.`A b` AS `a.b`", "l.inner"], ["a.b", "inner"]),
        ([], []),
    ],
    ids=str,
)
def test_select_names_what_is_carried(rows: DataFrame, select: list[str], columns: list[str]) -> None:
    assert result(rows, select) == [*columns, "join_time"]


def test_what_is_selected_has_its_values(rows: DataFrame) -> None:
    select = ["r.inner.`p.q`", "l.inner", "l.id AS `a.b``c`"]
    found = joined(rows, rows, select=select).drop("join_time").collect()
    pairs = spark_join(rows, rows, "l.x = r.x", 2_000_000).collect()
    assert values(found) == values((row[7]["p.q"], row[3], row[0]) for row in pairs)
    assert found


@pytest.mark.parametrize(
    ("select", "message"),
    [
        (["id"], "'id' does not name a column of one side"),
        (["x.id"], "'x.id' does not name a column of one side"),
        (["l.id + 1"], r"'l.id \+ 1' does not name a column of one side"),
        (["l.id, r.id"], "expected a column such as"),
        (["l.nothing"], "the left side has no column 'nothing'"),
        (["r.inner.`a c`"], "r.inner has no column 'a c'.*A b"),
        (["l.id AS a", "r.id AS A"], "two columns named 'A'"),
        (["l.id", "l.id"], "two columns named 'id'"),
        (["l.id AS join_time"], "two columns named 'join_time'"),
        ("l.id", "expected a list such as"),
        ([1], "select"),
        (["l.id ..."], "expected a column such as"),
    ],
    ids=str,
)
def test_what_select_cannot_mean_is_refused(rows: DataFrame, select: Any, message: str) -> None:
    with pytest.raises(sj.StreamJoinError, match=message):
        result(rows, select)


@pytest.mark.parametrize("name", ODD)
def test_a_column_of_any_name_is_joined_on_and_carried(rows: DataFrame, name: str) -> None:
    quoted = "`" + name.replace("`", "``") + "`"
    frame = rows.selectExpr("ts", f"x AS {quoted}")
    result = joined(frame, frame, f"l.{quoted} = r.{quoted}")
    assert result.columns == ["ts_l", f"{name}_l", "ts_r", f"{name}_r", "join_time"]
    assert joined(frame, frame, [name]).columns == [name, "ts_l", "ts_r", "join_time"]


def test_columns_of_all_odd_names_keep_their_values_in_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    quoted = ["`" + name.replace("`", "``") + "`" for name in ODD]
    columns = ["ts AS `the time`", *(f"x + {number} AS {name}" for number, name in enumerate(quoted))]
    rows = [[{"ts": second * 1_000_000, "x": second % 2} for second in batch] for batch in ([1, 2, 3], [4, 3])]
    source = feed(tmp_path, "ts timestamp, x int", rows)
    on = " AND ".join(f"l.{name} = r.{name}" for name in quoted) + " AND upper(l.`a.b`) >= upper(r.`a``b`) - 100"
    stream = source.stream(spark).selectExpr(*columns)
    result = sj.join(
        stream, stream, on=on, window=sj.within("2 seconds"), time="the time", delay="9 seconds", name="it's `a` name"
    )
    plain = source.table(spark)
    expected = spark_join(plain, plain, "l.x = r.x", 2_000_000).collect()
    shifted = [
        (row[0], *(row[1] + n for n in range(len(ODD))), row[2], *(row[3] + n for n in range(len(ODD))), row[4])
        for row in expected
    ]
    found = run(result)
    assert values(found.rows) == values(shifted)
    assert sum(found.metric("rows_left", "it's `a` name")) == 5


def test_a_stream_is_joined_with_itself(spark: SparkSession, tmp_path: Path) -> None:
    rows = [[{"ts": second * 1_000_000, "x": second % 2} for second in batch] for batch in ([1, 2, 3, 3], [], [4, 3])]
    source = feed(tmp_path, "ts timestamp, x int", rows)
    stream = source.stream(spark)
    result = joined(stream, stream.where("x >= 0"), "l.x <= r.x", delay="9 seconds")
    plain = source.table(spark)
    assert values(run(result).rows) == values(spark_join(plain, plain, "l.x <= r.x", 2_000_000).collect())


def test_a_batch_is_joined_with_itself(rows: DataFrame) -> None:
    expected = spark_join(rows, rows, "l.x <= r.x", 2_000_000)
    assert values(joined(rows, rows, "l.x <= r.x").collect()) == values(expected.collect())
