"""The join of batch DataFrames on Spark: one job, without state."""

from collections.abc import Iterator, Mapping
from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from streamjoin.flow.backfill import BLOCK_ROWS, ORDER, join_cells
from streamjoin.flow.emit import Sent
from streamjoin.flow.job import Job
from streamjoin.flow.settle import Answer, answer
from streamjoin.spark.collector import ANSWERS, label, place, settle_batches
from streamjoin.spark.emitter import EMITTED, emit_batches
from streamjoin.spark.job import pack_job, unpack_job
from streamjoin.spark.placement import find_cell
from streamjoin.spark.remote import remote
from streamjoin.spec.side import Side

_SCHEMA = pa.schema(list(zip(Answer._fields, (*[pa.int32()] * 3, pa.binary()), strict=True)))


def backfill(job: Job, sides: Mapping[Side, DataFrame], schema: StructType, arrow: pa.Schema) -> DataFrame:
    """The results of a join of two finite inputs, as rows of this schema."""
    packed = pack_job(job)
    emitted = []
    for side, rows in sides.items():
        source = job.sources[side]
        in_order = rows.sortWithinPartitions(f"c{source.time}", f"c{source.route}")  # the same each time
        emitted.append(in_order.mapInArrow(remote(emit_batches, packed, side, block_rows=BLOCK_ROWS), EMITTED))
    blocks = reduce(DataFrame.union, emitted)
    placed = blocks.where("block IS NOT NULL").repartition(job.partitions, "cell").sortWithinPartitions(*ORDER)
    if not job.plan.shared:
        return placed.mapInArrow(remote(join_batches, packed, arrow), schema)
    answers = placed.mapInArrow(remote(answer_batches, packed), ANSWERS)
    together = answers.repartition(job.partitions, F.expr(place(job))).sortWithinPartitions("stripe", "page")
    return together.mapInArrow(remote(settle_batches, packed, arrow, in_order=True), schema)


def join_batches(packed: bytes, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The function of `mapInArrow` that joins the cells of a partition, one after the other."""
    job = unpack_job(packed, "streamjoin.worker")
    for _, found in join_cells(job, _read_records(job, batches)):
        for results in found:
            yield label(results, schema)


def answer_batches(packed: bytes, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same where several cells decide which rows are unmatched: answers, as `settle_batches` takes them."""
    job = unpack_job(packed, "streamjoin.worker")
    for cell, found in join_cells(job, _read_records(job, batches)):
        for part in found:
            if answers := list(answer(job.layout, cell, part)):
                yield to_batch(answers)


def to_batch(answers: list[Answer]) -> pa.RecordBatch:
    """Answers as records."""
    return pa.record_batch([list(column) for column in zip(*answers, strict=True)], schema=_SCHEMA)


def _read_records(job: Job, batches: Iterator[pa.RecordBatch]) -> Iterator[Sent]:
    for batch in batches:
        for key, *values, block in zip(*batch.columns, strict=True):
            cell = find_cell(key.as_py(), job.layout.cells, job.partitions)
            yield Sent._make((cell, *(value.as_py() for value in values), block.as_buffer()))
