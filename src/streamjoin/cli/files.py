"""``streamjoin run``: two directories joined as streams into a third."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType
from rich.console import Console

from streamjoin.cli.display import Monitor
from streamjoin.cli.heartbeat import Heartbeat, find_zoned
from streamjoin.cli.quiet import reason
from streamjoin.cli.words import count
from streamjoin.errors import StreamJoinError
from streamjoin.join import explain, join
from streamjoin.spark.progress import Progress
from streamjoin.spec.duration import UNITS, microseconds
from streamjoin.spec.how import emits_unmatched, how_of
from streamjoin.spec.window import Both, Last, Window
from streamjoin.sql.select import quote_path

_MILLISECOND = UNITS["millisecond"]
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
    flush: bool
    trigger: str

    @property
    def _checkpoint(self) -> str:
        return self.checkpoint or str(Path(self.out) / "_checkpoint")

    @property
    def _header(self) -> dict[str, str]:
        return {"header": "true"} if self.format == "csv" else {}

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
        left, right = self.frames(spark, console)
        local = [t for frame, t in zip((left, right), self.arguments["time"], strict=True) if not find_zoned(frame, t)]
        if self.flush and local:
            raise StreamJoinError(f"--flush: the time {local[0]} is a local one; expected a timestamp with a zone")
        heartbeat = Heartbeat(f"{self._checkpoint}/flush")
        if waits(self.arguments):
            heartbeat.prepare(spark)
            sides = zip((left, right), self.arguments["time"], self.arguments["delay"], strict=True)
            left, right = (heartbeat.beside(spark, *side) for side in sides)
        result = join(left, right, **self.arguments)
        seen = self._follow(result, console, interrupted)
        if self.flush and not interrupted() and (end := self._end(spark, left, right)) is not None:
            heartbeat.beat(spark, end)
            seen += self._follow(result, console, interrupted)
        self._summarize(seen, console)

    def _follow(self, result: DataFrame, console: Console, interrupted: Callable[[], bool]) -> list[Progress]:
        """Run the query and show what it does."""
        writer = result.writeStream.format(self.format).options(**self._header, checkpointLocation=self._checkpoint)
        if self.once:
            writer = writer.trigger(availableNow=True)
        else:
            writer = writer.trigger(processingTime=_in_milliseconds(self.trigger))
        query = writer.start(self.out)
        monitor = Monitor(query, "streamjoin", console, f"{self.left} x {self.right} -> {self.out}")
        try:
            monitor.follow(interrupted)
        finally:
            query.stop()
        return monitor.seen

    def _summarize(self, seen: list[Progress], console: Console) -> None:
        rows = sum(p.rows_left + p.rows_right for p in seen)
        late = sum(p.late_left + p.late_right for p in seen)
        noted = f", {count(late, 'late row')} dropped" if late else ""
        found = count(sum(p.matches for p in seen), "match", "matches")
        said = [f"{count(rows, 'row')} in, {found} found{noted}; results in {self.out}"]
        if seen and (waiting := seen[-1].waiting_rows):
            said.append(
                f"{count(waiting, 'row is', 'rows are')} unmatched so far: emitted once the watermark has passed "
                "the last time a partner can have, or now with --once --flush (rows of their time that come "
                "afterwards are late)"
            )
        if seen and (held := seen[-1].held_rows):
            said.append(
                f"{count(held, 'row waits', 'rows wait')} for the watermark, so that all come in order: joined when "
                "later rows arrive, or now with --once --flush"
            )
        console.print("\n".join(said), highlight=False, soft_wrap=True)

    def _end(self, spark: SparkSession, left: DataFrame, right: DataFrame) -> int | None:
        """The time of a row that moves the watermark past the last time a partner can have."""
        latest = []
        for path, frame, time in zip((self.left, self.right), (left, right), self.arguments["time"], strict=True):
            rows = spark.read.format(self.format).options(**self._header).schema(frame.schema).load(path)
            latest.append(rows.select(F.max(F.unix_micros(quote_path([find_zoned(frame, time) or time])))).first())
        known = [int(row[0]) for row in latest if row and row[0] is not None]
        if not known:
            return None
        longest = max(microseconds(delay, "delay") for delay in self.arguments["delay"])
        return max(known) + explain(left, right, **self.arguments).stay + longest + 2 * _MILLISECOND

    def _stream(self, spark: SparkSession, console: Console, named: str, path: str, given: str | None) -> DataFrame:
        try:
            schema = _parse(given) if given else self._infer(spark, path)
        except AnalysisException as error:
            raise StreamJoinError(f"--{named}: cannot read {path} as {self.format}: {reason(error)}") from error
        columns = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in schema.fields)
        console.print(f"{named:<5} {path}: {columns}", highlight=False, soft_wrap=True)
        return spark.readStream.format(self.format).options(**self._header).schema(schema).load(path)

    def _infer(self, spark: SparkSession, path: str) -> StructType:
        return spark.read.format(self.format).options(**_INFERRING.get(self.format, {})).load(path).schema


def waits(arguments: dict[str, Any]) -> bool:
    """Whether something of a join waits for the watermark: unmatched rows, or rows whose turn has not come."""
    holds = arguments["ordered"] or isinstance(arguments["window"], Last | Both)
    return holds or emits_unmatched(how_of(arguments["how"]))


def _in_milliseconds(trigger: str) -> str:
    """An interval as Spark reads it, which knows no short units."""
    return f"{microseconds(trigger, '--trigger') // _MILLISECOND} milliseconds"


def _parse(ddl: str) -> StructType:
    schema = StructType.fromDDL(ddl)
    assert isinstance(schema, StructType)
    return schema


def parse_window(
    within_: str | None, between_: tuple[str, str] | None, tumbling_: str | None, last_: int | None = None
) -> Window | None:
    """The one window of time that was given, with the count that was, or None."""
    from streamjoin.spec.window import last

    time = _parse_time_window(within_, between_, tumbling_)
    if last_ is None:
        return time
    return last(last_) if time is None else last(last_) & time


def _parse_time_window(within_: str | None, between_: tuple[str, str] | None, tumbling_: str | None) -> Window | None:
    from streamjoin.spec.window import between, tumbling, within

    given = [name for name, v in (("within", within_), ("between", between_), ("tumbling", tumbling_)) if v]
    if len(given) > 1:
        raise StreamJoinError(f"--{given[0]} and --{given[1]}: expected one window")
    if within_:
        return within(within_)
    if between_:
        return between(*between_)
    return tumbling(tumbling_) if tumbling_ else None
