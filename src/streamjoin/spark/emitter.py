"""The emitter on Spark: what a task sends, in record batches.

Spark moves one record per block and cell, tens of them in a micro-batch.
"""

from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark import TaskContext

from streamjoin.flow.emit import BLOCK_ROWS, Sent, emit
from streamjoin.spark.job import explain_missing, unpack_job
from streamjoin.spark.placement import cell_keys
from streamjoin.spec.side import Side

EMITTED = (
    "cell int, side string, part int, seq int, since bigint, invalid bigint, "
    "probes boolean, stores boolean, first boolean, block binary"
)
BATCH_BYTES = 64 << 20
"""A record batch of blocks is no larger, or holds one block: Arrow's binary columns end at 2 GiB, which the copies of
one block can pass in a layout of many cells."""

_TYPES = (pa.int32(), pa.string(), pa.int32(), pa.int32(), pa.int64(), pa.int64(), *[pa.bool_()] * 3, pa.binary())
_SCHEMA = pa.schema(list(zip(Sent._fields, _TYPES, strict=True)))


def emit_batches(
    packed: bytes, side: Side, batches: Iterator[pa.RecordBatch], block_rows: int = BLOCK_ROWS
) -> Iterator[pa.RecordBatch]:
    """The function of `mapInArrow` for one side."""
    job, context = unpack_job(packed), TaskContext.get()
    keys = cell_keys(job.layout.cells, job.partitions)
    groups = emit(job, side, batches, context.partitionId() if context else 0, block_rows)
    with explain_missing():  # a layout may need Numba to route rows
        for records in groups:
            yield from to_batches(records, keys)


def to_batches(records: Iterable[Sent], keys: dict[int, int]) -> Iterator[pa.RecordBatch]:
    """Record batches of bounded bytes, with keys in place of cells.

    A block that goes to many cells is copied when its batch is made, not before.
    """
    held: list[Sent] = []
    held_bytes = 0
    for record in records:
        size = len(record.block or b"")
        if held and held_bytes + size > BATCH_BYTES:
            yield _to_batch(held)
            held, held_bytes = [], 0
        held.append(record._replace(cell=keys[record.cell]))
        held_bytes += size
    if held:
        yield _to_batch(held)


def _to_batch(records: list[Sent]) -> pa.RecordBatch:
    columns = zip(zip(*records, strict=True), _SCHEMA, strict=True)
    return pa.RecordBatch.from_arrays([pa.array(values, field.type) for values, field in columns], schema=_SCHEMA)
