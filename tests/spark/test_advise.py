"""Advice from rows that Spark has: batch DataFrames that are sampled, and a query that runs."""

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

import streamjoin as sj
from streamjoin.advice.calibrate import BANDS
from streamjoin.spark import known, trial
from streamjoin.spark.progress import Progress, read_all_progress


def frame(spark: SparkSession, first: str, seed: int) -> DataFrame:
    """20,000 rows in 100 seconds; values from 1 to 200."""
    rows = spark.range(20_000).selectExpr("id", "timestamp_micros(id * 5000) AS ts", f"id * {seed}L AS mixed")
    return rows.selectExpr(
        "ts", f"CAST(pmod(xxhash64(mixed), 200) AS INT) + 1 AS {first}", "CAST(id AS STRING) AS name"
    )


def test_batch_frames_are_sampled(spark: SparkSession) -> None:
    left, right = frame(spark, "x", 3), frame(spark, "a", 7)
    window = sj.within("10 seconds")
    found = sj.advise(left, right, on="abs(l.x - r.a) <= 2", window=window, time="ts", cores=2, calibration="none")
    demand = found.question.demand
    assert demand.hit_rate == pytest.approx((5 * 200 - 6) / 200**2, rel=0.05)
    assert demand.rates.left == pytest.approx(200, rel=0.01)
    assert 12 < demand.widths.left < 32  # a time, a number, up to five letters and their place
    assert found.question.sources["rates"] == "of the sample"


def run(spark: SparkSession, name: str, *, counts: bool = False) -> sj.StreamJoinError | object:
    ticks = (
        spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 500).option("advanceMillisPerBatch", 1000)
    )
    left, right = (ticks.load() for _ in range(2))
    given: dict[str, Any] = {"on": "abs(l.value - r.value) <= 10", "window": sj.within("3 seconds"), "name": name}
    given |= {"time": "timestamp", "delay": "0 seconds"}
    if counts:
        near = sj.aggregate(left, right, select=["count(*) AS n"], **given)
    else:
        near = sj.join(left, right, layout=sj.Grid(2, 2), **given)
    return near.writeStream.format("noop").trigger(processingTime="0 seconds").start()


@pytest.mark.every_spark
def test_a_running_query_is_asked(spark: SparkSession) -> None:
    """500 rows for each second of event time; a row has 21 partners, all of them near in time."""
    query: object = run(spark, "asked")
    try:
        while len([p for p in query.recentProgress if p["numInputRows"]]) < 5:  # type: ignore[attr-defined]
            assert query.isActive  # type: ignore[attr-defined]
        found = sj.advise(query, name="asked", calibration="none")
        running = found.question.running
        assert running is not None
        assert running.layout == sj.Grid(2, 2)
        assert running.interval == pytest.approx(1.0, rel=0.01)
        assert found.question.demand.rates.left == pytest.approx(500, rel=0.01)
        assert found.output_rate == pytest.approx(21 * 500, rel=0.5)
        assert found.now is not None
        assert found.now.seconds == pytest.approx(running.seconds, rel=0.01)  # the constants were scaled to it
        assert "Grid(2, 2)" in dict(found.list_lines())["Running"]
        with pytest.raises(sj.StreamJoinError, match="0 micro-batches of the join 'streamjoin'"):
            sj.advise(query)
        known._known.clear()
        with pytest.raises(sj.StreamJoinError, match="not built by this driver"):
            sj.advise(query, name="asked")
    finally:
        query.stop()  # type: ignore[attr-defined]


def test_a_query_that_reduces_is_no_join_that_the_model_knows(spark: SparkSession) -> None:
    query: object = run(spark, "counted", counts=True)
    try:
        while len([p for p in query.recentProgress if p["numInputRows"]]) < 4:  # type: ignore[attr-defined]
            assert query.isActive  # type: ignore[attr-defined]
        with pytest.raises(sj.StreamJoinError, match="query: 'counted' reduces what its rows meet"):
            sj.advise(query, name="counted", calibration="none")
    finally:
        query.stop()  # type: ignore[attr-defined]


def test_a_trial_times_the_micro_batches_that_it_is_asked_for(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reports of four micro-batches: one that fills the windows, one that is left out, two that are timed."""
    seen: list[list[float]] = []

    def read(query: StreamingQuery) -> list[Progress]:
        reports = read_all_progress(query)
        seen.append([report.seconds for report in reports])
        return reports

    monkeypatch.setattr(trial, "read_all_progress", read)
    took = trial.time_batches(spark, BANDS, rate=200, values=50, window=2, step=1, batches=2)
    assert len(seen[0]) >= 4
    assert took == pytest.approx(sum(seen[0][-2:]) / 2)


def test_streams_cannot_be_sampled(spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load()
    with pytest.raises(sj.StreamJoinError, match="of which no sample can be taken"):
        sj.advise(stream, stream, on=["value"], window=sj.within("1 s"), time="timestamp")
