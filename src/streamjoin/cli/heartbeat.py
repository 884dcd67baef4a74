"""Rows of ours that only move the watermark: with them ``run --flush`` emits the rows that wait unmatched.

Spark's watermark follows the latest row of a stream, so beside the rows of each directory there is a small stream of
times, kept in the checkpoint. Its rows are dropped once the watermark has seen them. Without a flush it has none.
"""

from dataclasses import dataclass

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import TimestampType

from streamjoin.spec.duration import microseconds
from streamjoin.sql.select import quote_path

_BEAT = "__streamjoin_beat"
_SCHEMA = "micros bigint"


@dataclass(frozen=True)
class Heartbeat:
    """The stream of times in a directory."""

    directory: str

    def prepare(self, spark: SparkSession) -> None:
        """Make the directory, if it is not there."""
        try:
            spark.read.schema(_SCHEMA).parquet(self.directory)
        except AnalysisException:
            spark.createDataFrame([], _SCHEMA).write.parquet(self.directory)

    def beat(self, spark: SparkSession, micros: int) -> None:
        """Move on the watermark of every stream that has this heartbeat."""
        spark.createDataFrame([(micros,)], _SCHEMA).coalesce(1).write.mode("append").parquet(self.directory)

    def beside(self, spark: SparkSession, frame: DataFrame, time: str, delay: str) -> DataFrame:
        """A stream with its watermark, which follows this heartbeat too; as it was if its time is not zoned."""
        if (found := find_zoned(frame, time)) is None:
            return frame
        name = quote_path([found])
        beats = spark.readStream.schema(_SCHEMA).parquet(self.directory)
        beats = beats.selectExpr(f"timestamp_micros(micros) AS {name}", f"true AS {_BEAT}")
        both = frame.withColumn(_BEAT, F.lit(False)).unionByName(beats, allowMissingColumns=True)
        marked = both.withWatermark(name, f"{-(-microseconds(delay, 'delay') // 1000)} milliseconds")
        # A filter that speaks of the time stays above the watermark.
        return marked.where(f"CASE WHEN {_BEAT} THEN {name} IS NULL ELSE true END").drop(_BEAT)


def find_zoned(frame: DataFrame, time: str) -> str | None:
    """The column of this name, if there is one and it is a zoned timestamp."""
    fields = [field for field in frame.schema.fields if field.name.lower() == time.lower()]
    return fields[0].name if fields and isinstance(fields[0].dataType, TimestampType) else None
