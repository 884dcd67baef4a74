"""An aggregate over matches as a Spark plan: what Spark computes of rows before, what cells reduce, what is left."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import DataType

from streamjoin.layout import Layout
from streamjoin.operators.expr import Key
from streamjoin.operators.types import Schema, Type, from_spark
from streamjoin.plan.computed import compile_value
from streamjoin.plan.reduction import Aggregate, Aggregates, Computed, Operand, Taken
from streamjoin.spark.asked import Asked, ask_types, read_join
from streamjoin.spark.build import Planned
from streamjoin.spark.compat import UTC
from streamjoin.spark.compat import arrow_type as to_arrow
from streamjoin.spark.fields import arrow_type
from streamjoin.spec.how import How
from streamjoin.spec.late import Late
from streamjoin.spec.side import SIDES, Side
from streamjoin.sql.aggregable import check_types
from streamjoin.sql.aggregates import (
    AGGREGATED,
    AggregateCall,
    find_sides,
    list_kept,
    list_names,
    prepare_call,
    read_items,
)
from streamjoin.sql.bind import bind_expression
from streamjoin.sql.select import JOIN_TIME, Carried, check_names, quote_path, read_column

_VALUE = "__streamjoin_value"
_HINT = ". Columns are named as l.id and r.price"


def plan_aggregate(
    *, how: How, select: Sequence[str], layout: Layout | None, late: Late = "drop", **inputs: Any
) -> "Aggregated":
    """Check the arguments of an aggregate over two inputs, streaming or batch, which are given as to `read_join`."""
    return Aggregated(read_join(**inputs, inner=False), how, select, layout, late)


class Aggregated(Planned):
    """An aggregate that was checked, ready to be built."""

    def __init__(self, asked: Asked, how: How, select: Sequence[str], layout: Layout | None, late: Late) -> None:
        self._items = read_items(select)
        self._written: dict[Carried, str] = {}
        """The SQL of columns that Spark computes, arguments of aggregates."""
        super().__init__(asked, how, None, layout, ("", ""), late=late)

    def show_column(self, carried: Carried) -> str:
        """A carried column as people write it."""
        return self._written.get(carried) or super().show_column(carried)

    # Which columns travel

    def _choose_columns(self, select: Sequence[str] | None, suffixes: tuple[str, str], how: How) -> list[Carried]:
        del select, suffixes, how
        left = self.inputs["l"].schema
        check_names([*list_names(self._items, left), JOIN_TIME, *self.late_columns])
        self._kept = list_kept(self._items, left)
        self._arguments: dict[Side, list[Carried]] = {"l": list(self._kept), "r": []}
        calls = [call for item in self._items for call in item.calls]
        self._types = self._ask_types([call.write() for call in calls])
        each = [self._read_call(call, type) for call, type in zip(calls, self._types, strict=True)]
        self._reduction = Aggregates(len(self._kept), tuple(each))
        self._compute_values()
        return [*self._arguments["l"], *self._arguments["r"]]

    def _ask_types(self, texts: Sequence[str]) -> list[DataType]:
        """The types that Spark gives to expressions over both sides."""
        pair = self.inputs["l"].frame.alias("l").crossJoin(self.inputs["r"].frame.alias("r"))
        return ask_types(pair, texts, "select", _HINT)

    def _read_call(self, call: AggregateCall, type: DataType) -> Aggregate:
        call = prepare_call(call, self._is_large)
        types = self._ask_types(call.args) if call.args else []
        check_types(call, [from_spark(each) for each in types])
        operands = tuple(self._read_argument(text, of) for text, of in zip(call.args, types, strict=True))
        return Aggregate(call.folded, operands, to_arrow(type, UTC), call.known)

    def _is_large(self, text: str) -> bool:
        """Whether a value is more than a plain column of numbers: then only whether there is one is carried."""
        column = self._find_column(text)
        return column is None or not from_spark(column.type).is_machine

    def _find_column(self, text: str) -> Carried | None:
        return read_column(text, {side: self.inputs[side].schema for side in SIDES})

    def _read_argument(self, text: str, type: DataType) -> Operand:
        sides = find_sides(text, {side: self.inputs[side].schema.names for side in SIDES})
        if len(sides) == 2:
            return self._compile(text, type)
        side: Side = "l" if sides == {"l"} else "r"
        return Taken(side, self._carry(side, text, type))

    def _compile(self, text: str, type: DataType) -> Computed:
        """A value of both sides: Spark computes what speaks of one alone, cells the rest."""
        left, right = (Schema.from_spark(self.inputs[side].schema) for side in SIDES)
        compiled = compile_value(text, bind_expression(text, left, right, self._ask_type))
        left_at, right_at = (tuple(map(self._carry_key, keys)) for keys in (compiled.left, compiled.right))
        return Computed(compiled.expr, left_at, right_at, to_arrow(type, UTC))

    def _ask_type(self, sql: str) -> Type | None:
        return from_spark(self._ask_types([sql])[0])

    def _carry_key(self, key: Key) -> int:
        sql = key.sql(lambda column: f"{column.side}.{quote_path(column.path)}")
        return self._carry(key.side, sql, self._ask_types([sql])[0])

    def _carry(self, side: Side, text: str, type: DataType) -> int:
        """The place of a column as it is, or of one that Spark computes."""
        if (column := self._find_column(text)) is not None:
            return self._place(column)
        known = {sql: carried for carried, sql in self._written.items() if carried.side == side}
        if text not in known:
            known[text] = Carried(side, (f"{_VALUE}{len(self._written)}",), type)
            self._written[known[text]] = text
        return self._place(known[text])

    def _place(self, carried: Carried) -> int:
        arguments = self._arguments[carried.side]
        if carried not in arguments:
            arguments.append(carried)
        return arguments.index(carried)

    def _compute_values(self) -> None:
        """Add the computed columns to the inputs; what is hashed and shown stays as it was."""
        for side in SIDES:
            source = self.inputs[side]
            values = [f"({sql}) AS {c.path[0]}" for c, sql in self._written.items() if c.side == side]
            if values:
                frame = source.frame.alias(side).selectExpr(f"{side}.*", *values)
                self.inputs = {**self.inputs, side: replace(source, frame=frame)}

    # What leaves the cells

    def _list_columns(self, zone: str) -> list[tuple[str, DataType, pa.DataType]]:
        kept = [(self._internal_name(c), c.type, arrow_type(c, zone)) for c in self._kept]
        return kept + [(name, type, to_arrow(type, zone)) for name, type in zip(self._names, self._types, strict=True)]

    @property
    def _names(self) -> list[str]:
        """The columns of the aggregates as cells name them."""
        return [field.name for field in self.plan.columns[len(self._kept) :]]

    def _name_results(self, rows: DataFrame) -> DataFrame:
        fields = ", ".join(f"{self._internal_name(c)} AS {quote_path(c.path)}" for c in self._kept)
        row = [f"struct({fields}) AS l"] if fields else []
        aggregates = [f"{name} AS {AGGREGATED}{at}" for at, name in enumerate(self._names)]
        whole = rows.selectExpr(*row, *aggregates, JOIN_TIME, *self.late_columns)
        written = [item.text if item.is_all else f"{item.text} AS {quote_path([item.name])}" for item in self._items]
        ask_types(whole, written, "select", _HINT)
        return whole.selectExpr(*written, JOIN_TIME, *self.late_columns)
