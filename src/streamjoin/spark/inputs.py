"""The inputs of a join: one or several DataFrames a side, their time and their watermark."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql.types import (
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from streamjoin.errors import StreamJoinError
from streamjoin.spark.compat import analyze
from streamjoin.spec.duration import Duration, microseconds
from streamjoin.spec.side import NAMED, Side
from streamjoin.sql.select import find, quote_path

WATERMARK = "spark.watermarkDelayMs"
"""The metadata by which Spark knows an event-time column."""
LAGS = "streamjoin.lags"
"""Metadata of a `join_time` that may lie before the watermark of its batch."""
NAMES = "streamjoin.names"
"""Metadata of a `join_time`: the names of the joins that a result comes from."""
BAD = "streamjoin.bad"
"""Metadata of a column that holds what could not be read of a row, or else NULL."""

_NTZ_TIME = "__streamjoin_time"
Frames = DataFrame | Sequence[DataFrame]


@dataclass(frozen=True)
class Input:
    """One side: all its rows as one DataFrame, with a watermark if it is a stream."""

    side: Side
    frame: DataFrame
    schema: StructType
    time: str
    micros: str
    """The time in microseconds, as SQL."""
    event: str
    """The column that the watermark stands on, as SQL."""
    delay: int | None
    """How long the watermark waits for late rows, in microseconds; of a batch None."""
    lags: bool
    """Whether rows may lie before the watermark of their batch: those of a join that were decided late."""
    names: frozenset[str]
    """Of the joins that rows come from."""

    @property
    def bad(self) -> str | None:
        """The column that holds what could not be read of a row, if the input has one."""
        return next((field.name for field in self.schema.fields if field.metadata.get(BAD)), None)

    @property
    def is_streaming(self) -> bool:
        """Whether rows go on arriving."""
        return self.frame.isStreaming


def _describe(frames: object) -> str:
    """What was given, shown if it is short: a table of another library prints itself as a page."""
    shown = repr(frames)
    of = type(frames)
    return shown if len(shown) < 80 and "\n" not in shown else f"a {of.__module__.partition('.')[0]} {of.__qualname__}"


def read(side: Side, frames: Frames, time: str, delay: Duration | None) -> Input:
    """Check one side and give it a watermark where it has none.

    The latest row of each physical stream counts: a watermark stands below the union, not above it.
    """
    named = NAMED[side]
    given = [frames] if isinstance(frames, DataFrame) else list(frames) if isinstance(frames, Sequence) else []
    if not given or not all(isinstance(frame, DataFrame) for frame in given):
        raise StreamJoinError(f"{named}: expected a DataFrame or a list of DataFrames; got {_describe(frames)}")
    _check_frames(named, given)
    column = find(side, [time], given[0].schema, "time")
    if delay is not None and microseconds(delay, "delay") < 0:
        raise StreamJoinError(f"delay: expected a duration >= 0; got {delay!r}")
    if not isinstance(column.type, TimestampType | TimestampNTZType):
        raise StreamJoinError(
            f"time: {named} column {time!r} is of type {column.type.simpleString()}; expected a timestamp: "
            f"cast it before the join, {suggest_cast(named, column.path[0], column.type)}"
        )
    zoned = isinstance(column.type, TimestampType)
    name = quote_path(column.path)
    micros = f"unix_micros({name})" if zoned else f"timestampdiff(MICROSECOND, TIMESTAMP_NTZ'1970-01-01', {name})"
    event, schema = name, given[0].schema
    if given[0].isStreaming:
        if not zoned:  # Spark's watermarks are on zoned timestamps alone: a local time is read as UTC
            event = _NTZ_TIME
            given = [frame.selectExpr("*", f"timestamp_micros({micros}) AS {_NTZ_TIME}") for frame in given]
        given = [_add_watermark(named, frame, column.path[0], event, delay) for frame in given]
    waits = [f.metadata[WATERMARK] for frame in given for f in frame.schema.fields if WATERMARK in f.metadata]
    wait = int(max(waits)) * 1000 if waits else None
    lags = any(f.metadata.get(LAGS) for frame in given for f in frame.schema.fields if f.name == column.path[0])
    names = frozenset(n for frame in given for f in frame.schema.fields for n in f.metadata.get(NAMES, []))
    with explain_clash():
        frame = reduce(DataFrame.unionByName, given)
        analyze(frame)
    return Input(side, frame, schema, column.path[0], micros, event, wait, lags, names)


def suggest_cast(named: str, name: str, type: DataType) -> str:
    """What makes a timestamp of a column of this type."""
    column = quote_path([name]) if not name.isidentifier() else name
    match type:
        case StringType():
            means = f"to_timestamp({column}), with a pattern if it is not written as 2026-01-05 09:30:00"
        case DateType():
            means = f"CAST({column} AS TIMESTAMP)"
        case LongType():
            means = f"timestamp_seconds({column}), timestamp_millis({column}) or timestamp_micros({column})"
        case IntegerType() | ShortType() | DoubleType() | FloatType() | DecimalType():
            means = f"timestamp_seconds({column})"
        case _:
            return "or name another column"
    return f'{named}.withColumn("{name}", F.expr("...")) with {means}'


@contextmanager
def explain_clash() -> Iterator[None]:
    """Say what to do where joins come together that were made apart and report under one name."""
    try:
        yield
    except AnalysisException as error:
        if error.getCondition() != "DUPLICATED_METRICS_NAME":
            raise
        name = (error.getMessageParameters() or {}).get("metricName", "")
        raise StreamJoinError(
            f"name: two joins that come together here both report as {name!r}, and a query needs a name for each: "
            "give one of them another, join(..., name=...)"
        ) from error


def _check_frames(named: str, frames: list[DataFrame]) -> None:
    first = frames[0]
    names = [name.lower() for name in first.columns]
    for name in first.columns:
        if names.count(name.lower()) > 1:
            raise StreamJoinError(f"{named}: two of its columns are named {name!r}; rename one before the join")
    for frame in frames[1:]:
        if frame.isStreaming != first.isStreaming:
            raise StreamJoinError(f"{named}: its DataFrames are streaming and batch; expected all of one kind")
        if {f.name: f.dataType for f in frame.schema} != {f.name: f.dataType for f in first.schema}:
            raise StreamJoinError(
                f"{named}: its DataFrames differ: {first.schema.simpleString()} and {frame.schema.simpleString()}"
            )


def _add_watermark(named: str, frame: DataFrame, name: str, event: str, delay: Duration | None) -> DataFrame:
    carriers = [field.name for field in frame.schema.fields if WATERMARK in field.metadata]
    if name in carriers:
        if delay is not None and NAMES not in frame.schema[name].metadata:  # which the result of a join has
            raise StreamJoinError(
                f"delay: got {delay!r}, but the {named} input has a watermark of its own on {name!r}, which says how "
                "long to wait: leave out one of the two. For inputs of which one has a watermark, write "
                "delay=(None, ...) or delay=(..., None)"
            )
        return frame
    if carriers:
        raise StreamJoinError(
            f"time: the {named} input has its watermark on {carriers[0]!r}, but time= says {name!r}; "
            "a stream has one event time: name the same column in both"
        )
    if delay is None:
        raise StreamJoinError(
            f"delay: the {named} input has no watermark, so the join cannot know how long to wait for late rows; write "
            f'delay="10 seconds" (how far a row may come behind the latest one), or '
            f'{named}.withWatermark("{name}", "10 seconds") before the join'
        )
    return frame.withWatermark(event, f"{-(-microseconds(delay, 'delay') // 1000)} milliseconds")
