"""Streams that replay chosen rows in chosen micro-batches, and queries that run to their end.

A stream is a directory with one Parquet file per micro-batch, read one file a trigger: batch k of every stream is in
micro-batch k, and a batch without rows is a file without rows. Times are whole microseconds, as in the reference.
"""

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr
from pyspark.sql.types import Row, StructType

from streamjoin.reference import Batch
from streamjoin.spark.compat import arrow_type

Rows = Sequence[Mapping[str, Any]]
EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)


# Sources


class Feed:
    """A directory of batches, given one by one; a timestamp may be a number of microseconds."""

    def __init__(self, directory: Path, schema: str) -> None:
        self.directory = directory
        self.schema = StructType.fromDDL(schema)
        self._arrow = pa.schema([(field.name, arrow_type(field.dataType, "UTC")) for field in self.schema.fields])
        self._count = 0
        directory.mkdir(parents=True)

    def add(self, rows: Rows) -> None:
        """One more micro-batch; a column that a row does not name is NULL."""
        table = pa.Table.from_pylist([dict(row) for row in rows], schema=self._arrow)
        draft = self.directory / f".{self._count:05}"
        pq.write_table(table, draft)
        os.utime(draft, (self._count, 1_700_000_000 + self._count))  # Spark takes the oldest file first
        draft.rename(self.directory / f"{self._count:05}.parquet")
        self._count += 1

    def stream(self, spark: SparkSession) -> DataFrame:
        return spark.readStream.schema(self.schema).option("maxFilesPerTrigger", 1).parquet(str(self.directory))

    def table(self, spark: SparkSession) -> DataFrame:
        """All batches at once, as a batch DataFrame."""
        return spark.read.schema(self.schema).parquet(str(self.directory))


def feed(directory: Path, schema: str, batches: Iterable[Rows]) -> Feed:
    """A feed that holds these batches."""
    found = Feed(directory / uuid4().hex, schema)
    for rows in batches:
        found.add(rows)
    return found


# Watermarks


def watermarks(sides: Sequence[Sequence[Rows]], delays: Sequence[int], time: str = "ts") -> list[int | None]:
    """What each micro-batch runs under by Spark's `min` policy, from the rows alone; in microseconds, as delays are.

    One more than there are batches: the last is what all rows together lead to. Spark counts whole milliseconds and
    knows no watermark until all streams have brought a row and the slowest is past 1970.
    """
    marks: list[int | None] = [None]
    for k in range(max(map(len, sides))):
        latest = [
            max((row[time] for rows in batches[: k + 1] for row in rows if row[time] is not None), default=None)
            for batches in sides
        ]
        if any(t is None for t in latest):
            marks.append(marks[-1])
            continue
        mark = min(t // 1000 * 1000 - delay for t, delay in zip(latest, delays, strict=True))
        marks.append(max(mark, marks[-1] or 0) or None)
    return marks


def batches(left: Sequence[Rows], right: Sequence[Rows], delay: int | tuple[int, int]) -> list[Batch]:
    """The micro-batches of two streams in step, as the reference takes them."""
    marks = watermarks((left, right), delay if isinstance(delay, tuple) else (delay, delay))
    return [Batch(*rows, watermark=mark) for *rows, mark in zip(left, right, marks, strict=False)]


# Queries


@dataclass(frozen=True)
class Run:
    """What a query did: its results, and the progress that Spark reported for each micro-batch."""

    rows: list[Row]
    progress: list[Any]

    @property
    def watermarks(self) -> list[int | None]:
        """The watermark that each micro-batch ran under, in microseconds."""
        marks = [micros(datetime.fromisoformat(p["eventTime"].get("watermark", "1970-01-01"))) for p in self.progress]
        return [mark or None for mark in marks]

    def metric(self, field: str, name: str = "streamjoin") -> list[int]:
        """A metric of a join in each micro-batch that reported it."""
        reported = [p["observedMetrics"][name] for p in self.progress if name in p["observedMetrics"]]
        return [row[field] for row in reported if row[field] is not None]


def run(frame: DataFrame, output_mode: str = "append", **options: str) -> Run:
    """Run a streaming query over all batches that there are, to the end."""
    name = f"run_{uuid4().hex}"
    writer = frame.writeStream.format("memory").queryName(name).outputMode(output_mode).options(**options)
    query = writer.trigger(availableNow=True).start()
    try:
        query.awaitTermination()
        return Run(frame.sparkSession.table(name).collect(), list(query.recentProgress))
    finally:
        query.stop()
        frame.sparkSession.catalog.dropTempView(name)


def spark_join(left: DataFrame, right: DataFrame, on: str, within: int) -> DataFrame:
    """What Spark's own batch join yields for rows at most so many microseconds apart."""
    near = f"abs(unix_micros(CAST(r.ts AS TIMESTAMP)) - unix_micros(CAST(l.ts AS TIMESTAMP))) <= {within}"
    pairs = left.alias("l").join(right.alias("r"), expr(f"({on}) AND {near}"))
    return pairs.selectExpr("l.*", "r.*", "greatest(CAST(l.ts AS TIMESTAMP), CAST(r.ts AS TIMESTAMP)) AS join_time")


def values(rows: Iterable[Row]) -> Counter[str]:
    """Rows in no order, each with its multiplicity; without names, and as text because NaN differs from itself."""
    return Counter(repr(tuple(row)) for row in rows)


def micros(time: datetime | None) -> int | None:
    """A time as Spark hands it to Python, in microseconds."""
    if time is None:
        return None
    return ((time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo else time) - EPOCH) // _MICROSECOND
