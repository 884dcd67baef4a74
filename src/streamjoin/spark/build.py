"""A join as a Spark plan: what Spark computes before, what the Python workers are told, what Spark does after."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import DataType, LongType, StringType, StructField, StructType, TimestampType

from streamjoin.errors import StreamJoinError
from streamjoin.flow import late as late_columns
from streamjoin.flow.cache import CacheSpec
from streamjoin.flow.checkpoint import CheckpointKey, Named
from streamjoin.flow.job import Job, KeySource, Source
from streamjoin.layout import Layout, choose_layout, fit_plan
from streamjoin.operators.expr import Column, Key, to_sql
from streamjoin.plan import Plan
from streamjoin.plan.reduction import Reduction
from streamjoin.predicate.conjunct import OneSided
from streamjoin.predicate.traits import may_raise
from streamjoin.spark.ahead import compile_ahead
from streamjoin.spark.asked import Asked, read_join
from streamjoin.spark.backfill import backfill
from streamjoin.spark.compat import UTC, find_zone, read_setting
from streamjoin.spark.explain import explain_plan
from streamjoin.spark.fields import arrow_type
from streamjoin.spark.inputs import LAGS, NAMES, WATERMARK
from streamjoin.spark.known import remember_job
from streamjoin.spark.rowhash import hash_row
from streamjoin.spark.stored import read_waiting
from streamjoin.spark.stream import stream
from streamjoin.spec.how import How, sides_of
from streamjoin.spec.late import Late
from streamjoin.spec.side import SIDES, Side
from streamjoin.sql.select import JOIN_TIME, RESULT_ID, Carried, Field, check_names, find, quote_path, result_fields

_TIE = ("__streamjoin_tie",)
"""The path by which results carry the hash of a whole row."""


def plan(
    *,
    how: How,
    select: Sequence[str] | None,
    layout: Layout | None,
    suffixes: tuple[str, str],
    ordered: bool = False,
    late: Late = "drop",
    result_id: bool = False,
    **inputs: Any,
) -> "Planned":
    """Check the arguments of a join of two streaming or two batch inputs, which are given as to `read_join`."""
    asked = read_join(**inputs, inner=how == "inner", counts=True)
    return Planned(asked, how, select, layout, suffixes, ordered=ordered, late=late, result_id=result_id)


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
        *,
        ordered: bool = False,
        late: Late = "drop",
        result_id: bool = False,
    ) -> None:
        self.spark, self.inputs, self.window, self._name = asked.spark, asked.inputs, asked.window, asked.name
        inputs, window = asked.inputs, asked.window
        self.filters, self.predicate = asked.predicate.split_filters(how, window)
        self._reduction, self._using = reduction, asked.using
        self.late_columns = late_columns.COLUMNS if late == "keep" else ()
        schemas = {side: inputs[side].schema for side in SIDES}
        needed = self._choose_columns(select, suffixes, how)
        self._ties = [Carried(side, _TIE, LongType()) for side in sides_of(how)] if result_id else []
        if result_id:
            needed += self._ties
            check_names([*(field.name for field in self._fields), RESULT_ID])
        for conjunct in self.predicate.residual:
            needed += [find(c.side, c.path, schemas[c.side], "on") for c in sorted(conjunct.exact.columns, key=str)]
        self.carried: dict[Side, list[Carried]] = {
            side: list({carried.path: carried for carried in needed if carried.side == side}.values()) for side in SIDES
        }
        left, right = (
            pa.schema([(self._internal_name(c), arrow_type(c, UTC)) for c in self.carried[side]]) for side in SIDES
        )
        lagging = tuple(side for side in SIDES if inputs[side].lags)
        plan = Plan(
            *(self.predicate, window, left, right, how),
            lagging=lagging,
            ordered=ordered,
            times={c.side: self._internal_name(c) for c in needed if [*c.path] == [inputs[c.side].time]},
            reduction=self._reduction,
        )
        self.partitions = int(read_setting(self.spark, "spark.sql.shuffle.partitions") or 1)
        self.layout = layout or choose_layout(plan, self.partitions)
        self.is_chosen, self.is_selected = layout is None, select is not None
        self.plan = fit_plan(self.layout, plan)

    def _choose_columns(self, select: Sequence[str] | None, suffixes: tuple[str, str], how: How) -> list[Carried]:
        """Choose the columns of the result; which ones are to be carried."""
        schemas = {side: self.inputs[side].schema for side in SIDES}
        self._fields = result_fields(schemas, select, suffixes, how, self._using)
        check_names([*(field.name for field in self._fields), *self.late_columns])
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
        given = {side: frames[side] for side in self.sides}
        if not self.is_streaming:
            return self._name_results(self._sort(backfill(job, given, *self._schemas(batch=True))))
        delays = {side: self.inputs[side].delay for side in self.sides}
        fingerprint = remember_job(job, str(explain_plan(self)), delays)
        result = self._name_results(stream(job, given, *self._schemas(batch=False), fingerprint))
        return result.withMetadata(self.time_column, {WATERMARK: 0, LAGS: self.plan.lags, NAMES: self._report_names()})

    def waiting(self, checkpoint: str) -> DataFrame:
        """What waits in a checkpoint, as a batch of results."""
        _, job = self.to_job()
        return self._name_results(self._sort(read_waiting(self.spark, checkpoint, job, *self._schemas(batch=True))))

    def to_job(self) -> tuple[dict[Side, DataFrame], Job]:
        """Each side as its emitter is given it, and what every process is told."""
        frames, sources = {}, {}
        for side in SIDES:
            frames[side], sources[side] = self._prepare(side)
        told = self.plan, self.layout, self.tasks, sources, self._read_cache_spec()
        return frames, Job(self._name, self.key, *told, keeps_late=bool(self.late_columns))

    def _schemas(self, *, batch: bool) -> tuple[StructType, pa.Schema]:
        """The columns of results under internal names, for Spark and for Arrow."""
        zone = find_zone(self.spark)
        columns = [*self._list_columns(zone), (JOIN_TIME, TimestampType(), pa.timestamp("us", tz=zone))]
        columns += [(name, LongType(), pa.int64()) for name in self._list_keys(batch=batch)]
        types = [(StringType(), pa.string())] * 2 + [(TimestampType(), pa.timestamp("us", tz=zone))]
        columns += [(name, *of) for name, of in zip(self.late_columns, types, strict=False)]
        spark_schema = StructType([StructField(name, type) for name, type, _ in columns])
        return spark_schema, pa.schema([(name, type) for name, _, type in columns])

    def _list_columns(self, zone: str) -> list[tuple[str, DataType, pa.DataType]]:
        """The columns of results as they leave the cells, but for their time."""
        return [
            (self._internal_name(c), c.type, arrow_type(c, zone))
            for side in sides_of(self.plan.how)
            for c in self.carried[side]
        ]

    def _list_keys(self, *, batch: bool) -> list[str]:
        """What the results of a batch carry only to be sorted by; those of a stream come sorted."""
        return self.plan.extra if batch else []

    def _sort(self, rows: DataFrame) -> DataFrame:
        """The results of a batch in order, where that is asked for."""
        return rows.orderBy(*self.plan.order) if self.plan.ordered else rows

    def _name_results(self, rows: DataFrame) -> DataFrame:
        """Results under their own names, of those pairs that Spark lets through."""
        for conjunct in self.predicate.residual:
            passes = to_sql(conjunct.exact, self._name_column)
            kept = f"CASE WHEN {late_columns.REASON} IS NULL THEN {passes} ELSE true END"
            rows = rows.where(kept if self.late_columns else passes)
        names = [f"{self._write_field(f)} AS {quote_path([f.name])}" for f in self._fields]
        return rows.selectExpr(*names, JOIN_TIME, *self._write_id(), *self.late_columns)

    def _write_id(self) -> list[str]:
        """The id of a result, if it is asked for: the ties of its rows in hexadecimal digits, "-" for an absent one."""
        ties = [f"coalesce(lpad(lower(hex({self._internal_name(tie)})), 16, '0'), '-')" for tie in self._ties]
        return [f"concat({', '.join(ties)}) AS {RESULT_ID}"] if ties else []

    def _prepare(self, side: Side) -> tuple[DataFrame, Source]:
        """One side as its emitter is given it: payload, keys, time, a hash of the whole row.

        In this order because of how Spark's optimizer reasons: a computed column before plain ones that it was computed
        of doubles what it knows of the plan with each of them. The hash of 14 columns took half a minute to plan.
        """
        source = self.inputs[side]
        condition = " AND ".join(f"({to_sql(part, _name_plainly)})" for part in self.filters[side])
        columns = _Columns([])
        tie = hash_row(side, source.schema)
        payload = tuple(columns.add(tie if c.path == _TIE else quote_path(c.path)) for c in self.carried[side])

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
        route = columns.add(tie)
        bad = columns.add(f"{quote_path([source.bad])} IS NOT NULL") if self.late_columns and source.bad else None
        rows = source.frame
        if condition:  # that speaks of the time too, or Spark would filter below the watermark, which all rows move on
            rows = rows.where(f"{source.event} IS NULL OR ({condition})")
        named = [f"{sql} AS c{number}" for number, sql in enumerate(columns.sql)]
        return rows.selectExpr(*named), Source(payload, tuple(keys), time, route, bad)

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
