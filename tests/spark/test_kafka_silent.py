"""A topic that falls silent holds the watermark, and rows wait; a heartbeat in it releases them."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import streamjoin as sj
from tests.spark.test_kafka import JOIN, SCHEMA, drain, send, to_json

pytestmark = pytest.mark.kafka


@pytest.fixture
def sides(kafka: SparkSession, topic: str) -> tuple[str, str]:
    """Topics whose rows are up to date on the left, while the right one is silent after its first second.

    #  left   1   10            50
    #  right  1
    """
    left, right = topic + "l", topic + "r"
    send(kafka, left, [to_json(1, 1, 0), to_json(10, 10, 0), to_json(50, 50, 0)])
    send(kafka, right, [to_json(1, 1, 0)])
    return left, right


def to_heartbeat(second: int) -> str:
    """A row that has a time and matches nothing."""
    return to_json(second, 0, None)


def join_left(spark: SparkSession, sides: tuple[str, str]) -> DataFrame:
    left, right = (sj.kafka.read(spark, url, schema=SCHEMA) for url in sides)
    return sj.join(left, right, delay="5 seconds", how="left", **JOIN)


def write(joined: DataFrame, home: Path) -> Any:
    return joined.writeStream.format("parquet").option("path", str(home / "out"))


def read(spark: SparkSession, home: Path) -> set[tuple[int | None, int | None]]:
    return {(row.id_l, row.id_r) for row in spark.read.parquet(str(home / "out")).collect()}


def test_a_running_query_needs_a_heartbeat_in_the_silent_topic_alone(
    kafka: SparkSession, sides: tuple[str, str], tmp_path: Path
) -> None:
    writer = write(join_left(kafka, sides), tmp_path)
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    try:
        query.processAllAvailable()
        assert read(kafka, tmp_path) == {(1, 1)}
        send(kafka, sides[1], [to_heartbeat(50)])
        query.processAllAvailable()
        assert read(kafka, tmp_path) == {(1, 1), (10, None)}
    finally:
        query.stop()


def test_a_run_that_ends_needs_one_in_every_topic(kafka: SparkSession, sides: tuple[str, str], tmp_path: Path) -> None:
    def run() -> set[tuple[int | None, int | None]]:
        drain(write(join_left(kafka, sides), tmp_path), tmp_path / "checkpoint")
        return read(kafka, tmp_path)

    assert run() == {(1, 1)}
    send(kafka, sides[1], [to_heartbeat(50)])
    assert run() == {(1, 1)}, "Spark no longer forgets how far each input is when a query starts again: say so"
    for url in sides:
        send(kafka, url, [to_heartbeat(50)])
    assert run() == {(1, 1), (10, None)}
