"""Rows as Python has them turned into the blocks that a worker takes, and its results turned back.

Key columns are what Spark computes before the join; here `evaluate` computes them, a row at a time.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from streamjoin.operators.evaluate import evaluate
from streamjoin.operators.expr import Key
from streamjoin.pane import KeyColumn
from streamjoin.plan import Block, Plan
from streamjoin.predicate import Schema
from streamjoin.reference import Joined, Row
from streamjoin.spec.side import Side

ARROW = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "string": pa.string(),
    "timestamp": pa.int64(),
}


def arrow_schema(schema: Schema) -> pa.Schema:
    return pa.schema([(name, ARROW[type.name]) for name, type in schema.columns])


def to_block(plan: Plan, side: Side, rows: Sequence[Row]) -> Block:
    """Rows as a block: time is the column "ts", the payload the whole row."""
    times = [row["ts"] for row in rows]
    return Block(
        np.array([0 if t is None else t for t in times], np.int64),
        tuple(_key_column(key, side, rows) for key in plan.keys[side]),
        pa.RecordBatch.from_pylist([dict(row) for row in rows], plan.left if side == "l" else plan.right),
        valid=np.array([t is not None for t in times], np.bool_),
    )


def _key_column(key: Key, side: Side, rows: Sequence[Row]) -> KeyColumn:
    values = [evaluate(key.arg, row, {}) if side == "l" else evaluate(key.arg, {}, row) for row in rows]
    column = pa.array(values, ARROW[key.type.name])
    valid = column.is_valid().to_numpy(zero_copy_only=False) if column.null_count else None
    if key.type.name == "string":
        hashes = [0 if value is None else len(value) for value in values]  # a hash under which many collide
        return KeyColumn(np.array(hashes, np.int64), valid, column)
    if valid is not None:
        column = column.fill_null(pa.scalar(0, pa.int8()).cast(column.type))
    return KeyColumn(column.to_numpy(zero_copy_only=False), valid)


def to_joined(plan: Plan, blocks: Iterable[pa.RecordBatch]) -> list[Joined]:
    """A worker's results as the reference gives them; a side whose time is NULL has no part in a result."""
    split = len(plan.left)
    return [
        Joined(_row(plan.left, values[:split]), _row(plan.right, values[split:-1]), values[-1])
        for batch in blocks
        for values in zip(*(column.to_pylist() for column in batch.columns), strict=True)
    ]


def _row(schema: pa.Schema, values: Sequence[Any]) -> Row | None:
    row = dict(zip(schema.names, values, strict=False))  # a semi join has no right values at all
    return row if row.get("ts") is not None else None
