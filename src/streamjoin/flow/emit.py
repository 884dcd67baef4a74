"""Emit: rows of one side become columnar blocks, and each block is sent to cells.

A block goes as the bytes of a segment; no row becomes a Python object. The task of partition 0 sends every cell a
header besides, so that a cell without new rows expires what the watermark has passed and reports its load, and one to
`PLAN_CELL`, where the checkpoint's key is kept. Under a count window every cell is told of every row: a tally, time and
hash of each, goes to all of them.

Emitters load neither Numba nor the worker: their processes start before the first row is joined.
"""

from collections.abc import Iterable, Iterator
from itertools import count
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from streamjoin.flow.job import Job
from streamjoin.flow.late import keep_timeless
from streamjoin.flow.settle import pack_results
from streamjoin.layout import Part
from streamjoin.layout.base import Hashes
from streamjoin.pane import Rows, Segment, gather, key_column, no_columns, numbers
from streamjoin.plan import Block
from streamjoin.spec.side import Side

PLAN_CELL = -1
BLOCK_BYTES = 8 << 20
BLOCK_ROWS = 1 << 18


class Sent(NamedTuple):
    """A block on its way to a cell, or a header, which has none.

    `part` and `seq` number the emitting tasks and their blocks, `since` is the time of the block's first row, `invalid`
    counts rows without a time. `first` marks the one copy by which rows are counted. A block that neither probes nor is
    stored is a tally, or, if it is `first`, kept rows without a time.
    """

    cell: int
    side: Side
    part: int
    seq: int = -1
    since: int | None = None
    invalid: int = 0
    probes: bool = False
    stores: bool = False
    first: bool = False
    block: bytes | pa.Buffer | None = None

    @property
    def is_tally(self) -> bool:
        """Whether this tells of rows that went to any cell."""
        return self.block is not None and not (self.probes or self.stores or self.first)

    @property
    def is_kept(self) -> bool:
        """Whether this brings rows without a time, packed as results."""
        return self.first and not (self.probes or self.stores)


def emit(
    job: Job, side: Side, batches: Iterator[pa.RecordBatch], part: int, block_rows: int = BLOCK_ROWS
) -> Iterator[Iterable[Sent]]:
    """What one task sends, in groups: the copies of one block of rows together, the headers at the end."""
    route, numbers, invalid = job.layout.router(job.plan), count(), 0
    for batch in gather(batches, block_rows, BLOCK_BYTES):
        rows, hashes, nulls = read_rows(job, side, batch)
        invalid += nulls
        if nulls and job.keeps_late:
            yield _send_timeless(job, side, batch, part, numbers)
        if len(rows):
            yield _send_blocks(side, rows, route(side, rows, hashes), part, numbers)
            if job.plan.counts:
                yield _send_tally(side, rows, job.layout.cells, part, next(numbers))
    headers = [Sent(0, side, part, invalid=invalid)] if invalid else []
    if part == 0:
        headers += [Sent(cell, side, part) for cell in (*range(job.layout.cells), PLAN_CELL)]
    yield headers


def read_rows(job: Job, side: Side, batch: pa.RecordBatch) -> tuple[Rows, Hashes, int]:
    """Rows, the hashes they are routed by, and how many rows had no time and are left out."""
    source = job.sources[side]
    nulls = batch.column(source.time).null_count
    if nulls:
        batch = batch.filter(batch.column(source.time).is_valid())
    keys = tuple(
        key_column(batch.column(key.column), key.type, None if key.hashes is None else batch.column(key.hashes))
        for key in source.keys
    )
    payload = _read_payload(job, side, batch)
    carried = source.time in source.payload
    time = payload.column(source.payload.index(source.time)) if carried else batch.column(source.time)
    route = numbers(batch.column(source.route))
    return Rows(numbers(time), keys, payload, route=route), route, nulls


def _read_payload(job: Job, side: Side, batch: pa.RecordBatch) -> pa.RecordBatch:
    schema = job.plan.payload(side)
    columns = [
        relabel(batch.column(at), field.type) for at, field in zip(job.sources[side].payload, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema) if columns else no_columns(batch.num_rows)


def relabel(column: pa.Array, type: pa.DataType) -> pa.Array:
    """The same values under another name of their type: microseconds as a timestamp, a timestamp in another zone."""
    return column if column.type == type else column.cast(type)  # Arrow copies to cast a type to itself, or refuses to


def _send_blocks(side: Side, rows: Rows, parts: Iterator[Part], part: int, numbers: Iterator[int]) -> Iterator[Sent]:
    for routed, seq in zip(parts, numbers, strict=False):
        segment = Segment("", rows if len(routed.rows) == len(rows) else rows.take(routed.rows))
        block, since = segment.to_bytes(), segment.low.time
        for copy in routed.copies:
            yield Sent(copy.cell, side, part, seq, since, 0, copy.probes, copy.stores, copy.first, block)


def _send_tally(side: Side, rows: Rows, cells: int, part: int, seq: int) -> Iterator[Sent]:
    """Time and hash of rows to all cells, where they neither probe nor are stored."""
    tally = Segment("", Rows(rows.time, (), no_columns(len(rows)), route=rows.route))
    block, since = tally.to_bytes(), tally.low.time
    for cell in range(cells):
        yield Sent(cell, side, part, seq, since, block=block)


def _send_timeless(job: Job, side: Side, batch: pa.RecordBatch, part: int, sequence: Iterator[int]) -> Iterator[Sent]:
    """Rows without a time, each to the one cell that its hash names: there they are told the watermark."""
    source = job.sources[side]
    timeless = batch.filter(batch.column(source.time).is_null())
    bad = None if source.bad is None else timeless.column(source.bad)
    kept = keep_timeless(job.plan, side, _read_payload(job, side, timeless), bad)
    cells = np.mod(numbers(timeless.column(source.route)), job.layout.cells)
    for cell in np.unique(cells).tolist():
        block = pack_results(kept.filter(pa.array(cells == cell)))
        yield Sent(cell, side, part, next(sequence), first=True, block=block)


def read_block(record: Sent) -> Block:
    """The block that a record brings."""
    assert record.block is not None
    rows = Segment.from_bytes(record.block, f"{record.side} {record.part}.{record.seq}").rows
    masks = (record.probes, record.stores, record.first)
    return Block(rows, *(None if mask else np.zeros(len(rows), np.bool_) for mask in masks))
