"""What contestants on Spark share: the task's rows as files, one a micro-batch, and the time of the batches."""

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import streamjoin as sj
from benchmarks.peers.peer import Outcome, Task

COLUMNS = {"l": "ts timestamp, x int, y float, z string", "r": "ts timestamp, a int, b float, c double, d boolean"}
WARM = 2
"""Batches after the fill that are not timed: Java compiles while they run."""

Build = Callable[[DataFrame, DataFrame, Task], DataFrame]


def measure(task: Task, build: Build, together: int) -> Outcome:
    """Rows/s of one stream: median of the micro-batches, each of so many steps `together`."""
    with tempfile.TemporaryDirectory(prefix="streamjoin-bench-", ignore_cleanup_errors=True) as scratch:
        batches = _write(task, Path(scratch), together)
        cores = os.cpu_count() or 1
        conf = {"spark.sql.session.timeZone": "UTC", "spark.ui.enabled": "false"}
        spark = SparkSession.getActiveSession()  # contestants share one: Java has compiled what it compiles
        spark = spark or sj.session("peers", master=f"local[{cores}]", partitions=cores, conf=conf)
        left, right = (_read(spark, Path(scratch), side) for side in ("l", "r"))
        frame = build(left, right, task).observe("peers", F.count(F.lit(1)).alias("results"))
        writer = frame.writeStream.format("noop").option("checkpointLocation", f"{scratch}/checkpoint")
        query, begun, reports = writer.start(), time.monotonic(), []
        try:
            while query.isActive and len(reports) < batches and time.monotonic() - begun < task.patience:
                reports = [p for p in query.recentProgress if p["numInputRows"] > 0]
                time.sleep(0.05)
            if error := query.exception():
                raise error
        finally:
            query.stop()
        if len(reports) < batches:
            return Outcome(skipped=f"{len(reports)} of {batches} micro-batches within {task.patience:g} s")
        timed = reports[1 + WARM :]
        rates = [p["numInputRows"] / 2 / (p["durationMs"]["triggerExecution"] / 1000) for p in timed]
        return Outcome(statistics.median(rates), sum(_results(p) for p in reports[1:]))


def _results(progress: Any) -> int:
    return int(progress["observedMetrics"]["peers"]["results"])


def _write(task: Task, home: Path, together: int) -> int:
    groups = [task.steps[at : at + together] for at in range(0, len(task.steps), together)]
    for side in ("l", "r"):
        (home / side).mkdir()
        parts = [[task.fill[side]], *([each[side] for each in group] for group in groups)]
        for number, part in enumerate(parts):
            table = pa.Table.from_batches(part)
            times = table["ts"].cast(pa.timestamp("us", tz="UTC"))
            draft = home / side / f".{number:04}"
            pq.write_table(table.set_column(0, "ts", times), draft)
            os.utime(draft, (number, 1_700_000_000 + number))  # Spark takes the oldest file first
            draft.rename(home / side / f"{number:04}.parquet")
    return 1 + len(groups)


def _read(spark: SparkSession, home: Path, side: str) -> DataFrame:
    reader = spark.readStream.schema(COLUMNS[side]).option("maxFilesPerTrigger", 1)
    return reader.parquet(str(home / side))
