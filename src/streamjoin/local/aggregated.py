"""What an aggregate in this process asks, checked: what travels, what cells reduce, and what is computed of that."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import pyarrow as pa

from streamjoin.errors import StreamJoinError
from streamjoin.local.asked import Asked, check_zone
from streamjoin.local.intake import Source
from streamjoin.operators.arithmetic import EvaluationError
from streamjoin.operators.expr import Column, Expr
from streamjoin.operators.onesided import check_evaluable, evaluate_column, find_arrow, find_column, read_schema
from streamjoin.operators.types import Schema
from streamjoin.plan.computed import compile_value
from streamjoin.plan.reduction import Aggregate, Aggregates, Computed, Operand, Taken
from streamjoin.spec.side import SIDES, Side
from streamjoin.sql.aggregable import check_types, find_type
from streamjoin.sql.aggregates import AGGREGATED, AggregateCall, Item, list_kept, list_names, prepare_call, read_items
from streamjoin.sql.bind import bind_expression
from streamjoin.sql.select import JOIN_TIME, check_names, find


class Aggregated(Asked):
    """An aggregate of all that a left row met."""

    def __init__(self, *, select: Sequence[str], **asked: Any) -> None:
        self._items = read_items(select)
        super().__init__(**asked, select=None)

    @property
    def reduces(self) -> bool:
        """Always."""
        return True

    # Which columns travel

    def _choose_columns(self, *_: Any, **__: Any) -> None:
        left = self._structs["l"]
        self._names = list_names(self._items, left)
        check_names([*self._names, JOIN_TIME])
        kept = list_kept(self._items, left)
        self._sources: dict[Side, list[tuple[Source, pa.DataType]]] = {side: [] for side in SIDES}
        for carried in kept:
            self._place("l", carried.path, carried.type.arrow)
        each = [self._read_call(call) for item in self._items for call in item.calls]
        self._reduction = Aggregates(len(kept), tuple(each))
        reduced = [(carried.path[0], carried.type.arrow) for carried in kept]
        self._reduced = pa.schema([*reduced, *((f"{AGGREGATED}{at}", a.type) for at, a in enumerate(each))])
        self._results = [expr for item in self._items for expr in self._read_item(item)]

    def _list_sources(self, side: Side) -> list[tuple[Source, pa.DataType]]:
        return self._sources[side]

    def _read_call(self, call: AggregateCall) -> Aggregate:
        call = prepare_call(call, self._is_large)
        exprs = [self._bind(text, *(read_schema(self.schemas[side]) for side in SIDES)) for text in call.args]
        types = [expr.type for expr in exprs]
        check_types(call, types)
        operands = tuple(self._read_operand(text, expr) for text, expr in zip(call.args, exprs, strict=True))
        type = find_type(call, types)
        picks = bool(types) and type == types[0] and call.op not in ("sum", "avg")
        arrow = self._find_operand_type(operands[0]) if picks else find_arrow(type)
        return Aggregate(call.folded, operands, arrow, call.known)

    def _bind(self, text: str, left: Schema, right: Schema) -> Expr:
        expr = bind_expression(text, left, right)
        check_evaluable(expr, "select")
        check_zone(expr, self._timezone)
        return expr

    def _is_large(self, text: str) -> bool:
        """Whether a value is more than a plain column of numbers."""
        expr = self._bind(text, *(read_schema(self.schemas[side]) for side in SIDES))
        return not (isinstance(expr, Column) and expr.type.is_machine)

    def _read_operand(self, text: str, expr: Expr) -> Operand:
        if len(expr.sides) < 2:
            side: Side = "l" if expr.sides == {"l"} else "r"
            return Taken(side, self._carry(side, expr))
        compiled = compile_value(text, expr)
        left, right = (
            tuple(self._carry(side, key) for key in keys)
            for side, keys in zip(SIDES, (compiled.left, compiled.right), strict=True)
        )
        return Computed(compiled.expr, left, right, find_arrow(expr.type))

    def _find_operand_type(self, operand: Operand) -> pa.DataType:
        return operand.type if isinstance(operand, Computed) else self._sources[operand.side][operand.column][1]

    def _carry(self, side: Side, expr: Expr) -> int:
        """The place of a column as it is, or of one that is computed."""
        wanted = find_arrow(expr.type)
        if isinstance(expr, Column):
            type = find(side, expr.path, self._structs[side], "select").type.arrow
            if wanted in (None, type) or (expr.type.is_timestamp and type.unit == "us"):
                return self._place(side, expr.path, type)
        _check_computable(expr, self.schemas[side])
        return self._place(side, expr, wanted)

    def _place(self, side: Side, source: Source, type: pa.DataType) -> int:
        sources = self._sources[side]
        if (source, type) not in sources:
            sources.append((source, type))
        return sources.index((source, type))

    # Results

    def _read_item(self, item: Item) -> list[Expr]:
        """The columns of the result that an item stands for, as expressions over what cells give."""
        schema = read_schema(self._reduced)
        if item.is_all:
            found = (schema.find(name) for name in self.schemas["l"].names)
            return [Column(column[1], "l", (column[0],)) for column in found if column is not None]
        expr = self._bind(item.text, schema, Schema([]))
        if not isinstance(expr, Column):
            _check_computable(expr, self._reduced)
        return [expr]

    @cached_property
    def schema(self) -> pa.Schema:
        """The schema of results as the caller sees them."""
        types = [
            find_column(_one_row(self._reduced), expr.path).type if isinstance(expr, Column) else find_arrow(expr.type)
            for expr in self._results
        ]
        return pa.schema([*zip(self._names, types, strict=True), (JOIN_TIME, self._time_type)])

    def present(self, results: pa.RecordBatch) -> pa.RecordBatch:
        """Results under the names that were asked for."""
        *reduced, _ = results.columns
        given = pa.RecordBatch.from_arrays(reduced, schema=self._reduced)
        columns = [
            find_column(given, expr.path) if isinstance(expr, Column) else evaluate_column(expr, given)
            for expr in self._results
        ]
        return pa.RecordBatch.from_arrays([*columns, self._read_time(results)], schema=self.schema)


def _check_computable(expr: Expr, schema: pa.Schema) -> None:
    """Refuse by name what is no value that Arrow holds, or what fails on any row."""
    reason = f"{expr}, which is {expr.type}" if find_arrow(expr.type) is None else None
    try:
        if reason is None:
            evaluate_column(expr, _one_row(schema))
    except EvaluationError:
        return  # other rows may do
    except StreamJoinError as error:
        reason = str(error).partition("only Spark evaluates ")[2]
    if reason is not None:
        raise StreamJoinError(
            f"select: only Spark evaluates {reason}, and there is no Spark here. Compute a column before the join"
        )


def _one_row(schema: pa.Schema) -> pa.RecordBatch:
    """A row of ones, as far as a type has one."""
    return pa.RecordBatch.from_arrays([_one(field.type) for field in schema], schema=schema)


def _one(type: pa.DataType) -> pa.Array:
    for value in (1, "1"):
        try:
            return pa.array([value]).cast(type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            continue
    return pa.nulls(1, type)
