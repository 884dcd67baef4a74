"""``streamjoin run``: two directories joined as streams into a third."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType
from rich.console import Console

from streamjoin.cli.ddl import parse_ddl
from streamjoin.cli.display import Monitor
from streamjoin.cli.heartbeat import Heartbeat, find_zoned
from streamjoin.cli.inputs import KAFKA, Directory, is_topic
from streamjoin.cli.late import check_sink, split_into
from streamjoin.cli.quiet import reason
from streamjoin.cli.remember import RUN_FILE, Remembered, find_checkpoint, has_begun
from streamjoin.cli.tables import choose_format, keep_columns, keeps_schema, read_stored, start
from streamjoin.cli.times import check_time
from streamjoin.cli.words import count, to_options
from streamjoin.errors import StreamJoinError
from streamjoin.flow.checkpoint import CheckpointKey
from streamjoin.flow.planfile import PLAN_FILE
from streamjoin.join import explain, find_key, flush, join
from streamjoin.paths import beneath, to_absolute
from streamjoin.spark import kafka
from streamjoin.spark.compat import READS_STATE, RELEASE
from streamjoin.spark.jvm import list_names, read_file, write_file
from streamjoin.spark.progress import Progress
from streamjoin.spark.stored import check_checkpoint
from streamjoin.spec.duration import UNITS, microseconds
from streamjoin.spec.how import emits_unmatched, how_of
from streamjoin.spec.window import Both, Last
from streamjoin.sql.select import quote_path

_MILLISECOND = UNITS["millisecond"]
_INFERRING = {"csv": {"header": "true", "inferSchema": "true"}, "json": {"inferTimestamp": "true"}}
_HEADER = {"csv": {"header": "true"}}
_SIDES = ("left", "right")


@dataclass(frozen=True)
class FileJoin:
    """What to join, and where to put it; results are in the format of the left side, unless another is given."""

    left: str
    right: str
    out: str
    formats: tuple[str, str]
    checkpoint: str | None
    schemas: tuple[str | None, str | None]
    verb: Callable[..., DataFrame]
    arguments: dict[str, Any]
    once: bool
    flush: bool
    trigger: str
    late: str | None = None
    """Where rows go that the join drops; None for nowhere."""
    out_format: str | None = None
    kafka_config: str | None = None
    """The file of settings for Kafka's clients."""
    bad: Literal["fail", "keep"] = "fail"
    """What to do with a topic's values that the schema does not fit."""

    @property
    def _checkpoint(self) -> str:
        return self.checkpoint or find_checkpoint(self.out)

    def explain(self, spark: SparkSession, console: Console) -> None:
        """Print the plan."""
        frames = self._frames(spark, console, self._recall(spark))
        console.print(
            to_options(str(explain(*frames, of=self.verb, **self.arguments))), highlight=False, soft_wrap=True
        )

    def run(self, spark: SparkSession, console: Console, interrupted: Callable[[], bool]) -> None:
        """Run until all is processed (`once`) or until interrupted."""
        first = self._recall(spark)
        left, right = self._frames(spark, console, first)
        zoned = [find_zoned(frame, t) for frame, t in zip((left, right), self.arguments["time"], strict=True)]
        if self.flush and None in zoned:
            local = self.arguments["time"][zoned.index(None)]
            raise StreamJoinError(f"--flush: the time {local} is a local one; expected a timestamp with a zone")
        heartbeat, arguments = Heartbeat(beneath(self._checkpoint, "flush")), self.arguments
        schemas = left.schema.json(), right.schema.json()
        if waits(self.verb, arguments):
            heartbeat.prepare(spark)
            sides = zip((left, right), arguments["time"], arguments["delay"], strict=True)
            left, right = (heartbeat.beside(spark, *side) for side in sides)
            delays = (None if time else delay for time, delay in zip(zoned, arguments["delay"], strict=True))
            arguments = {**arguments, "delay": tuple(delays)}
        plan = find_key(left, right, of=self.verb, **arguments)
        self._check_or_remember(spark, first, Remembered(self._paths, self.formats, schemas, plan.to_json()), plan)
        result = self.verb(left, right, **arguments)
        seen, flushed = self._follow(result, console, interrupted), None
        if self.flush and not interrupted() and (end := self._end(spark, left, right)) is not None:
            flushed = self._count_waiting(left, right, arguments)
            heartbeat.beat(spark, end)
            seen += self._follow(result, console, interrupted)
        self._summarize(seen, flushed, console)

    @property
    def _paths(self) -> tuple[str, str]:
        return to_absolute(self.left), to_absolute(self.right)

    def _recall(self, spark: SparkSession) -> Remembered | None:
        """What is remembered of the first start, if that noted what it reads; other inputs are refused."""
        if not has_begun(lambda name: list_names(spark, self._checkpoint, name)):
            return None
        text = read_file(spark, self._checkpoint, RUN_FILE)
        found = Remembered.from_json(text) if text else None
        if found:
            found.check_inputs(self._paths, self._checkpoint)
            found.check_formats(self.formats, self._checkpoint)
        return found

    def _check_or_remember(
        self, spark: SparkSession, first: Remembered | None, now: Remembered, plan: CheckpointKey
    ) -> None:
        """Refuse what another run began; what begins now is remembered."""
        begins = self._check_plan(spark, plan, first)
        check_sink(spark, self._checkpoint, self.late, begins=begins)
        if begins:
            write_file(spark, self._checkpoint, RUN_FILE, now.to_json())

    def _check_plan(self, spark: SparkSession, plan: CheckpointKey, first: Remembered | None) -> bool:
        """Refuse another join than that of the checkpoint; whether it begins there.

        A run that died before its first commit has left no plan file, but what we remember of it.
        """
        if first and first.plan and not read_file(spark, self._checkpoint, PLAN_FILE):
            plan.check(first.plan)
            return False
        return check_checkpoint(spark, self._checkpoint, plan).startswith("begins") and not first

    def _follow(self, result: DataFrame, console: Console, interrupted: Callable[[], bool]) -> list[Progress]:
        """Run the query and show what it does."""
        format = choose_format(self.out, self.out_format, self.formats[0])
        options = _HEADER.get(format, {})
        if is_topic(self.out):
            writer = kafka.write(result, self.out, config=self.kafka_config)
        elif self.late:
            writer = result.writeStream.foreachBatch(split_into(self.out, self.late, format, options))
        else:
            writer = result.writeStream.options(**options)
        writer = writer.option("checkpointLocation", self._checkpoint)
        if self.once:
            writer = writer.trigger(availableNow=True)
        else:
            writer = writer.trigger(processingTime=_in_milliseconds(self.trigger))
        if self.late or is_topic(self.out):
            query = writer.start()
        else:
            query = start(result.sparkSession, writer, self.out, self._checkpoint, format)
        monitor = Monitor(query, "streamjoin", console, f"{self.left} x {self.right} -> {self.out}")
        try:
            monitor.follow(interrupted)
        finally:
            query.stop()
        return monitor.seen

    def _count_waiting(self, left: DataFrame, right: DataFrame, arguments: dict[str, Any]) -> str:
        """How many rows a flush is going to emit, in words; older Sparks cannot read them in the state."""
        if not READS_STATE:
            return f"all that waited is emitted by --flush; Spark {RELEASE} cannot say how many rows"
        emitted = flush(self._checkpoint, left, right, of=self.verb, **arguments).count()
        unmatched = " unmatched" if self.verb is join and not _holds(self.arguments) else ""
        return f"{count(emitted, 'row')} emitted{unmatched} by --flush"

    def _summarize(self, seen: list[Progress], flushed: str | None, console: Console) -> None:
        rows = sum(p.rows_left + p.rows_right for p in seen)
        found = count(sum(p.matches for p in seen), "match", "matches")
        said = [f"{count(rows, 'row')} in, {found} found{self._tell_dropped(seen)}; results in {self.out}"]
        if flushed:
            said.append(flushed)
        elif seen and (waiting := seen[-1].waiting_rows):
            far = "unmatched" if self.verb is join else "undecided"
            said.append(
                f"{count(waiting, 'row is', 'rows are')} {far} so far: emitted once the watermark has passed the last "
                "time a partner can have, or now with --once --flush (rows of their time that come afterwards are late)"
            )
        if seen and (held := seen[-1].held_rows):
            said.append(
                f"{count(held, 'row waits', 'rows wait')} for the watermark, so that all come in order: joined when "
                "later rows arrive, or now with --once --flush"
            )
        console.print("\n".join(said), highlight=False, soft_wrap=True)

    def _tell_dropped(self, seen: list[Progress]) -> str:
        fate = f"in {self.late}" if self.late else "dropped"
        late, timeless = sum(p.late_left + p.late_right for p in seen), sum(p.invalid_rows for p in seen)
        dropped = [count(late, "late row")] * bool(late) + [f"{count(timeless, 'row')} without a time"] * bool(timeless)
        return f", {' and '.join(dropped)} {fate}" if dropped else ""

    def _end(self, spark: SparkSession, left: DataFrame, right: DataFrame) -> int | None:
        """The time of a row that moves the watermark past the last time a partner can have."""
        latest = []
        sides = zip((self.left, self.right), self.formats, (left, right), self.arguments["time"], strict=True)
        for path, format, frame, time in sides:
            if keeps_schema(format):
                rows = read_stored(spark.read, path, format)
            elif format == KAFKA:
                rows = self._read_topic(spark, path, frame.schema, streaming=False)
            else:
                rows = spark.read.format(format).options(**_HEADER.get(format, {})).schema(frame.schema).load(path)
            latest.append(rows.select(F.max(F.unix_micros(quote_path([find_zoned(frame, time) or time])))).first())
        known = [int(row[0]) for row in latest if row and row[0] is not None]
        if not known:
            return None
        longest = max(microseconds(delay, "delay") for delay in self.arguments["delay"])
        arguments = {**self.arguments, "delay": None}
        return max(known) + explain(left, right, of=self.verb, **arguments).stay + longest + 2 * _MILLISECOND

    def _frames(self, spark: SparkSession, console: Console, first: Remembered | None) -> tuple[DataFrame, DataFrame]:
        """Both directories as streams; their schemas are shown."""
        left, right = (self._stream(spark, console, side, first) for side in range(2))
        return left, right

    def _stream(self, spark: SparkSession, console: Console, side: int, first: Remembered | None) -> DataFrame:
        """A directory as a stream, with the schema that is given, remembered or inferred."""
        named, path, format, given = _SIDES[side], (self.left, self.right)[side], self.formats[side], self.schemas[side]
        inferring = spark.read.format(format).options(**_INFERRING.get(format, {}))
        known = StructType.fromJson(json.loads(first.schemas[side])) if first else None
        try:
            if keeps_schema(format):
                frame = keep_columns(read_stored(spark.readStream, path, format), known)
            else:
                declared = parse_ddl(f"--{named}-schema", given) if given else known or inferring.load(path).schema
                frame = self._read(spark, path, format, declared)
        except (PySparkException, Py4JError) as error:
            hint = Directory(named, path).suggest_format(format) if self.out_format else ""
            raise StreamJoinError(f"--{named}: cannot read {path} as {format}: {reason(error)}{hint}") from error
        columns = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in frame.schema.fields)
        remembered = " (as at the first start)" if first and not given else ""
        console.print(f"{named:<5} {path}: {columns}{remembered}", highlight=False, soft_wrap=True)
        check_time(named, path, format, frame.schema, self.arguments["time"][side])
        return frame

    def _read(self, spark: SparkSession, path: str, format: str, schema: StructType) -> DataFrame:
        """Files or a topic as a stream."""
        if format == KAFKA:
            return self._read_topic(spark, path, schema, streaming=True)
        return spark.readStream.format(format).options(**_HEADER.get(format, {})).schema(schema).load(path)

    def _read_topic(self, spark: SparkSession, path: str, schema: StructType, *, streaming: bool) -> DataFrame:
        values = kafka.list_values(schema)
        return kafka.read(spark, path, schema=values, bad=self.bad, config=self.kafka_config, streaming=streaming)


def waits(verb: Callable[..., DataFrame], arguments: dict[str, Any]) -> bool:
    """Whether something waits for the watermark: rows that are undecided, or whose turn has not come."""
    return verb is not join or _holds(arguments) or emits_unmatched(how_of(arguments["how"]))


def _holds(arguments: dict[str, Any]) -> bool:
    return arguments["ordered"] or isinstance(arguments["window"], Last | Both)


def _in_milliseconds(trigger: str) -> str:
    """An interval as Spark reads it, which knows no short units."""
    return f"{microseconds(trigger, '--trigger') // _MILLISECOND} milliseconds"
