"""What workers need to reduce, compiled before it is needed; `match.warm` does the same for matching."""

import contextlib
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from streamjoin.match import Matcher
from streamjoin.match.warm import Kind, make_up
from streamjoin.operators.types import Schema
from streamjoin.pane import Rows
from streamjoin.plan import Block, Plan
from streamjoin.plan.reduction import Aggregate, Aggregates, Pick, Reduction, Sliding, Taken
from streamjoin.predicate import parse
from streamjoin.spec.side import SIDES, Side
from streamjoin.spec.window import Between
from streamjoin.worker.worker import Worker

_ROWS = Kind(16, crowd=1.0)
_COUNT = Aggregate("count", (), pa.int64())
_OF_ANY = ("min", "max", "first", "last")
_OF_NUMBERS = ("avg", "var_pop", "var_samp", "stddev_pop", "stddev_samp")


def warm_reduction(plan: Plan) -> None:
    """Compile what a plan needs to reduce, by letting a worker reduce made-up rows."""
    slides = isinstance(plan.reduction, Sliding)
    for unit in (1.0, 0.1):  # sums that are exact, and sums that are rounded
        left, right = ([Block(_make_rows(plan, side, unit))] for side in SIDES)
        worker = Worker(plan)
        with contextlib.suppress(Exception):  # a value may be none that an aggregate takes: it is compiled by then
            list(worker.process([] if slides else left, right, None))
            list(worker.finish())


def list_reductions() -> Iterator[Plan]:
    """Plans that need all that reducing may: every aggregate of whole and floating numbers, and picks."""
    columns = {"ts": "bigint", "x": "bigint", "y": "double"}
    schema, payload = Schema(columns), pa.schema([("ts", pa.int64()), ("x", pa.int64()), ("y", pa.float64())])
    every = (_COUNT, *_list_aggregates(1, pa.int64()), *_list_aggregates(2, pa.float64()))
    slid = tuple(each for each in every if each.op not in ("first", "last", "min_by", "max_by"))
    reductions: list[Reduction] = [Aggregates(1, every), Pick("backward"), Pick("nearest"), Sliding(4, 2, 1, slid)]
    for reduction in reductions:
        on = parse("l.x <=> r.x", schema, schema)
        yield Plan(on, Between(-3, 0), payload, payload, reduction=reduction)


def _list_aggregates(column: int, type: pa.DataType) -> Iterator[Aggregate]:
    value, time = Taken("r", column), Taken("r", 0)
    yield Aggregate("count", (value,), pa.int64())
    yield Aggregate("sum", (value,), type)
    yield from (Aggregate(op, (value,), pa.float64()) for op in _OF_NUMBERS)
    yield from (Aggregate(op, (value,), type) for op in _OF_ANY)
    yield from (Aggregate(op, (value, time), type) for op in ("min_by", "max_by"))


def _make_rows(plan: Plan, side: Side, unit: float) -> Rows:
    rows = make_up(Matcher(plan.predicate, plan.window), plan.predicate, side, _ROWS)
    columns = [_make_column(field.type, len(rows), unit) for field in plan.payload(side)]
    payload = pa.RecordBatch.from_arrays(columns, schema=plan.payload(side)) if columns else rows.payload
    return replace(rows, payload=payload, route=np.arange(len(rows)))


def _make_column(type: pa.DataType, count: int, unit: float) -> pa.Array:
    if pa.types.is_floating(type):
        return pa.array(np.arange(count) * unit).cast(type)
    try:
        return pa.array(np.zeros(count, np.int8)).cast(type)
    except pa.ArrowException:
        return pa.nulls(count, type)
