"""Small joins on a local Spark whose micro-batches are timed, for ``streamjoin advise --calibrate``."""

import os
import statistics
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from streamjoin.layout import Grid
from streamjoin.spark.build import plan
from streamjoin.spark.progress import read_all_progress
from streamjoin.spec.window import within


def time_batches(
    spark: SparkSession, on: str, rate: float, values: int, window: float, step: float, batches: int
) -> float:
    """Median seconds of so many micro-batches with `step` seconds of two streams of this rate, the windows full."""
    with tempfile.TemporaryDirectory(prefix="streamjoin-trial-", ignore_cleanup_errors=True) as home:
        for side in ("left", "right"):
            (Path(home) / side).mkdir()
            _write(Path(home) / side, 0, 0.0, window, rate, values)
            for number in range(1, batches + 2):
                _write(Path(home) / side, number, window + (number - 1) * step, step, rate, values)
        left, right = (
            spark.readStream.schema("ts timestamp, x int, y int, id bigint")
            .option("maxFilesPerTrigger", 1)
            .parquet(f"{home}/{side}")
            for side in ("left", "right")
        )
        result = plan(
            left=left, right=right, on=on, window=within(f"{window} seconds"), how="inner", time=("ts", "ts"),
            delay=("0 seconds", "0 seconds"), select=["l.id", "r.id AS other"], layout=Grid(1, 2),
            suffixes=("_l", "_r"), name="streamjoin",
        ).result()  # fmt: skip
        writer = result.writeStream.format("noop").option("checkpointLocation", f"{home}/checkpoint")
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        return statistics.median(report.seconds for report in read_all_progress(query)[-batches:])


def _write(directory: Path, number: int, start: float, length: float, rate: float, values: int) -> None:
    rng = np.random.default_rng([number, directory.name == "left"])
    count = round(rate * length)
    times = np.sort((start + rng.random(count) * length) * 1e6).astype(np.int64)
    table = pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
            "x": rng.integers(0, values, count, np.int32),
            "y": rng.integers(0, values, count, np.int32),
            "id": np.arange(count, dtype=np.int64) + number * 10_000_000,
        }
    )
    draft = directory / f".{number}"
    pq.write_table(table, draft)
    os.utime(draft, (number, 1_700_000_000 + number))  # Spark takes the oldest file first
    draft.rename(directory / f"{number}.parquet")
