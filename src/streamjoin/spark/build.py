"""A join as a Spark plan: what Spark computes before, what the Python workers are told, what Spark does after."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType, MapType, StructField, StructType, TimestampType

from streamjoin.errors import StreamJoinError
from streamjoin.flow.cache import CacheSpec
from streamjoin.flow.checkpoint import CheckpointKey, Named
from streamjoin.flow.job import Job, KeySource, Source
from streamjoin.layout import Layout, choose_layout, fit_plan
from streamjoin.operators.expr import Column, Key, to_sql
from streamjoin.operators.types import Type, from_spark
from streamjoin.plan import Plan
from streamjoin.plan.reduction import Reduction
from streamjoin.predicate import Predicate, Schema, parse
from streamjoin.predicate.classify import may_raise
from streamjoin.predicate.conjunct import OneSided
from streamjoin.spark.ahead import compile_ahead
from streamjoin.spark.backfill import backfill
from streamjoin.spark.column import AnyOn, read_columns
from streamjoin.spark.compat import UTC, analyze, find_zone, read_setting
from streamjoin.spark.fields import arrow_type, is_hashable
from streamjoin.spark.inputs import LAGS, NAMES, WATERMARK, Frames, Input, explain_clash, read
from streamjoin.spark.python import check_python
from streamjoin.spark.settings import check_settings
from streamjoin.spark.stored import read_waiting
from streamjoin.spark.stream import stream
from streamjoin.spec.duration import Duration
from streamjoin.spec.how import How, sides_of
from streamjoin.spec.side import SIDES, Side
from streamjoin.spec.window import Both, Last, Window
from streamjoin.sql.on import names_of
from streamjoin.sql.select import JOIN_TIME, Carried, Field, find, quote_path, result_fields


def plan(
    left: Frames,
    right: Frames,
    *,
    on: AnyOn,
    window: Window | None,
    how: How,
    time: tuple[str, str],
    delay: tuple[Duration | None, Duration | None],
    select: Sequence[str] | None,
    layout: Layout | None,
    suffixes: tuple[str, str],
    name: str,
) -> "Planned":
    """Check the arguments of a join of two streaming or two batch inputs."""
    asked = read_join(left, right, on, window, time, delay, name, inner=how == "inner")
    return Planned(asked, how, select, layout, suffixes)


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
    check_python(spark)
    schemas: dict[Side, Schema] = {side: Schema.from_spark(inputs[side].schema) for side in SIDES}
    predicate = parse(read_columns(on), schemas["l"], schemas["r"], _ask_spark(inputs))
    if window is None:
        implied = predicate.window(time)
        if implied is None:
            raise StreamJoinError('window: expected one such as within("15 minutes"), or time bounds in `on`')
        window, predicate = implied
    predicate = predicate.prefer_worker() if inner else predicate.require_worker()
    if isinstance(window, Last | Both):
        raise StreamJoinError(f"window: {window} counts rows, which is not yet possible on Spark; give a time window")
    name = _choose_name(name, {name for side in SIDES for name in inputs[side].names})
    return Asked(spark, inputs, predicate, window, name, names_of(on))


def _choose_name(name: str, taken: set[str]) -> str:
    """A name for the metrics that no join before this one bears: Spark wants them different within a query."""
    numbered = (name, *(f"{name}-{number}" for number in range(2, len(taken) + 2)))
    return next(free for free in numbered if free not in taken)


def _ask_spark(inputs: dict[Side, Input]) -> Callable[[str], Type | None]:
    """Asks Spark for the type of what only Spark understands."""

    def typeof(sql: str) -> Type | None:
        pair = inputs["l"].frame.alias("l").crossJoin(inputs["r"].frame.alias("r"))
        try:
            return from_spark(pair.selectExpr(sql).schema.fields[0].dataType)
        except AnalysisException as error:
            reason = (error.getMessage() or str(error)).partition("\n")[0]
            raise StreamJoinError(f"on: Spark does not understand {sql}: {reason}") from error

    return typeof


@dataclass
class _Columns:
    """The columns that Spark computes for an emitter, each once."""

    sql: list[str]

    def add(self, sql: str) -> int:
        """The position of a column."""
        if sql not in self.sql:
            self.sql.append(sql)
        return self.sql.index(sql)


class Planned:
    """A join that was checked, ready to be built."""

    time_column = JOIN_TIME
    """The event time of the results."""
    sides: tuple[Side, ...] = SIDES
    """The inputs that rows are read from."""

    def __init__(
        self,
        asked: Asked,
        how: How,
        select: Sequence[str] | None,
        layout: Layout | None,
        suffixes: tuple[str, str],
        reduction: Reduction | None = None,
    ) -> None:
        self.spark, self.inputs, self.window, self._name = asked.spark, asked.inputs, asked.window, asked.name
        inputs, predicate, window = asked.inputs, asked.predicate, asked.window
        filters = [c for c in predicate.conjuncts if isinstance(c, OneSided) and c.may_filter(how, window)]
        self.filters = {side: [c.exact for c in filters if c.side == side] for side in SIDES}
        self.predicate = replace(predicate, conjuncts=tuple(c for c in predicate.conjuncts if c not in filters))
        self._reduction, self._using = reduction, asked.using
        schemas = {side: inputs[side].schema for side in SIDES}
        needed = self._choose_columns(select, suffixes, how)
        for conjunct in self.predicate.residual:
            needed += [find(c.side, c.path, schemas[c.side], "on") for c in sorted(conjunct.exact.columns, key=str)]
        self.carried: dict[Side, list[Carried]] = {
            side: list({carried.path: carried for carried in needed if carried.side == side}.values()) for side in SIDES
        }
        left, right = (
            pa.schema([(self._internal_name(c), arrow_type(c, UTC)) for c in self.carried[side]]) for side in SIDES
        )
        lagging = tuple(side for side in SIDES if inputs[side].lags)
        plan = Plan(self.predicate, window, left, right, how, lagging=lagging, reduction=self._reduction)
        self.partitions = int(read_setting(self.spark, "spark.sql.shuffle.partitions") or 1)
        self.layout = layout or choose_layout(plan, self.partitions)
        self.plan = fit_plan(self.layout, plan)

    def _choose_columns(self, select: Sequence[str] | None, suffixes: tuple[str, str], how: How) -> list[Carried]:
        """Choose the columns of the result; which ones are to be carried."""
        schemas = {side: self.inputs[side].schema for side in SIDES}
        self._fields = result_fields(schemas, select, suffixes, how, self._using)
        return [carried for field in self._fields for carried in field.sources]

    @property
    def is_streaming(self) -> bool:
        """Whether rows go on arriving."""
        return self.inputs["l"].is_streaming

    @property
    def tasks(self) -> int:
        """How many tasks the cells are dealt to: of a stream the shuffle partitions, in a batch join one a cell."""
        return self.partitions if self.is_streaming else self.layout.cells

    @property
    def idle(self) -> int:
        """How many tasks have no cell."""
        return max(self.tasks - self.layout.cells, 0)

    def result(self) -> DataFrame:
        """The whole flow, from inputs to results under their own names."""
        if self.is_streaming:
            compile_ahead(self.spark, self.plan)
        frames, job = self.to_job()
        run = stream if self.is_streaming else backfill
        result = self._name_results(run(job, {side: frames[side] for side in self.sides}, *self._schemas()))
        if not self.is_streaming:
            return result
        return result.withMetadata(self.time_column, {WATERMARK: 0, LAGS: self.plan.lags, NAMES: self._report_names()})

    def waiting(self, checkpoint: str) -> DataFrame:
        """The rows that wait unmatched in a checkpoint, as a batch of results."""
        _, job = self.to_job()
        return self._name_results(read_waiting(self.spark, checkpoint, job, *self._schemas()))

    def to_job(self) -> tuple[dict[Side, DataFrame], Job]:
        """Each side as its emitter is given it, and what every process is told."""
        frames, sources = {}, {}
        for side in SIDES:
            frames[side], sources[side] = self._prepare(side)
        return frames, Job(self._name, self.key, self.plan, self.layout, self.tasks, sources, self._read_cache_spec())

    def _schemas(self) -> tuple[StructType, pa.Schema]:
        """The columns of results under internal names, for Spark and for Arrow."""
        zone = find_zone(self.spark)
        columns = self._list_columns(zone)
        spark_schema = StructType(
            [StructField(n, t) for n, t, _ in columns] + [StructField(JOIN_TIME, TimestampType())]
        )
        return spark_schema, pa.schema([(n, a) for n, _, a in columns] + [(JOIN_TIME, pa.timestamp("us", tz=zone))])

    def _list_columns(self, zone: str) -> list[tuple[str, DataType, pa.DataType]]:
        """The columns of results as they leave the cells, but for their time."""
        return [
            (self._internal_name(c), c.type, arrow_type(c, zone))
            for side in sides_of(self.plan.how)
            for c in self.carried[side]
        ]

    def _name_results(self, rows: DataFrame) -> DataFrame:
        """Results under their own names, of those pairs that Spark lets through."""
        for conjunct in self.predicate.residual:
            rows = rows.where(to_sql(conjunct.exact, self._name_column))
        names = [f"{self._write_field(f)} AS {quote_path([f.name])}" for f in self._fields]
        return rows.selectExpr(*names, JOIN_TIME)

    def _prepare(self, side: Side) -> tuple[DataFrame, Source]:
        """One side as its emitter is given it: payload, keys, time, a hash of the whole row.

        In this order because of how Spark's optimizer reasons: a computed column before plain ones that it was computed
        of doubles what it knows of the plan with each of them. The hash of 14 columns took half a minute to plan.
        """
        source = self.inputs[side]
        condition = " AND ".join(f"({to_sql(part, _name_plainly)})" for part in self.filters[side])
        columns = _Columns([])
        payload = tuple(columns.add(quote_path(carried.path)) for carried in self.carried[side])

        own = [c for c in self.predicate.conjuncts if isinstance(c, OneSided) and c.side == side]

        def guard(key: Key) -> str:
            """A row that a condition of its side excludes must not fail on a key: it is here to be counted or kept."""
            before = takewhile(lambda c: c.key != key, own) if may_raise(key.arg) else ()
            guards = [part for part in (condition, *(f"({to_sql(c.exact, _name_plainly)})" for c in before)) if part]
            sql = key.sql(_name_plainly)
            return f"CASE WHEN {' AND '.join(guards)} THEN {sql} END" if guards else sql

        keys = []
        for key in self.predicate.keys(side):
            sql = guard(key)
            hashes = None if key.type.is_machine else columns.add(f"xxhash64({sql})")
            keys.append(KeySource(key.type, columns.add(sql), hashes))
        plain = quote_path([source.time])  # its microseconds, as Arrow holds them
        time = columns.add(plain if plain in columns.sql else source.micros)
        route = columns.add(_hash_row(side, source))
        rows = source.frame
        if condition:  # that speaks of the time too, or Spark would filter below the watermark, which all rows move on
            rows = rows.where(f"{source.event} IS NULL OR ({condition})")
        named = [f"{sql} AS c{number}" for number, sql in enumerate(columns.sql)]
        return rows.selectExpr(*named), Source(payload, tuple(keys), time, route)

    def _read_cache_spec(self) -> CacheSpec:
        directory, most = (
            read_setting(self.spark, f"spark.streamjoin.cache.{name}", declared=False)
            for name in ("directory", "maxBytes")
        )
        if most and not most.isdecimal():
            raise StreamJoinError(f"spark.streamjoin.cache.maxBytes: got {most!r}; expected a whole number of bytes")
        return CacheSpec(directory or "", int(most) if most else None)

    @cached_property
    def key(self) -> CheckpointKey:
        """Which checkpoints this join may continue."""
        named = {
            side: Named(
                f"{_show_path([source.time])} {source.schema[source.time].dataType.simpleString()}",
                [(self.show_column(c), c.type.simpleString()) for c in self.carried[side]],
            )
            for side, source in self.inputs.items()
        }
        return CheckpointKey.of(self.plan, self.layout, self.partitions, named)

    def _report_names(self) -> list[str]:
        return sorted({self._name, *self.inputs["l"].names, *self.inputs["r"].names})

    def show_column(self, carried: Carried) -> str:
        """A carried column as people write it."""
        return _show_path(carried.path)

    def _write_field(self, field: Field) -> str:
        parts = [self._internal_name(carried) for carried in field.sources]
        return parts[0] if len(parts) == 1 else f"coalesce({', '.join(parts)})"

    def _internal_name(self, carried: Carried) -> str:
        return f"{carried.side}{self.carried[carried.side].index(carried)}"

    def _name_column(self, column: Column) -> str:
        schema = self.inputs[column.side].schema
        return self._internal_name(find(column.side, column.path, schema, "on"))


def _name_plainly(column: Column) -> str:
    return quote_path(column.path)


def _show_path(path: Sequence[str]) -> str:
    """A column as people write it, quoted where that tells it from another."""
    return ".".join(name if name.isidentifier() else quote_path([name]) for name in path)


def _hash_row(side: Side, source: Input) -> str:
    """A hash of all that a row holds; maps by their entries, what Spark cannot hash left out.

    Equal rows of both sides have different ones: in a self-join they would all meet in the diagonal of a grid.
    """
    parts = [str(SIDES.index(side))]
    for field in source.schema.fields:
        name, type = quote_path([field.name]), field.dataType
        if is_hashable(type):
            parts.append(name)
        elif isinstance(type, MapType) and is_hashable(type.keyType) and is_hashable(type.valueType):
            parts.append(f"map_entries({name})")
    return f"xxhash64({', '.join(parts)})"
