"""What a user gets wrong is refused before the query starts, in words that name the argument and what to write."""

import logging
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pyspark.errors import AnalysisException
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame, SparkSession

import streamjoin as sj
from tests.spark.harness import feed, run, spark_join, values

MORE = ("date '2026-01-05' AS day", "id AS millis", "id > 3 AS flag")
GOOD = {"on": "l.x = r.x", "window": sj.within("2 seconds"), "time": "ts"}


@pytest.fixture
def rows(spark: SparkSession) -> DataFrame:
    return spark.range(6).selectExpr("timestamp_seconds(id) AS ts", "int(id % 3) AS x", "string(id) AS word", *MORE)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"on": "l.y = r.x"}, r"(?s)on: unknown column l\.y; .*l\.y = r\.x"),
        ({"on": "l.wort = r.word"}, r"on: unknown column l\.wort; did you mean l\.word\?"),
        ({"on": "a.x = b.x"}, "(?s)on: .*a.x = b.x"),
        ({"on": "x = r.x"}, "(?s)on: .*x = r.x"),
        ({"on": "l.x = 1"}, "on: the condition names only the left side"),
        ({"on": "l.x + r.x"}, "(?s)on: .*l.x [+] r.x"),
        ({"on": "l.x = "}, "(?s)on: "),
        ({"on": "sum(l.x) = r.x"}, "(?s)on: .*sum"),
        ({"on": "rand() < 0.5 AND l.x = r.x"}, "(?s)on: .*rand"),
        ({"on": "no_such(l.x) = r.x"}, "(?s)on: .*no_such"),
        ({"on": []}, "on: expected SQL text, a lambda"),
        ({"on": ["x", "y"]}, r"on: unknown column l\.y"),
        ({"on": 5}, "on: expected SQL text, a lambda"),
        ({"on": lambda l, r: l.y == r.x}, "(?s)on: .*y"),
        ({"window": "2 seconds"}, "window: got '2 seconds'; expected one such as within"),
        ({"window": None}, "window: expected one such as within.*or time bounds in `on`"),
        ({"window": sj.last(5), "layout": sj.Cell(2)}, "layout: .*no length in time.*take Scale"),
        ({"time": "when"}, "time: the left side has no column 'when'"),
        ({"time": ("ts", "when")}, "time: the right side has no column 'when'"),
        ({"time": ("ts", "x")}, r"time: right column 'x' is of type int; .* right\.withColumn.*timestamp_seconds\(x\)"),
        ({"time": "word"}, r"time: left column 'word' is of type string; .* to_timestamp\(word\), with a pattern"),
        ({"time": "day"}, r"time: left column 'day' is of type date; .* CAST\(day AS TIMESTAMP\)"),
        ({"time": "millis"}, r"type bigint; .* timestamp_seconds\(millis\), timestamp_millis\(millis\) or"),
        ({"time": "flag"}, "type boolean; expected a timestamp: cast it before the join, or name another column"),
        ({"time": ("ts", "ts", "ts")}, "time: got .* expected one name, or a pair"),
        ({"time": None}, "time: got None; expected one name, or a pair"),
        ({"how": "sideways"}, "how: got 'sideways'"),
        ({"how": "right_anti"}, "how: got 'right_anti'; .* exchange the inputs and take 'left_semi' or 'left_anti'"),
        (
            {"how": "left", "on": "l.x = r.x AND size(array_union(array(l.x), array(r.x))) < 2"},
            r"on: size\(array_union.*only Spark evaluates this.* [Cc]ompute a column before the join",
        ),
        ({"ordered": "yes"}, "ordered: got 'yes'; expected True or False"),
        ({"layout": "square"}, r"layout: got 'square'; expected 'auto' or a layout such as Grid\(2, 2\)"),
        ({"layout": (2, 2)}, "layout: got"),
        ({"layout": sj.Handshake(4)}, r"layout: in Handshake\(4\) rows move .* On Spark take Grid\(m, n\)"),
        ({"layout": sj.Keyed(2), "on": "l.x < r.x"}, r"layout: Keyed\(2\) .* has neither; take Grid"),
        ({"layout": sj.Cell(2, hashed=True), "on": "l.x < r.x"}, "layout: .* no equality"),
        ({"suffixes": ("_l",)}, "suffixes: got"),
        ({"suffixes": 3}, "suffixes: got 3"),
        ({"name": ""}, "name: got ''"),
        ({"name": None}, "name: got None"),
        ({"left": "rows"}, "left: expected a DataFrame or a list of DataFrames; got 'rows'"),
        ({"left": pd.DataFrame({"x": [1]})}, "left: expected a DataFrame or .*; got a pandas DataFrame"),
        ({"right": None}, "right: expected a DataFrame or a list of DataFrames; got None"),
    ],
    ids=lambda value: str(value).partition(" at 0x")[0][:40],
)
def test_a_wrong_argument_is_named(rows: DataFrame, wrong: dict[str, Any], message: str) -> None:
    arguments = {"left": rows, "right": rows, **GOOD, **wrong}
    with pytest.raises(sj.StreamJoinError, match=message):
        sj.join(**arguments)


@pytest.fixture
def pyspark_log() -> Iterator[StringIO]:
    """What PySpark's own logger says, which is silenced in all other tests."""
    logger, logged = PySparkLogger.getLogger("SQLQueryContextLogger"), StringIO()
    handler, level = logging.StreamHandler(logged), logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.WARNING)
    yield logged
    logger.setLevel(level)
    logger.removeHandler(handler)


def test_what_spark_refuses_on_trial_is_not_logged_but_a_failure_of_the_users_is(
    rows: DataFrame, pyspark_log: StringIO
) -> None:
    """PySpark logs several KB of JSON for an error in SQL; ours says the same in a line."""
    with pytest.raises(sj.StreamJoinError, match="absolute"):
        sj.join(rows, rows, **{**GOOD, "on": "absolute(l.x - r.x) < 1"})
    with pytest.raises(sj.StreamJoinError, match=r"avg\(l\.x\)"):
        sj.sliding_aggregate(rows, time="ts", size="1 second", every="1 second", select=["avg(l.x) AS n"])
    assert not pyspark_log.getvalue()
    with pytest.raises(AnalysisException):
        rows.selectExpr("absolute(x)")
    assert "absolute" in pyspark_log.getvalue()


@pytest.mark.parametrize("delay", ["10", "-1 second"])
def test_a_delay_that_is_no_duration_is_refused_in_a_batch_join_too(rows: DataFrame, delay: str) -> None:
    with pytest.raises(sj.StreamJoinError, match=r"^delay: "):
        sj.join(rows, rows, delay=delay, **GOOD)


@pytest.mark.parametrize(("m", "n"), [(0, 1), (1, -1), (2.0, 2), (True, 1)])
def test_a_grid_without_cells_is_refused(m: Any, n: Any) -> None:
    with pytest.raises(sj.StreamJoinError, match=r"Grid\([mn]\): expected a whole number of cells"):
        sj.Grid(m, n)


def test_two_columns_of_one_name_in_an_input_are_refused(rows: DataFrame) -> None:
    with pytest.raises(sj.StreamJoinError, match="right: two of its columns are named 'x'"):
        sj.join(rows, rows.selectExpr("*", "x AS X"), **GOOD)


def test_a_stream_is_not_joined_with_a_table(spark: SparkSession, rows: DataFrame, tmp_path: Path) -> None:
    stream = feed(tmp_path, "ts timestamp, x int", [[]]).stream(spark)
    with pytest.raises(sj.StreamJoinError, match=r"left is streaming and right is batch.*Spark's own join"):
        sj.join(stream, rows, delay="1 second", **GOOD)
    with pytest.raises(sj.StreamJoinError, match="left is batch and right is streaming"):
        sj.join(rows, stream, delay="1 second", **GOOD)


@pytest.mark.every_spark
def test_joins_that_come_together_need_names_of_their_own(spark: SparkSession, tmp_path: Path) -> None:
    stream = feed(tmp_path, "ts timestamp, x int", [[]]).stream(spark)
    one, other, named = (
        sj.join(stream, stream, delay="1 second", select=["l.x"], name=name, **{**GOOD, "window": sj.within(length)})
        for length, name in (("1 second", "streamjoin"), ("2 seconds", "streamjoin"), ("2 seconds", "pairs"))
    )
    again = {**GOOD, "time": "join_time"}
    with pytest.raises(sj.StreamJoinError, match="name: two joins that come together here both report as 'streamjoin'"):
        sj.join(one, other, **again)
    with pytest.raises(sj.StreamJoinError, match="name: two joins that come together here both report as 'streamjoin'"):
        sj.join([one, other], named, **again)
    assert sj.join(
        [one, named], stream, on="l.x = r.x", window=GOOD["window"], time=("join_time", "ts"), delay=(None, "0 seconds")
    ).columns
    assert sj.join(one, named, **again).columns[-1] == "join_time"
    assert sj.join(one, one, **again).columns[-1] == "join_time"


def test_an_output_mode_that_the_join_does_not_have_is_refused_by_name(spark: SparkSession, tmp_path: Path) -> None:
    stream = feed(tmp_path, "ts timestamp, x int", [[]]).stream(spark)
    with pytest.raises(AnalysisException, match=r"output mode: complete"):
        run(sj.join(stream, stream, delay="1 second", **GOOD), output_mode="complete")


@pytest.mark.slow
def test_a_query_in_update_mode_yields_the_same_rows(spark: SparkSession, tmp_path: Path) -> None:
    batches = [[{"ts": second * 1_000_000, "x": second % 2} for second in batch] for batch in ([1, 2, 3], [4, 3])]
    source = feed(tmp_path, "ts timestamp, x int", batches)
    stream, table = source.stream(spark), source.table(spark)
    found = run(sj.join(stream, stream, delay="9 seconds", **GOOD), output_mode="update")
    assert values(found.rows) == values(spark_join(table, table, "l.x = r.x", 2_000_000).collect())


SETTINGS = {
    "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state."
    "HDFSBackedStateStoreProvider",
    "spark.sql.streaming.multipleWatermarkPolicy": "max",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.caseSensitive": "true",
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_setting_that_the_join_depends_on_is_named_with_its_value_and_reason(
    spark: SparkSession, tmp_path: Path, setting: str
) -> None:
    own = spark.newSession()
    own.conf.set(setting, SETTINGS[setting])
    stream = feed(tmp_path, "ts timestamp, x int", [[]]).stream(own)
    with pytest.raises(sj.StreamJoinError) as refusal:
        sj.join(stream, stream, delay="1 second", **GOOD)
    advice = [line for line in str(refusal.value).splitlines() if line.startswith("spark.conf.set(")]
    assert len(advice) == 1
    assert setting in advice[0]
    assert f"# now {SETTINGS[setting]}: " in advice[0]
    exec(advice[0], {"spark": own})  # what it says to write is what helps
    assert sj.join(stream, stream, delay="1 second", **GOOD).columns[-1] == "join_time"
