"""What a micro-batch costs that has next to nothing to do, taken apart, under settings tried in turns.

One row a side and batch, from a source that costs nothing. `plain` is Spark as it comes, with what the join cannot do
without; the others add settings to it, `session` all those that `streamjoin.session()` makes.

    python benchmarks/spark/empty_batch.py --batches 40 --rounds 3
"""

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench import Median, report

import streamjoin as sj
from streamjoin.cli.workload import ON
from streamjoin.spark.settings import LOCAL_FILES

WARM_UP = 8
VARIANTS: dict[str, dict[str, str]] = {"plain": {}, "session": LOCAL_FILES}
PARTS = {
    "whole": lambda p: p["durationMs"]["triggerExecution"],
    "planning": lambda p: p["durationMs"]["queryPlanning"],
    "offset log": lambda p: p["durationMs"]["walCommit"],
    "commit log": lambda p: p["durationMs"]["commitOffsets"],
    "job": lambda p: p["durationMs"]["addBatch"],
    "state load": lambda p: _state(p)["customMetrics"]["rocksdbLoadLatencyMs"] / 2,
    "state commit": lambda p: _state(p)["commitTimeMs"] / 2,
    "cells' Python": lambda p: p["observedMetrics"]["streamjoin"]["worker_seconds"] * 1000 / 2,
}
"""Milliseconds of each part; what two tasks did side by side is halved."""


def _state(progress: dict[str, Any]) -> dict[str, Any]:
    return progress["stateOperators"][0]


def source(spark: SparkSession, first: str, second: str) -> DataFrame:
    options = {
        "rowsPerBatch": 1,
        "numPartitions": 1,
        "startTimestamp": 1_700_000_000_000,
        "advanceMillisPerBatch": 1000,
    }
    rows = spark.readStream.format("rate-micro-batch").options(**options).load()
    return rows.selectExpr("timestamp AS ts", f"int(value) AS {first}", f"float(value) AS {second}")


def run(spark: SparkSession, batches: int) -> list[dict[str, Any]]:
    """The progress of a join's batches, without the first ones."""
    left, right = source(spark, "x", "y"), source(spark, "a", "b")
    joined = sj.join(left, right, on=ON, window=sj.within("60 seconds"), time="ts", delay="0 seconds")
    checkpoint = tempfile.mkdtemp(prefix="streamjoin-bench-")
    query = joined.writeStream.format("noop").option("checkpointLocation", checkpoint).start()
    while query.isActive and len(query.recentProgress) < batches + WARM_UP:
        time.sleep(0.05)
    query.stop()
    if error := query.exception():
        raise error
    shutil.rmtree(checkpoint, ignore_errors=True)
    return query.recentProgress[WARM_UP : batches + WARM_UP]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--variant", action="append", default=[], metavar="NAME:KEY=VALUE,...", help="settings to try")
    options = parser.parse_args()
    variants = VARIANTS | {
        name: dict(pair.split("=", 1) for pair in pairs.split(","))
        for name, pairs in (said.split(":", 1) for said in options.variant)
    }
    spark = sj.session("benchmark", master="local[2]", partitions=2)
    run(spark, options.batches)  # Java compiles what is used often
    seen: dict[str, list[dict[str, Any]]] = {name: [] for name in variants}
    for _ in range(options.rounds):
        for name, settings in variants.items():
            for key in {key for settings in variants.values() for key in settings}:
                spark.conf.unset(key)
            for key, value in settings.items():
                spark.conf.set(key, value)
            seen[name] += run(spark, options.batches)
    spark.stop()
    rows = [
        [name, *(Median.of(float(part(progress)) for progress in found) for part in PARTS.values())]
        for name, found in seen.items()
    ]
    about = (
        "Milliseconds of a micro-batch with one row a side, medians, two cells on local[2]. State load, state commit "
        "and the cells' Python are parts of the job and run side by side in two tasks."
    )
    report("spark-empty-batch", about, ["settings", *PARTS], rows)


if __name__ == "__main__":
    main()
