"""Cells, stripes and results fall evenly on Spark's tasks."""

from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import streamjoin as sj
from streamjoin.spark.collector import place
from tests.spark.live import settings

WINDOW = {"window": sj.within("1 hour"), "time": "ts"}


@pytest.fixture
def rows(spark: SparkSession) -> DataFrame:
    return spark.range(600).selectExpr("timestamp_seconds(id) AS ts", "id", "id % 7 AS k")


def tasks(frame: DataFrame) -> dict[int, int]:
    """How many rows come from each task."""
    counted = frame.groupBy(F.spark_partition_id().alias("task")).count()
    return {row["task"]: row["count"] for row in counted.collect()}


@pytest.mark.parametrize("layout", [sj.Grid(3, 3), sj.Grid(1, 3), sj.Scale(5)], ids=str)
def test_every_cell_of_a_batch_join_has_a_task(rows: DataFrame, layout: Any) -> None:
    found = tasks(sj.join(rows, rows, on="l.k = r.k", layout=layout, **WINDOW))
    assert len(found) == layout.cells
    assert max(found.values()) < 1.5 * min(found.values())


def test_equal_rows_of_a_self_join_meet_all_over_the_grid(rows: DataFrame) -> None:
    assert len(tasks(sj.join(rows, rows, on="l.id = r.id", layout=sj.Grid(2, 2), **WINDOW))) == 4


def test_results_of_a_second_stage_are_spread(rows: DataFrame) -> None:
    found = tasks(sj.join(rows, rows, on="l.k = r.k", how="full", layout=sj.Grid(2, 2), **WINDOW))
    assert len(found) == 4


@pytest.mark.parametrize(("grid", "partitions"), [(sj.Grid(1, 2), 2), (sj.Grid(2, 4), 8), (sj.Grid(3, 3), 4)], ids=str)
def test_cells_and_stripes_are_dealt_to_partitions(spark: SparkSession, grid: Any, partitions: int) -> None:
    job: Any = SimpleNamespace(layout=grid, partitions=partitions)
    cells = [(cell, -1) for cell in range(grid.cells)]
    stripes = [(0, stripe) for stripe in range(grid.m + grid.n)]
    for records in (cells, stripes):
        frame = spark.createDataFrame(records, "cell int, stripe int")
        counts = tasks(frame.repartition(partitions, F.expr(place(job))))
        assert len(counts) == min(partitions, len(records))
        assert max(counts.values()) - min(counts.values()) <= 1


def test_a_batch_join_asks_nothing_of_the_settings_for_streams(spark: SparkSession, rows: DataFrame) -> None:
    with settings(spark, {"spark.sql.streaming.multipleWatermarkPolicy": "max"}):
        assert sj.join(rows, rows, on="l.id = r.id", **WINDOW).count() == 600
