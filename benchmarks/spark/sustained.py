"""Which rates a join sustains on this machine: ours, Spark's own with the bucket trick, and Spark moving the same rows.

The papers' benchmark, replayed as fast as it can be processed from Parquet files that were written beforehand: first
the windows are filled in large micro-batches, then come those that are measured. Event seconds per wall second, median
over the measured batches, say how much faster than the clock a rate was processed; 1 or more is sustained. For each
contestant rates are tried upwards until one is not sustained.

    python benchmarks/spark/sustained.py --window 300 --ours 4000 8000 12000 --native 600 800 1000
"""

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench import report

import streamjoin as sj
from streamjoin.cli.workload import EPOCH, ON, VALUES

FILL_SECONDS = 60
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
STORES = {"rocksdb": ROCKSDB, "hdfs": ROCKSDB.replace("RocksDB", "HDFSBacked")}


class Replay:
    """Rows of both sides as files, one a micro-batch: `fill` seconds in large ones, then `batches` of `step` seconds.

    With `hot`, that share of the rows has the value 0 in its first column.
    """

    def __init__(self, home: Path, rate: float, fill: float, step: float, batches: int, hot: float = 0.0) -> None:
        self.home = Path(tempfile.mkdtemp(dir=home))
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


def ours(spark: SparkSession, replay: Replay, window: float, on: str = ON) -> DataFrame:
    left, right = replay.stream(spark, "left"), replay.stream(spark, "right")
    return sj.join(left, right, on=on, window=sj.within(f"{window} seconds"), time="ts", delay="0 seconds")


def native(spark: SparkSession, replay: Replay, window: float) -> DataFrame:
    """Spark's own join as an expert writes it: a left row goes into the one or two buckets that its band touches."""
    left = replay.stream(spark, "left").withWatermark("ts", "0 seconds").alias("l")
    right = replay.stream(spark, "right").withWatermark("ts", "0 seconds").alias("r")
    buckets = "explode(array_distinct(array(floor((x - 10) / 20), floor((x + 10) / 20)))) AS bucket"
    left, right = left.selectExpr("*", buckets).alias("l"), right.selectExpr("*", "floor(a / 20) AS bucket").alias("r")
    time = f"r.ts BETWEEN l.ts - INTERVAL {window:g} SECONDS AND l.ts + INTERVAL {window:g} SECONDS"
    joined = left.join(right, on=F.expr(f"l.bucket = r.bucket AND {ON} AND {time}"))
    return joined.selectExpr("l.*", "r.ts AS ts_r", "r.a", "r.b", "r.id AS id_r").drop("bucket")


def native_equality(spark: SparkSession, replay: Replay, window: float) -> DataFrame:
    left = replay.stream(spark, "left").withWatermark("ts", "0 seconds").alias("l")
    right = replay.stream(spark, "right").withWatermark("ts", "0 seconds").alias("r")
    time = f"r.ts BETWEEN l.ts - INTERVAL {window:g} SECONDS AND l.ts + INTERVAL {window:g} SECONDS"
    return left.join(right, on=F.expr(f"l.x = r.a AND {time} AND abs(l.y - r.b) <= 1"))


def through(spark: SparkSession, replay: Replay, window: float) -> DataFrame:
    """Spark moving the same rows from the same source to the same sink."""
    del window
    left = replay.stream(spark, "left").withColumnsRenamed({"x": "a", "y": "b"})
    return left.union(replay.stream(spark, "right"))


def pace(frame: DataFrame, replay: Replay, patience: float) -> tuple[float, float]:
    """Event seconds per wall second, median over the measured batches, and CPU seconds per million input rows.

    A contestant that takes longer than `patience` for its batches is stopped: what it did is what counts.
    """
    checkpoint = tempfile.mkdtemp(prefix="bench-", dir=replay.home)
    query = frame.writeStream.format("noop").option("checkpointLocation", checkpoint).start()
    started, full_at, cpu_then = time.monotonic(), None, 0.0
    while query.isActive and time.monotonic() - started < patience:
        done = len([p for p in query.recentProgress if p["numInputRows"] > 0])
        if done >= replay.fills and full_at is None:
            full_at, cpu_then = done, _cpu_seconds()
        if done >= replay.fills + replay.batches:
            break
        time.sleep(0.05)
    spent = _cpu_seconds() - cpu_then
    reports = [p for p in query.recentProgress if p["numInputRows"] > 0]
    if error := query.exception():
        raise error
    query.stop()
    measured = [p for p in reports if p["batchId"] >= replay.fills][1:] or reports[-1:]
    if len(reports) < replay.fills + 1:
        return 0.0, float("nan")
    seconds = statistics.median(p["durationMs"]["triggerExecution"] / 1000 for p in measured)
    rows = sum(p["numInputRows"] for p in reports[full_at:]) or 1
    return replay.step / seconds, spent / rows * 1e6


def _cpu_seconds() -> float:
    """The CPU time of this process and all below it: Python, Java, Python workers."""
    me = psutil.Process()
    total = 0.0
    for process in [me, *me.children(recursive=True)]:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--window", type=float, nargs="+", default=[60, 300, 900])
    parser.add_argument("--ours", type=float, nargs="*", default=[5000, 8000, 12000])
    parser.add_argument("--native", type=float, nargs="*", default=[500, 800, 1000])
    parser.add_argument("--through", type=float, nargs="*", default=[8000])
    parser.add_argument("--step", type=float, default=10)
    parser.add_argument("--batches", type=int, default=7)
    parser.add_argument("--patience", type=float, default=400)
    parser.add_argument("--stores", nargs="*", default=["hdfs"], choices=list(STORES))
    parser.add_argument("--name", default="spark-sustained")
    options = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="streamjoin-bench-"))
    spark = sj.session("benchmark", master="local[2]", partitions=2, conf={"spark.sql.session.timeZone": "UTC"})
    contestants = [
        ("streamjoin", ours, options.ours, ROCKSDB),
        ("Spark moves the rows", through, options.through, ROCKSDB),
        *((f"Spark's join, {store}", native, options.native, STORES[store]) for store in options.stores),
    ]
    rows = []
    try:
        for window in options.window:
            for name, build, rates, store in contestants:
                for rate in rates:
                    replay = Replay(home, rate, window, options.step, options.batches)
                    spark.conf.set("spark.sql.streaming.stateStore.providerClass", store)
                    version = 2 if store == ROCKSDB else 1  # all that the other store knows
                    spark.conf.set("spark.sql.streaming.stateStore.checkpointFormatVersion", version)
                    speed, cpu = pace(build(spark, replay, window), replay, options.patience)
                    shutil.rmtree(replay.home, ignore_errors=True)
                    rows.append([f"{window:g} s", name, rate, speed, "yes" if speed >= 1 else "no", cpu])
                    print(rows[-1], flush=True)
                    if speed < 1:
                        break
    finally:
        spark.stop()
        shutil.rmtree(home, ignore_errors=True)
    about = (
        f"The papers' benchmark on local[2], noop sink, batches of {options.step:g} s of event time, full windows. "
        "Rates are rows per second and stream; event seconds per second of 1 or more are sustained."
    )
    header = ["window", "contestant", "rate", "event s per s", "sustained", "CPU s per M rows"]
    report(options.name, about, header, rows)


if __name__ == "__main__":
    main()
