"""A program for `spark-submit`, in a Python that has streamjoin by what is shipped with it alone; it joins twice.

It prints, as JSON, where the driver and the tasks found streamjoin, and what was compiled after either query.
"""

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import streamjoin as sj


def find_compiled(cache: Path) -> dict[str, int]:
    """The files of compiled code; one that is written again is another file."""
    return {file.name: file.stat().st_ino for file in cache.glob("*.code")}


def join_files(spark: SparkSession, home: Path, name: str) -> None:
    left, right = (
        spark.readStream.schema("id BIGINT, ts TIMESTAMP, x INT").parquet(str(home / side))
        for side in ("left", "right")
    )
    near = {"on": "abs(l.x - r.x) <= 5", "window": sj.within("15 seconds"), "time": "ts", "delay": "10 seconds"}
    found = sj.join(left, right, select=["l.id AS l", "r.id AS r"], **near)
    writer = found.writeStream.option("checkpointLocation", str(home / f"checkpoint-{name}"))
    writer.trigger(availableNow=True).start(str(home / name)).awaitTermination()


def main(home: Path, cache: Path) -> None:
    spark = sj.session("shipped", partitions=2)
    tasks = spark.sparkContext.parallelize(range(4), 4).map(lambda _: __import__("streamjoin").__file__)
    found = {"driver": sj.__file__, "tasks": sorted(set(tasks.collect()))}
    compiled = []
    for name in ("first", "second"):
        join_files(spark, home, name)
        compiled.append(find_compiled(cache))
    print("shipped:", json.dumps({**found, "compiled": compiled}))  # noqa: T201
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
