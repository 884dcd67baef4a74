"""What a join costs between Kafka and Kafka: Kafka -> join -> Kafka beside Kafka -> Kafka of the same rows.

The papers' benchmark lies in two topics of a broker of its own, JSON values in two partitions each. Contestants take
turns; each reads the same micro-batches as fast as it can. Needs a Spark whose connector is on Maven, and mvn:

    .venv-spark-4.0.0/bin/python benchmarks/spark/kafka.py --rate 4000
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]

import pyspark
from bench import Median, report
from pyspark.sql import DataFrame, SparkSession
from replay import Replay, through

import streamjoin as sj
from streamjoin.cli.workload import ON
from tests.spark.broker import broker

PARTITIONS = 2
DELAY = "1 second"
"""The partitions of a topic are read evenly, but for a row."""

COLUMNS = {"left": "ts TIMESTAMP, x INT, y FLOAT, id BIGINT", "right": "ts TIMESTAMP, a INT, b FLOAT, id BIGINT"}


class Topics(Replay):
    """Rows of a rate in two topics; a micro-batch takes up `step` seconds of both, from the first one on."""

    def __init__(self, spark: SparkSession, servers: str, rate: float, window: float, step: float, batches: int):
        super().__init__(rate, window, step, batches)
        self.url, self.window = f"kafka://{servers}/{uuid4().hex}", window
        self.unmeasured = round(window / step) + 1
        for side, columns in COLUMNS.items():
            rows = spark.read.schema(columns).parquet(str(self.home / side)).repartition(1).sortWithinPartitions("ts")
            records = rows.selectExpr(
                "to_json(struct(*), map('timestampFormat', \"yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX\")) AS value",
                f"int(id % {PARTITIONS}) AS partition",
            )
            writer = records.write.format("kafka").option("kafka.bootstrap.servers", servers)
            writer.option("topic", self.url.rpartition("/")[2] + side).save()

    def stream(self, spark: SparkSession, side: str) -> DataFrame:
        limit = {"maxOffsetsPerTrigger": str(round(self.rate * self.step))}
        return sj.kafka.read(spark, self.url + side, schema=COLUMNS[side], options=limit)

    def join(self, spark: SparkSession) -> DataFrame:
        left, right = (self.stream(spark, side) for side in COLUMNS)
        kept = sj.within(f"{self.window:g} seconds")
        return sj.join(left, right, on=ON, window=kept, time="ts", delay=DELAY, result_id=True)


def pass_through(spark: SparkSession, topics: Topics) -> Any:
    return sj.kafka.write(through(spark, topics, topics.window), f"{topics.url}-{uuid4().hex}")


def join_only(spark: SparkSession, topics: Topics) -> Any:
    return topics.join(spark).writeStream.format("noop")


def join_between(spark: SparkSession, topics: Topics) -> Any:
    return sj.kafka.write(topics.join(spark), f"{topics.url}-{uuid4().hex}")


CONTESTANTS: dict[str, Callable[[SparkSession, Topics], Any]] = {
    "Kafka -> Kafka": pass_through,
    "Kafka -> join": join_only,
    "Kafka -> join -> Kafka": join_between,
}


class Throughput(NamedTuple):
    """Rows that came in and that went out, a second of the measured micro-batches."""

    rows: float
    written: float


def run(spark: SparkSession, topics: Topics, contestant: Callable[[SparkSession, Topics], Any]) -> Throughput:
    """All micro-batches; those count that find full windows, but for the first."""
    with tempfile.TemporaryDirectory(prefix="streamjoin-bench-") as checkpoint:
        writer = contestant(spark, topics).option("checkpointLocation", checkpoint)
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        reports = [p for p in query.recentProgress if p["numInputRows"] > 0]
    measured = reports[topics.unmeasured : topics.unmeasured + topics.batches - 1]
    joins = [p["observedMetrics"]["streamjoin"] for p in measured if "streamjoin" in p["observedMetrics"]]
    if any(found["late_left"] + found["late_right"] for found in joins):
        raise AssertionError("rows came late: the micro-batches are not those that were asked for")
    seconds = sum(p["durationMs"]["triggerExecution"] for p in measured) / 1000
    rows = sum(p["numInputRows"] for p in measured)
    return Throughput(rows / seconds, (sum(found["matches"] for found in joins) if joins else rows) / seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, nargs="+", default=[4000], help="rows a second and stream")
    parser.add_argument("--window", type=float, default=60)
    parser.add_argument("--step", type=float, default=10, help="seconds of event time in a micro-batch")
    parser.add_argument("--batches", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    rows: list[list[object]] = []
    with tempfile.TemporaryDirectory(prefix="streamjoin-bench-") as home, broker(Path(home)) as places:
        conf = {"spark.sql.session.timeZone": "UTC", "spark.driver.memory": "6g"}
        spark = sj.session("benchmark", master="local[2]", partitions=2, conf=conf, packages=["kafka"])
        for rate in options.rate:
            topics = Topics(spark, places.plain, rate, options.window, options.step, options.batches)
            rows += compare(spark, topics, options.rounds)
        spark.stop()
    about = (
        f"The papers' benchmark, {options.window:g} s windows, JSON values in topics of {PARTITIONS} partitions; Spark "
        f"{pyspark.__version__} on local[2], the broker on the same two cores. As fast as it goes, in micro-batches of "
        f"{options.step:g} s of event time with full windows: rows of both streams read, and rows or results written, "
        f"a second of the clock; median of {options.rounds} runs in turns. `Kafka -> Kafka` reads the same values into "
        "the same columns and writes them; `Kafka -> join` has a sink that takes results and does nothing."
    )
    header = ["rows/s and stream", "contestant", "rows/s read", "rows/s written", "times the pace", "to Kafka -> Kafka"]
    report("spark-kafka", about, header, rows)


def compare(spark: SparkSession, topics: Topics, rounds: int) -> list[list[object]]:
    found: dict[str, list[Throughput]] = {name: [] for name in CONTESTANTS}
    for number in range(rounds):
        for name, contestant in CONTESTANTS.items():
            found[name].append(run(spark, topics, contestant))
            print(f"  {topics.rate:g} rows/s, {number}: {name}: {found[name][-1]}", flush=True)
    rates = {name: Median.of(each.rows for each in runs) for name, runs in found.items()}
    return [
        [
            topics.rate,
            name,
            rate,
            Median.of(each.written for each in found[name]) if name != "Kafka -> join" else "",
            float(rate / (2 * topics.rate)),
            float(rate / rates["Kafka -> Kafka"]),
        ]
        for name, rate in rates.items()
    ]


if __name__ == "__main__":
    main()
