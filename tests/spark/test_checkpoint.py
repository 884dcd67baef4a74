"""A checkpoint belongs to one join: another one is refused, with both plans in the message."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import streamjoin as sj
from tests.spark.filejoin import FileJoin, expected, write_inputs
from tests.spark.live import settings

ON = "abs(l.x - r.x) <= 5"
WINDOW = sj.within("15 seconds")


@dataclass(frozen=True)
class Arguments:
    """A join of files, and how its arguments may be changed."""

    on: str = ON
    window: Any = WINDOW
    layout: Any = "auto"
    select: tuple[str, ...] = ("l.id AS l", "r.id AS r")
    delay: str = "3 seconds"
    change: Callable[[DataFrame], DataFrame] = lambda frame: frame

    def run(self, spark: SparkSession, told: FileJoin) -> None:
        """Join all files that there are and have not been joined yet."""
        left, right = (
            self.change(spark.readStream.schema("id BIGINT, ts TIMESTAMP, x INT").parquet(f"{told.home}/{side}"))
            for side in ("left", "right")
        )
        joined = sj.join(
            left,
            right,
            on=self.on,
            window=self.window,
            time="ts",
            delay=self.delay,
            select=self.select,
            layout=self.layout,
        )
        writer = joined.writeStream.format("parquet").option("checkpointLocation", str(told.checkpoint))
        writer.trigger(availableNow=True).start(str(told.sink)).awaitTermination()


def begin(spark: SparkSession, home: Path, arguments: Arguments) -> FileJoin:
    """A join with a checkpoint after one batch, and rows for another batch."""
    told = FileJoin(str(home))
    write_inputs(home, files=1)
    arguments.run(spark, told)
    write_inputs(home, files=1, first=1)
    return told


@pytest.fixture(scope="module")
def begun(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> FileJoin:
    """A checkpoint to be refused, which leaves it as it is."""
    return begin(spark, tmp_path_factory.mktemp("begun"), Arguments())


CHANGES: dict[str, tuple[Arguments, str, str]] = {
    "predicate": (Arguments(on="abs(l.x - r.x) <= 6"), "<= 5", "<= 6"),
    "one-sided filter": (Arguments(on=f"{ON} AND l.x > 3"), ON, "l.x > 3"),
    "window": (Arguments(window=sj.within("16 seconds")), "15 seconds", "16 seconds"),
    "layout": (Arguments(layout=sj.Grid(2, 2)), "Grid(1, 2)", "Grid(2, 2)"),
    "select": (Arguments(select=("l.id AS l", "r.id AS r", "r.x")), "columns id bigint\n", "columns id bigint, x int"),
    "type of a column": (
        Arguments(change=lambda frame: frame.withColumn("id", frame.id.cast("string"))),
        "id bigint",
        "id string",
    ),
    "type of a key": (Arguments(change=lambda frame: frame.withColumn("x", frame.x.cast("double"))), "int", "double"),
}


QUICK = ("window", "layout", "type of a key")
"""Told in different ways; of the others the unit tests of `flow.checkpoint` know."""


@pytest.mark.parametrize(
    "change",
    [
        *(pytest.param(change, marks=pytest.mark.every_spark if change == "window" else ()) for change in QUICK),
        *(pytest.param(change, marks=pytest.mark.slow) for change in CHANGES if change not in QUICK),
    ],
)
def test_another_join_is_refused_with_both_plans(spark: SparkSession, begun: FileJoin, change: str) -> None:
    other, was, now = CHANGES[change]
    with pytest.raises(StreamingQueryException) as refused:
        other.run(spark, begun)
    message = str(refused.value)
    assert "This checkpoint was written by another join" in message
    assert ("Only the layout differs" in message) == (change == "layout")
    before, _, after = message.partition("--- the checkpoint's join\n")[2].partition("--- this join\n")
    after = after.partition("\n\n")[0]
    assert was in before, before
    assert now in after, after


@pytest.mark.guarantee
@pytest.mark.slow
@pytest.mark.every_spark
def test_another_delay_goes_on_and_so_does_the_old_join_after_a_refusal(spark: SparkSession, tmp_path: Path) -> None:
    told = begin(spark, tmp_path, Arguments())
    with pytest.raises(StreamingQueryException):
        Arguments(window=sj.within("16 seconds")).run(spark, told)
    Arguments(delay="10 seconds").run(spark, told)
    write_inputs(tmp_path, files=1, first=2)
    Arguments(delay="4 seconds").run(spark, told)
    assert told.results(spark) == expected(tmp_path)


@pytest.mark.parametrize("layout", ["auto", pytest.param(sj.Grid(1, 3), marks=pytest.mark.slow)], ids=str)
def test_another_number_of_shuffle_partitions_is_refused_or_changes_nothing(
    spark: SparkSession, tmp_path: Path, layout: Any
) -> None:
    told = begin(spark, tmp_path, Arguments(layout=layout))
    with settings(spark, {"spark.sql.shuffle.partitions": "5"}):
        try:
            Arguments(layout=layout).run(spark, told)
        except StreamingQueryException as refused:
            assert "set spark.sql.shuffle.partitions to 2 and take layout=Grid(1," in str(refused)  # noqa: PT017
        else:
            assert told.results(spark) == expected(tmp_path)
