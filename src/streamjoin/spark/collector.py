"""The collector on Spark: answers of cells become rows of a DataFrame again."""

import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from streamjoin.flow.emit import relabel
from streamjoin.flow.job import Job
from streamjoin.flow.settle import Answer, settle, unpack_results
from streamjoin.layout import Grid
from streamjoin.spark.job import unpack_job
from streamjoin.spark.placement import deal_keys

ANSWERS = "cell int, stripe int, page int, block binary"
"""An `Answer` as a record."""


def collect(schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The function of `mapInArrow` that unpacks blocks into rows of this schema."""
    for batch in batches:
        for block in batch.column(0):
            for results in unpack_results(block.as_buffer()):
                yield label(results, schema)


def settle_batches(
    packed: bytes, schema: pa.Schema, batches: Iterator[pa.RecordBatch], *, in_order: bool
) -> Iterator[pa.RecordBatch]:
    """The function of `mapInArrow` that also settles which rows are unmatched in all cells of a stripe."""
    answers = _read_answers(batches)
    for results in settle(unpack_job(packed).layout, answers, in_order=in_order, scratch=find_scratch()):
        yield label(results, schema)


def order_batches(packed: bytes, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The function of `mapInArrow` that is given all answers of a micro-batch and puts the results in order."""
    job = unpack_job(packed, "streamjoin.flow.sequence")
    from streamjoin.flow.sequence import arrange  # here, since it needs Numba

    for results in arrange(job, _read_answers(batches), find_scratch()):
        yield label(results, schema)


def _read_answers(batches: Iterator[pa.RecordBatch]) -> Iterator[Answer]:
    for batch in batches:
        for cell, stripe, page, block in zip(*batch.columns, strict=True):
            yield Answer(cell.as_py(), stripe.as_py(), page.as_py(), block.as_buffer())


def label(results: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Results as Spark expects them: the join time is a timestamp, and timestamps bear the session's zone.

    Columns that kept rows have and results lack, or the other way round, are NULL.
    """
    if results.num_columns < len(schema):
        given = dict(zip(results.schema.names, results.columns, strict=True))
        columns = [given.get(field.name, pa.nulls(results.num_rows, field.type)) for field in schema]
        results = pa.RecordBatch.from_arrays(columns, names=schema.names)
    columns = [relabel(column, field.type) for column, field in zip(results.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def find_scratch() -> Path | None:
    """Spark's own scratch directory on this host, if it tells one."""
    first = Path(os.environ.get("SPARK_LOCAL_DIRS", "").partition(",")[0])
    return first if first.name and first.is_dir() else None


def place(job: Job) -> str:
    """The key, in SQL, that brings the answers of a stripe together, and deals stripes and results to partitions."""
    grid = job.layout
    assert isinstance(grid, Grid)
    keys = deal_keys(grid.cells + grid.m + grid.n, job.partitions)
    return f"element_at(array{tuple(keys)}, 1 + if(stripe < 0, cell, {grid.cells} + stripe))"
