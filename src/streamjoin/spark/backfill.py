"""The join of batch DataFrames: a job that streams through time-sorted data.

Emitters sort each partition by time and cut it into small blocks; cells take the blocks in the order of their first
rows, which is then the watermark: no row before it is still to come. So a cell holds a window and, from each
partition, the block that its time runs through: not the history.
"""

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from streamjoin.spark.collector import SHARED, labelled, place, settle, share_out
from streamjoin.spark.collector import packed as pack
from streamjoin.spark.emitter import EMITTED, emit
from streamjoin.spark.job import Job, unpacked
from streamjoin.spark.remote import remote

if TYPE_CHECKING:
    from streamjoin.plan import Block
    from streamjoin.spec.side import Side
    from streamjoin.worker import Found

BLOCK_ROWS = 1 << 14
"""A block is no longer than this: from each partition a cell holds one beyond its window."""

STEP_ROWS = 1 << 16
_SHARED = pa.schema([("cell", pa.int32()), ("stripe", pa.int32()), ("page", pa.int32()), ("block", pa.binary())])
_ORDER = ("cell", "since", "side", "part", "seq")


def backfill(job: Job, left: DataFrame, right: DataFrame, schema: StructType, arrow: pa.Schema) -> DataFrame:
    """The results of a join of two finite inputs, as rows of this schema."""
    packed = job.packed()
    sorted_left, sorted_right = (
        side.sortWithinPartitions(f"c{source.time}", f"c{source.route}")  # the same order each time it is computed
        for side, source in ((left, job.sources["l"]), (right, job.sources["r"]))
    )
    blocks = sorted_left.mapInArrow(remote(emit, packed, "l", block_rows=BLOCK_ROWS), EMITTED).union(
        sorted_right.mapInArrow(remote(emit, packed, "r", block_rows=BLOCK_ROWS), EMITTED)
    )
    placed = blocks.where("block IS NOT NULL").repartition(job.partitions, "cell").sortWithinPartitions(*_ORDER)
    if not job.plan.shared:
        return placed.mapInArrow(remote(_joined, packed, arrow), schema)
    answers = placed.mapInArrow(remote(_answered, packed), SHARED)
    in_order = answers.repartition(job.partitions, F.expr(place(job))).sortWithinPartitions("stripe", "page")
    return in_order.mapInArrow(remote(settle, packed, arrow, in_order=True), schema)


def _joined(job: bytes, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The function of `mapInArrow` that joins the cells of a partition, one after the other."""
    for _, found in _worked(unpacked(job), batches):
        for results in found:
            yield labelled(results, schema)


def _answered(job: bytes, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same where several cells decide which rows are unmatched: results and answers, as `settle` takes them."""
    from streamjoin.worker import Undecided

    told = unpacked(job)
    for cell, found in _worked(told, batches):
        for part in found:
            if isinstance(part, Undecided):
                yield _shared([(cell, *answer) for answer in share_out(told.layout, cell, part)])
            else:
                yield _shared([(cell, -1, 0, pack(part))])


def _shared(records: list[tuple[int, int, int, bytes]]) -> pa.RecordBatch:
    return pa.record_batch([list(column) for column in zip(*records, strict=True)], schema=_SHARED)


def _worked(job: Job, batches: Iterator[pa.RecordBatch]) -> "Iterator[tuple[int, Iterator[Found]]]":
    """Step by step the number of a cell and what its worker finds."""
    from streamjoin.worker import Worker

    records = (record for batch in batches for record in _records(batch))
    for key, of_cell in groupby(records, key=lambda record: record["cell"]):
        cell, worker = job.cells.index(key), Worker(job.plan, journal=False)
        for since, blocks in _steps(of_cell):
            yield cell, worker.process(blocks["l"], blocks["r"], since)
        yield cell, worker.finish()


def _records(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    columns = {name: batch.column(name) for name in (*_ORDER, "block")}
    for at in range(batch.num_rows):
        record = {name: columns[name][at].as_py() for name in _ORDER}
        yield record | {"block": columns["block"][at].as_buffer()}


def _steps(records: Iterator[dict[str, Any]]) -> "Iterator[tuple[int, dict[Side, list[Block]]]]":
    """Blocks put together into steps of about `STEP_ROWS` rows, each with the time of its first row."""
    from streamjoin.pane import Segment
    from streamjoin.plan import Block

    since, rows = 0, 0
    blocks: dict[Side, list[Block]] = {"l": [], "r": []}
    for record in records:
        since = since if rows else record["since"]
        held = Segment.from_bytes(record["block"], f"{record['side']} {record['part']}.{record['seq']}").rows
        blocks[record["side"]].append(Block(held))
        rows += len(held)
        if rows >= STEP_ROWS:
            yield since, blocks
            rows, blocks = 0, {"l": [], "r": []}
    if rows:
        yield since, blocks
