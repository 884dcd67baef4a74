"""``streamjoin run``: two directories joined as streams into a third."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType
from rich.console import Console

from streamjoin.cli.display import Monitor, matches_found, si
from streamjoin.cli.quiet import reason
from streamjoin.errors import StreamJoinError
from streamjoin.join import explain, join
from streamjoin.window import Window

FORMATS = ("parquet", "csv", "json", "orc")
_INFERRING = {"csv": {"header": "true", "inferSchema": "true"}, "json": {"inferTimestamp": "true"}}


@dataclass(frozen=True)
class FileJoin:
    """What to join, and where to put it."""

    left: str
    right: str
    out: str
    format: str
    checkpoint: str | None
    schemas: tuple[str | None, str | None]
    arguments: dict[str, Any]
    once: bool
    trigger: str

    def frames(self, spark: SparkSession, console: Console) -> tuple[DataFrame, DataFrame]:
        """Both directories as streams; their schemas are shown."""
        left, right = (
            self._stream(spark, console, named, path, given)
            for named, path, given in zip(("left", "right"), (self.left, self.right), self.schemas, strict=True)
        )
        return left, right

    def explain(self, spark: SparkSession, console: Console) -> None:
        """Print the plan."""
        console.print(str(explain(*self.frames(spark, console), **self.arguments)), highlight=False, soft_wrap=True)

    def run(self, spark: SparkSession, console: Console, interrupted: Callable[[], bool]) -> None:
        """Run until all is processed (`once`) or until interrupted."""
        result = join(*self.frames(spark, console), **self.arguments)
        checkpoint = self.checkpoint or str(Path(self.out) / "_checkpoint")
        writer = result.writeStream.format(self.format).option("checkpointLocation", checkpoint)
        if self.format == "csv":
            writer = writer.option("header", "true")
        writer = writer.trigger(availableNow=True) if self.once else writer.trigger(processingTime=self.trigger)
        query = writer.start(self.out)
        monitor = Monitor(query, "streamjoin", console, f"{self.left} x {self.right} -> {self.out}")
        try:
            monitor.follow(interrupted)
        finally:
            query.stop()
            matches = sum(p.matches for p in monitor.seen)
            rows = sum(p.rows_left + p.rows_right for p in monitor.seen)
            late = sum(p.late_left + p.late_right for p in monitor.seen)
            noted = f", {late} late rows dropped" if late else ""
            done = f"{si(rows)} rows in, {matches_found(matches)} found{noted}; results in {self.out}"
            console.print(done, highlight=False, soft_wrap=True)

    def _stream(self, spark: SparkSession, console: Console, named: str, path: str, given: str | None) -> DataFrame:
        try:
            schema = _parsed(given) if given else self._inferred(spark, path)
        except AnalysisException as error:
            raise StreamJoinError(f"--{named}: cannot read {path} as {self.format}: {reason(error)}") from error
        columns = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in schema.fields)
        console.print(f"{named:<5} {path}: {columns}", highlight=False, soft_wrap=True)
        reader = spark.readStream.format(self.format).schema(schema)
        return reader.options(header="true").load(path) if self.format == "csv" else reader.load(path)

    def _inferred(self, spark: SparkSession, path: str) -> StructType:
        return spark.read.format(self.format).options(**_INFERRING.get(self.format, {})).load(path).schema


def _parsed(ddl: str) -> StructType:
    schema = StructType.fromDDL(ddl)
    assert isinstance(schema, StructType)
    return schema


def window_of(within_: str | None, between_: tuple[str, str] | None, tumbling_: str | None) -> Window | None:
    """The one window that was given, or None."""
    from streamjoin.window import between, tumbling, within

    given = [name for name, v in (("within", within_), ("between", between_), ("tumbling", tumbling_)) if v]
    if len(given) > 1:
        raise StreamJoinError(f"--{given[0]} and --{given[1]}: expected one window")
    if within_:
        return within(within_)
    if between_:
        return between(*between_)
    return tumbling(tumbling_) if tumbling_ else None
