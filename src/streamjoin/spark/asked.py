"""What two inputs are asked for, read and checked: their columns, the condition, the window."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType, TimestampNTZType

from streamjoin.errors import StreamJoinError
from streamjoin.operators.types import Type, from_spark
from streamjoin.predicate import Predicate, Schema, parse
from streamjoin.spark.column import AnyOn, read_columns
from streamjoin.spark.compat import analyze, ask_quietly, read_setting
from streamjoin.spark.inputs import Frames, Input, explain_clash, read
from streamjoin.spark.python import check_python
from streamjoin.spark.settings import check_settings
from streamjoin.spec.duration import Duration
from streamjoin.spec.side import NAMED, SIDES, Side
from streamjoin.spec.window import Window, require_time_window
from streamjoin.sql.on import names_of


@dataclass(frozen=True)
class Asked:
    """What two inputs are asked for: a condition and a window."""

    spark: SparkSession
    inputs: dict[Side, Input]
    predicate: Predicate
    window: Window
    name: str
    using: Sequence[str] = ()
    """The names of columns that are to be equal, where the condition is just that."""


def read_join(
    left: Frames,
    right: Frames,
    on: AnyOn,
    window: Window | None,
    time: tuple[str, str],
    delay: tuple[Duration | None, Duration | None],
    name: str,
    *,
    inner: bool,
    counts: bool = False,
) -> Asked:
    """Read the inputs and the condition; of an inner join parts of it may be left to Spark."""
    inputs = {
        side: read(side, frames, column, wait)
        for side, frames, column, wait in zip(SIDES, (left, right), time, delay, strict=True)
    }
    if inputs["l"].is_streaming != inputs["r"].is_streaming:
        kinds = ["streaming" if inputs[side].is_streaming else "batch" for side in SIDES]
        raise StreamJoinError(
            f"left is {kinds[0]} and right is {kinds[1]}: expected both of one kind. To join a stream with a table "
            "that does not change, use Spark's own join; to replay history, read both as batch"
        )
    if inputs["l"].names & inputs["r"].names:
        with explain_clash():
            analyze(inputs["l"].frame.crossJoin(inputs["r"].frame))
    spark = inputs["l"].frame.sparkSession
    check_settings(spark, streaming=inputs["l"].is_streaming)
    _check_zone(spark, inputs)
    check_python(spark)
    schemas: dict[Side, Schema] = {side: Schema.from_spark(inputs[side].schema) for side in SIDES}
    predicate = parse(read_columns(on), schemas["l"], schemas["r"], _ask_spark(inputs))
    window, predicate = predicate.choose_window(window, time)
    predicate = predicate.prefer_worker() if inner else predicate.require_worker()
    if not counts:
        require_time_window(window)
    name = _choose_name(name, {name for side in SIDES for name in inputs[side].names})
    return Asked(spark, inputs, predicate, window, name, names_of(on))


def _check_zone(spark: SparkSession, inputs: dict[Side, Input]) -> None:
    """Refuse a local time beside an instant where Spark, unlike us, would not read the local one as UTC."""
    local = {side: isinstance(inputs[side].schema[inputs[side].time].dataType, TimestampNTZType) for side in SIDES}
    zone = read_setting(spark, "spark.sql.session.timeZone")
    if local["l"] == local["r"] or zone in ("UTC", "Etc/UTC", "GMT", "Z"):
        return
    side: Side = "l" if local["l"] else "r"
    raise StreamJoinError(
        f"time: {NAMED[side]} column {inputs[side].time!r} is a local time (timestamp_ntz), that of the other side an "
        f"instant (timestamp). A join reads local times as UTC, but the session's time zone is {zone}: cast one of "
        "them before the join, so that both are of one type"
    )


def _choose_name(name: str, taken: set[str]) -> str:
    """A name for the metrics that no join before this one bears: Spark wants them different within a query."""
    numbered = (name, *(f"{name}-{number}" for number in range(2, len(taken) + 2)))
    return next(free for free in numbered if free not in taken)


def _ask_spark(inputs: dict[Side, Input]) -> Callable[[str], Type | None]:
    """Asks Spark for the type of what only Spark understands."""

    def typeof(sql: str) -> Type | None:
        pair = inputs["l"].frame.alias("l").crossJoin(inputs["r"].frame.alias("r"))
        return from_spark(ask_types(pair, [sql], "on")[0])

    return typeof


def ask_types(frame: DataFrame, texts: Sequence[str], argument: str, hint: str = "") -> list[DataType]:
    """The types that Spark gives to expressions over a frame; what it does not understand is an error."""
    try:
        with ask_quietly():
            return [field.dataType for field in frame.selectExpr(*texts).schema.fields]
    except AnalysisException as error:
        reason = (error.getMessage() or str(error)).partition("\n")[0]
        written = ", ".join(texts)
        raise StreamJoinError(f"{argument}: Spark does not understand {written}: {reason}{hint}") from error
