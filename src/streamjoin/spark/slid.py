"""Sliding aggregates of one stream as a Spark plan: its rows are right rows that no left row ever meets."""

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as spark_types
from pyspark.sql.types import DataType, LongType, TimestampNTZType

from streamjoin.errors import StreamJoinError
from streamjoin.layout import Grid, Keyed, Layout
from streamjoin.operators.expr import quote_name
from streamjoin.operators.types import from_spark
from streamjoin.plan.reduction import Aggregate, Sliding, Taken
from streamjoin.predicate import Schema, parse
from streamjoin.spark.aggregable import is_grouped
from streamjoin.spark.asked import Asked, ask_types
from streamjoin.spark.build import Planned
from streamjoin.spark.compat import UTC, read_setting
from streamjoin.spark.compat import arrow_type as to_arrow
from streamjoin.spark.fields import arrow_type
from streamjoin.spark.inputs import Frames, read
from streamjoin.spark.python import check_python
from streamjoin.spark.settings import check_settings
from streamjoin.spec.duration import Duration
from streamjoin.spec.how import How
from streamjoin.spec.window import Between
from streamjoin.sql.aggregable import check_types
from streamjoin.sql.aggregates import AGGREGATED, AggregateCall, read_items
from streamjoin.sql.select import JOIN_TIME, Carried, check_names, find, quote_path

WINDOW_TIME = "window_time"
OPS = frozenset(
    (
        *("count", "count_if", "sum", "avg", "min", "max", "bool_and", "bool_or"),
        *("var_pop", "var_samp", "stddev_pop", "stddev_samp"),
    )
)
"""The aggregates whose parts can be put together."""

_VALUE = "__streamjoin_value"
_HINT = ". Columns are named without a side, as in count(x): there is one stream"


def plan_sliding(
    stream: Frames,
    *,
    size: int,
    every: int,
    by: Sequence[str],
    time: str,
    delay: Duration | None,
    select: Sequence[str],
    layout: Layout | None,
    name: str,
) -> "Slid":
    """Check the arguments of a sliding aggregate of a streaming or a batch input."""
    try:
        source = read("r", stream, time, delay)
    except StreamJoinError as error:
        raise StreamJoinError(str(error).replace("right", "stream").replace("the stream input", "the stream")) from None
    spark = source.frame.sparkSession
    check_settings(spark, streaming=source.is_streaming)
    check_python(spark)
    schema = Schema.from_spark(source.schema)
    for each in by:
        _check_group(find("r", [each], source.schema, "by"))
    same = " AND ".join(f"l.{quote_name(each)} <=> r.{quote_name(each)}" for each in by)
    predicate = parse(same or "true", schema, schema)
    asked = Asked(spark, {"l": source, "r": source}, predicate, Between(1 - size, 0), name)
    slid = Slid(asked, size, every, by, select, layout or _choose_layout(spark, by))
    slid.is_chosen = layout is None
    return slid


def _choose_layout(spark: SparkSession, by: Sequence[str]) -> Layout:
    if not by:
        return Grid(1, 1)
    return Keyed(min(16, int(read_setting(spark, "spark.sql.shuffle.partitions") or 1)))


def _check_group(carried: Carried) -> None:
    if not is_grouped(carried.type):
        raise StreamJoinError(
            f"by: {carried.path[0]} is {carried.type.simpleString()}; expected numbers, strings, binaries, dates, "
            "times or booleans to group by"
        )


class Slid(Planned):
    """A sliding aggregate that was checked, ready to be built."""

    time_column = WINDOW_TIME
    sides = ("r",)

    def __init__(
        self, asked: Asked, size: int, every: int, by: Sequence[str], select: Sequence[str], layout: Layout
    ) -> None:
        self._size, self._every, self._by = size, every, by
        self._items = read_items(select)
        if qualified := [item for item in self._items if item.columns]:
            raise StreamJoinError(
                f"select: {qualified[0].text!r} names a side; there is one stream: name columns alone"
            )
        self._written: dict[Carried, str] = {}
        super().__init__(asked, "inner", None, layout, ("", ""))

    def show_column(self, carried: Carried) -> str:
        """A carried column as people write it."""
        return self._written.get(carried) or super().show_column(carried)

    def _choose_columns(self, select: Sequence[str] | None, suffixes: tuple[str, str], how: How) -> list[Carried]:
        del select, suffixes, how
        source = self.inputs["r"]
        check_names(["window", *self._by, *(item.name for item in self._items), WINDOW_TIME])
        self._keys = [self._carry_key(find("r", [each], source.schema, "by")) for each in self._by]
        carried, each = list(self._keys), []
        calls = [call for item in self._items for call in item.calls]
        self._types = self._ask_types([call.write() for call in calls])
        for call, type in zip(calls, self._types, strict=True):
            values = self._read_values(call)
            carried += [value for value in values if value not in carried]
            op = {"bool_and": "min", "bool_or": "max", "count_if": "count"}.get(call.op, call.op)
            operands = tuple(Taken("r", carried.index(value)) for value in values)
            each.append(Aggregate(op, operands, to_arrow(type, UTC)))
        self._reduction = Sliding(self._size, self._every, len(self._keys), tuple(each))
        computed = [f"({sql}) AS {value.path[0]}" for value, sql in self._written.items()]
        frame = source.frame.selectExpr("*", *computed)
        self.inputs = {"l": source, "r": replace(source, frame=frame)}
        return carried

    def _carry_key(self, key: Carried) -> Carried:
        """A column to group by; of floating ones -0.0 is 0.0, as in Spark."""
        if not isinstance(key.type, spark_types.FractionalType) or isinstance(key.type, spark_types.DecimalType):
            return key
        return self._compute(f"{quote_path(key.path)} + CAST(0 AS {key.type.simpleString()})", key.type)

    def _ask_types(self, texts: Sequence[str]) -> list[DataType]:
        return ask_types(self.inputs["r"].frame, texts, "select", _HINT)

    def _read_values(self, call: AggregateCall) -> list[Carried]:
        """The column that an aggregate is of."""
        if call.op not in OPS:
            raise StreamJoinError(f"select: {call.op} cannot slide; expected one of {', '.join(sorted(OPS))}")
        if not call.args:
            return []
        (text,) = call.args
        if call.op in ("count", "count_if"):
            test = f"({text})" + ("" if call.op == "count_if" else " IS NOT NULL")
            return [self._compute(f"CASE WHEN {test} THEN true END", spark_types.BooleanType())]
        if call.op.startswith(("var", "stddev")):
            text = f"CAST(({text}) AS DOUBLE)"
        (type,) = self._ask_types([text])
        check_types(call, [from_spark(type)])
        return [self._compute(text, type)]

    def _compute(self, sql: str, type: DataType) -> Carried:
        known = {written: carried for carried, written in self._written.items()}
        if sql not in known:
            known[sql] = Carried("r", (f"{_VALUE}{len(self._written)}",), type)
            self._written[known[sql]] = sql
        return known[sql]

    def _list_columns(self, zone: str) -> list[tuple[str, DataType, pa.DataType]]:
        start: list[tuple[str, DataType, pa.DataType]] = [("start", LongType(), pa.int64())]
        keys = [(self._internal_name(c), c.type, arrow_type(c, zone)) for c in self._keys]
        return start + keys + [(f"{AGGREGATED}{at}", t, to_arrow(t, zone)) for at, t in enumerate(self._types)]

    def _name_results(self, rows: DataFrame) -> DataFrame:
        source = self.inputs["r"]
        local = isinstance(source.schema[source.time].dataType, TimestampNTZType)
        start, end = (_write_time(micros, local) for micros in ("start", f"start + {self._size}"))
        keys = [f"{self._internal_name(c)} AS {quote_path([n])}" for c, n in zip(self._keys, self._by, strict=True)]
        every = [f"{AGGREGATED}{at}" for at in range(len(self._types))]
        window = f"struct({start} AS start, {end} AS end) AS window"
        whole = rows.selectExpr(window, *keys, *every, f"{JOIN_TIME} AS {WINDOW_TIME}")
        items = [f"{item.text} AS {quote_path([item.name])}" for item in self._items]
        return whole.selectExpr("window", *(quote_path([n]) for n in self._by), *items, WINDOW_TIME)


def _write_time(micros: str, local: bool) -> str:
    """Microseconds as a timestamp in SQL; one without a zone where the stream's own are so."""
    return f"timestampadd(MICROSECOND, {micros}, TIMESTAMP_NTZ'1970-01-01')" if local else f"timestamp_micros({micros})"
