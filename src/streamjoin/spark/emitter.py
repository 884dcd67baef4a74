"""The emitter: rows become columnar blocks, and blocks are sent to cells.

Spark moves one record per block and cell, tens of them in a micro-batch, and no row becomes a Python object. A block
goes as the bytes of a segment. The task of partition 0 sends every cell a header besides, so that a cell without
new rows lets go of what the watermark has passed and reports its load, and one to `PLAN_KEY`, where the plan is kept.
"""

from collections.abc import Iterable, Iterator
from itertools import count
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from streamjoin.spark.collector import relabelled
from streamjoin.spark.job import Job, unpacked

if TYPE_CHECKING:
    from streamjoin.layout import Part
    from streamjoin.pane import Rows
    from streamjoin.spec.side import Side

EMITTED = (
    "cell int, side string, part int, seq int, since bigint, invalid bigint, "
    "probes boolean, stores boolean, first boolean, block binary"
)
PLAN_KEY = -1
BLOCK_BYTES = 8 << 20
BLOCK_ROWS = 1 << 18
BATCH_BYTES = 64 << 20
"""A record batch of blocks is no larger, or holds one block: Arrow's binary columns end at 2 GiB, which the copies of
one block can pass in a layout of many cells."""

_SCHEMA = pa.schema(
    [
        ("cell", pa.int32()),
        ("side", pa.string()),
        ("part", pa.int32()),
        ("seq", pa.int32()),
        ("since", pa.int64()),
        ("invalid", pa.int64()),
        *((name, pa.bool_()) for name in ("probes", "stores", "first")),
        ("block", pa.binary()),
    ]
)


def emit(
    job: bytes, side: "Side", batches: Iterator[pa.RecordBatch], block_rows: int = BLOCK_ROWS
) -> Iterator[pa.RecordBatch]:
    """The function of `mapInArrow` for one side."""
    from pyspark import TaskContext

    context = TaskContext.get()
    yield from emitted(unpacked(job), side, batches, context.partitionId() if context else 0, block_rows)


def emitted(
    job: Job, side: "Side", batches: Iterator[pa.RecordBatch], part: int, block_rows: int
) -> Iterator[pa.RecordBatch]:
    """The records that one task sends."""
    from streamjoin.worker.output import gather_blocks

    route, numbers, invalid = job.layout.router(job.plan), count(), 0
    for batch in gather_blocks(batches, block_rows, BLOCK_BYTES):
        rows, hashes, nulls = taken(job, side, batch)
        invalid += nulls
        if len(rows):
            yield from _batches(_sent(job, side, rows, route(side, rows, hashes), part, numbers))
    notes = [_note(job.cells[0], side, part, invalid)] if invalid else []
    if part == 0:
        notes += [_note(cell, side, part) for cell in (*job.cells, PLAN_KEY)]
    yield from _batches(notes)


def taken(job: Job, side: "Side", batch: pa.RecordBatch) -> "tuple[Rows, Any, int]":
    """Rows, the hashes they are routed by, and how many rows had no time and are left out."""
    from streamjoin.pane import Rows, key_column, no_columns, numbers

    source = job.sources[side]
    nulls = batch.column(source.time).null_count
    if nulls:
        batch = batch.filter(batch.column(source.time).is_valid())
    keys = tuple(
        key_column(batch.column(key.column), key.type, None if key.hashes is None else batch.column(key.hashes))
        for key in source.keys
    )
    schema = job.plan.payload(side)
    columns = [relabelled(batch.column(at), field.type) for at, field in zip(source.payload, schema, strict=True)]
    payload = pa.RecordBatch.from_arrays(columns, schema=schema) if columns else no_columns(batch.num_rows)
    time, route = numbers(batch.column(source.time)), numbers(batch.column(source.route))
    return Rows(time, keys, payload, route=route), route, nulls


def _sent(
    job: Job, side: "Side", rows: "Rows", parts: "Iterator[Part]", part: int, numbers: Iterator[int]
) -> Iterator[tuple[Any, ...]]:
    from streamjoin.pane import Segment

    for sent, seq in zip(parts, numbers, strict=False):
        segment = Segment("", rows if len(sent.rows) == len(rows) else rows.take(sent.rows))
        block, since = segment.to_bytes(), segment.low.time
        for copy in sent.copies:
            yield job.cells[copy.cell], side, part, seq, since, 0, copy.probes, copy.stores, copy.first, block


def _note(cell: int, side: "Side", part: int, invalid: int = 0) -> tuple[Any, ...]:
    return cell, side, part, -1, None, invalid, False, False, False, None


def _batches(records: Iterable[tuple[Any, ...]]) -> Iterator[pa.RecordBatch]:
    """Record batches of bounded bytes; a block that goes to many cells is copied when its batch is made, not before."""
    held: list[tuple[Any, ...]] = []
    held_bytes = 0
    for record in records:
        size = len(record[-1] or b"")
        if held and held_bytes + size > BATCH_BYTES:
            yield _batch(held)
            held, held_bytes = [], 0
        held.append(record)
        held_bytes += size
    if held:
        yield _batch(held)


def _batch(records: list[tuple[Any, ...]]) -> pa.RecordBatch:
    columns = zip(zip(*records, strict=True), _SCHEMA, strict=True)
    return pa.RecordBatch.from_arrays([pa.array(values, field.type) for values, field in columns], schema=_SCHEMA)
