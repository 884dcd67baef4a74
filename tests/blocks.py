"""Rows as Python has them turned into the blocks that a worker takes, and its results turned back.

Key columns are what Spark computes before the join; here `evaluate` computes them, a row at a time.
"""

from collections.abc import Iterable, Sequence
from dataclasses import astuple, replace
from typing import Any
from zlib import crc32

import numpy as np
import pyarrow as pa

from streamjoin.operators.evaluate import evaluate
from streamjoin.operators.expr import Key
from streamjoin.pane import KeyColumn, Rows, Segment
from streamjoin.plan import Block, Plan
from streamjoin.predicate import Schema
from streamjoin.reference import Joined, Row, content
from streamjoin.spec.side import Side
from streamjoin.worker import Counters, Worker

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
    """Rows that have a time as a block: time is the column "ts", the payload the whole row."""
    rows = timed(rows)
    return Block(
        Rows(
            np.array([row["ts"] for row in rows], np.int64),
            tuple(_key_column(key, side, rows) for key in plan.keys[side]),
            pa.RecordBatch.from_pylist([dict(row) for row in rows], plan.payload(side)),
            route=hash_rows(side, rows),
        )
    )


def hash_rows(side: str, rows: Iterable[Row]) -> np.ndarray:
    """The hashes that rows are routed by."""
    return np.array([tie(side, row) for row in rows], np.int64)


def tie(side: str, row: Row) -> int:
    """The hash of a row, also as the reference asks for it: of side "l" or "left"."""
    return crc32(repr((side[0], content(row))).encode()) - (1 << 31)


def send(block: Block) -> Block:
    """The same block after the way it comes in: as bytes."""
    return replace(block, rows=Segment.from_bytes(Segment("", block.rows).to_bytes(), "sent").rows)


def timed(rows: Iterable[Row]) -> list[Row]:
    """Rows without a time are dropped before a worker sees them."""
    return [row for row in rows if row["ts"] is not None]


def total(counted: Iterable[Counters]) -> Counters:
    """What several batches counted together."""
    return Counters(*(sum(values) for values in zip(*map(astuple, counted), strict=True)))


class StateStore:
    """What a worker has stored elsewhere: each segment once, flags when they change, a manifest after every batch."""

    def __init__(self, *, caches: bool = False) -> None:
        self.entries: dict[str, bytes] = {}
        self.manifest = b""
        self.cache: dict[str, Segment] | None = {} if caches else None

    def save(self, worker: Worker) -> None:
        for segment in worker.take_new_segments():
            assert segment.name not in self.entries, "a segment is written once"
            self.entries[segment.name] = segment.to_bytes()
        self.entries |= worker.take_changed_flags()
        for name in worker.take_dropped_names():
            del self.entries[name]
        self.manifest = worker.to_manifest()
        if self.cache is not None:
            self.cache |= {segment.name: segment for segment in worker.list_segments()}

    def restore(self, plan: Plan) -> Worker:
        return Worker.restore(plan, self.manifest, self.fetch)

    def fetch(self, name: str) -> Segment | bytes | None:
        cached = self.cache and self.cache.get(name)
        return cached or self.entries.get(name)


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
    split, width = len(plan.left), len(plan.columns)
    return [
        Joined(_row(plan.left, values[:split]), _row(plan.right, values[split:width]), values[width])
        for batch in blocks
        for values in zip(*(column.to_pylist() for column in batch.columns), strict=True)
    ]


def _row(schema: pa.Schema, values: Sequence[Any]) -> Row | None:
    row = dict(zip(schema.names, values, strict=False))  # a semi join has no right values at all
    return row if row.get("ts") is not None else None
