"""What the benchmarks on Spark share: rows as files, replayed as fast as they can be processed, and the contestants.

First the windows are filled in large micro-batches, then come those that are measured. Event seconds per wall second,
median over the measured batches, say how much faster than the clock a rate was processed; 1 or more is sustained.
"""

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from bench import Median
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.readwriter import DataStreamWriter

import streamjoin as sj
from streamjoin.cli.workload import EPOCH, ON, VALUES
from streamjoin.layout import Layout

FILL_SECONDS = 60
HOT_ON = "l.x = r.a AND abs(l.y - r.b) <= 1"
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
STORES = {"rocksdb": _ROCKSDB, "hdfs": _ROCKSDB.replace("RocksDB", "HDFSBacked")}


class Replay:
    """Rows of both sides as files, one a micro-batch: `fill` seconds in large ones, then `batches` of `step` seconds.

    With `hot`, that share of the rows has the value 0 in its first column, the others one of a million.
    """

    def __init__(self, rate: float, fill: float, step: float, batches: int, hot: float = 0.0) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="streamjoin-bench-"))
        self.rate, self.step, self.batches, self.hot = rate, step, batches, hot
        self.fills = max(1, round(fill / FILL_SECONDS))
        lengths = [fill / self.fills] * self.fills + [step] * batches
        for side in ("left", "right"):
            (self.home / side).mkdir()
            for number, length in enumerate(lengths):
                draft = self.home / side / f".{number:04}"
                pq.write_table(self._rows(side, number, sum(lengths[:number]), length), draft)
                os.utime(draft, (number, 1_700_000_000 + number))  # Spark takes the oldest file first
                draft.rename(self.home / side / f"{number:04}.parquet")

    def _rows(self, side: str, number: int, start: float, length: float) -> pa.Table:
        rng = np.random.default_rng([number, side == "left"])
        count = round(self.rate * length)
        times = EPOCH + np.sort((start + rng.random(count) * length) * 1e6).astype(np.int64)
        first = rng.integers(1, VALUES + 1, count, np.int32)
        if self.hot:
            first = np.where(rng.random(count) < self.hot, 0, rng.integers(1, 1_000_000, count)).astype(np.int32)
        columns = ("x", "y") if side == "left" else ("a", "b")
        return pa.table(
            {
                "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
                columns[0]: first,
                columns[1]: rng.uniform(1, VALUES, count).astype(np.float32),
                "id": np.arange(count, dtype=np.int64) + number * 10_000_000,
            }
        )

    def stream(self, spark: SparkSession, side: str) -> DataFrame:
        columns = "x int, y float" if side == "left" else "a int, b float"
        reader = spark.readStream.schema(f"ts timestamp, {columns}, id long").option("maxFilesPerTrigger", 1)
        return reader.parquet(str(self.home / side))


Contestant = Callable[[SparkSession, Replay, float], DataFrame]


def ours(
    layout: Layout | str = "auto", on: str = ON, how: str = "inner", ordered: bool = False, counts: bool = False
) -> Contestant:
    """Our join; with `counts` in a window of as many rows as come in the window's seconds."""

    def build(spark: SparkSession, replay: Replay, window: float) -> DataFrame:
        left, right = replay.stream(spark, "left"), replay.stream(spark, "right")
        kept = sj.last(round(window * replay.rate)) if counts else sj.within(f"{window} seconds")
        options = {"delay": "0 seconds", "layout": layout, "how": how, "ordered": ordered}
        return sj.join(left, right, on=on, window=kept, time="ts", **options)

    return build


def native(spark: SparkSession, replay: Replay, window: float) -> DataFrame:
    """Spark's own join as an expert writes it: a left row goes into the one or two buckets that its band touches."""
    left, right = _watermarked(spark, replay)
    buckets = "explode(array_distinct(array(floor((x - 10) / 20), floor((x + 10) / 20)))) AS bucket"
    left, right = left.selectExpr("*", buckets).alias("l"), right.selectExpr("*", "floor(a / 20) AS bucket").alias("r")
    joined = left.join(right, on=F.expr(f"l.bucket = r.bucket AND {ON} AND {_nearby(window)}"))
    return joined.selectExpr("l.*", "r.ts AS ts_r", "r.a", "r.b", "r.id AS id_r").drop("bucket")


def native_hot(spark: SparkSession, replay: Replay, window: float) -> DataFrame:
    """Spark's own join on an equality and a band."""
    left, right = _watermarked(spark, replay)
    return left.alias("l").join(right.alias("r"), on=F.expr(f"{HOT_ON} AND {_nearby(window)}"))


def through(spark: SparkSession, replay: Replay, window: float) -> DataFrame:
    """Spark moving the same rows from the same source to the same sink."""
    del window
    left = replay.stream(spark, "left").withColumnsRenamed({"x": "a", "y": "b"})
    return left.union(replay.stream(spark, "right"))


def _watermarked(spark: SparkSession, replay: Replay) -> tuple[DataFrame, DataFrame]:
    return tuple(replay.stream(spark, side).withWatermark("ts", "0 seconds") for side in ("left", "right"))  # type: ignore[return-value]


def _nearby(window: float) -> str:
    return f"r.ts BETWEEN l.ts - INTERVAL {window:g} SECONDS AND l.ts + INTERVAL {window:g} SECONDS"


@contextmanager
def state_store(spark: SparkSession, store: str) -> Iterator[None]:
    """This state store for a query that starts inside; the join's own settings afterwards."""
    prefix = "spark.sql.streaming.stateStore"
    spark.conf.set(f"{prefix}.providerClass", STORES[store])
    spark.conf.set(f"{prefix}.checkpointFormatVersion", 2 if store == "rocksdb" else 1)  # all that the other knows
    try:
        yield
    finally:
        spark.conf.set(f"{prefix}.providerClass", STORES["rocksdb"])
        spark.conf.set(f"{prefix}.checkpointFormatVersion", 2)


@dataclass(frozen=True)
class Pace:
    """How a contestant did: event seconds per second, CPU seconds per million rows, progress of the measured batches.

    `python_per_million` is the part of Python's processes; Java compiles while it runs, and that varies.
    """

    speed: float
    cpu_per_million: float
    python_per_million: float
    batches: list[dict[str, Any]]

    def median(self, figure: Callable[[dict[str, Any]], float]) -> Median:
        return Median.of(float(figure(progress)) for progress in self.batches)


def pace(
    spark: SparkSession,
    contestant: Contestant,
    rate: float,
    window: float,
    step: float = 10,
    batches: int = 5,
    hot: float = 0.0,
    patience: float = 600,
    meanwhile: Callable[[], None] = lambda: None,
    into: Callable[[DataFrame], DataStreamWriter] = lambda frame: frame.writeStream.format("noop"),
) -> Pace:
    """Replay rows of this rate to a contestant; one that needs more than `patience` seconds is taken not to keep up."""
    replay = Replay(rate, window, step, batches, hot)
    checkpoint = replay.home / "checkpoint"
    frame = contestant(spark, replay, window)
    query = into(frame).option("checkpointLocation", str(checkpoint)).start()
    started, full_at, cpu_then = time.monotonic(), None, (0.0, 0.0)
    reports: list[dict[str, Any]] = []
    while query.isActive and len(reports) < replay.fills + batches and time.monotonic() - started < patience:
        reports = [p for p in query.recentProgress if p["numInputRows"] > 0]
        if len(reports) >= replay.fills and full_at is None:
            full_at, cpu_then = len(reports), _cpu_seconds()
        meanwhile()
        time.sleep(0.1)
    spent = [now - then for now, then in zip(_cpu_seconds(), cpu_then, strict=True)]
    if error := query.exception():
        raise error
    query.stop()
    shutil.rmtree(replay.home, ignore_errors=True)
    measured = reports[replay.fills + 1 :]
    if not measured:
        return Pace(0.0, float("nan"), float("nan"), [])
    speed = Median.of(step / (p["durationMs"]["triggerExecution"] / 1000) for p in measured)
    java, python = (part / sum(p["numInputRows"] for p in reports[full_at:]) * 1e6 for part in spent)
    return Pace(speed, java + python, python, measured)


def _cpu_seconds() -> tuple[float, float]:
    """The CPU time of this process and all below it: Java's, Python's."""
    java = python = 0.0
    for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
        try:
            times = process.cpu_times()
            name = process.name()
        except psutil.NoSuchProcess:
            continue
        if name == "java":
            java += times.user + times.system
        else:
            python += times.user + times.system
    return java, python


def largest(try_rate: Callable[[float], Pace], start: float, tries: int = 4) -> tuple[float, Pace]:
    """The largest rate found to be sustained, and how it went: 0 if none was.

    A join's work grows with the square of the rate at most, so the root of the speed tells the next rate to try.
    """
    best, rate = (0.0, Pace(0.0, float("nan"), float("nan"), [])), start
    too_much = float("inf")
    for _ in range(tries):
        found = try_rate(rate)
        cost = f"{found.cpu_per_million:.1f} CPU s per M rows"
        print(f"    {rate:,.0f} rows/s: {found.speed:.2f} event s per s, {cost}", flush=True)
        if found.speed >= 1:
            best = max(best, (rate, found), key=lambda pair: pair[0])
        else:
            too_much = min(too_much, rate)
        following = rate * min(max(found.speed, 0.25) ** 0.5, 3) * 0.98
        halfway = (best[0] + too_much) / 2 if best[0] else too_much
        grain = 50 if rate > 1000 else 10
        rate = max(grain, round(min(following, halfway) / grain) * grain)
        if rate <= best[0] * 1.04 or rate >= too_much:
            break
    return best


def session() -> SparkSession:
    return sj.session(
        "benchmark",
        master="local[2]",
        partitions=2,
        conf={"spark.sql.session.timeZone": "UTC", "spark.driver.memory": "6g"},
    )
