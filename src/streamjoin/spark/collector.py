"""The collector: blocks of results become rows of a DataFrame again.

Where the cells of a grid's row or column (a stripe) must agree on which rows are unmatched, their answers come together
here first. The rows themselves come from the first cell of the stripe; the others send ranks.

Memory: however many rows are decided in one micro-batch, `settle` holds at most `answers.MOST_BYTES` of answers, the
ranks of one page (8 bytes for each of `PAGE` ranks and cell of the stripe) and a block of results; the rest waits in a
file.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from streamjoin.spark.answers import Answers, Blocks
from streamjoin.spark.job import unpacked
from streamjoin.spark.placement import dealt_keys

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from streamjoin.layout import Grid, Layout
    from streamjoin.spark.job import Job
    from streamjoin.spec.side import Side
    from streamjoin.worker import Undecided

SHARED = "cell int, stripe int, page int, block binary"
"""What `settle` takes: results of a cell, with stripe -1; or rows that are unmatched in it, with the stripe of cells
that must agree on them and the page of the stripe's ranks that they are on."""

PAGE = 1 << 17
"""Ranks on one page, which are settled together."""

_RANK = "__rank"


def packed(results: pa.RecordBatch) -> bytes:
    """A block of results as bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, results.schema) as writer:
        writer.write_batch(results)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def unpacked_block(block: pa.Buffer) -> Iterator[pa.RecordBatch]:
    """What `packed` packed."""
    with pa.ipc.open_stream(block) as reader:
        yield from reader


def collect(schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The function of `mapInArrow` that unpacks blocks into rows of this schema."""
    for batch in batches:
        for block in batch.column(0):
            for results in unpacked_block(block.as_buffer()):
                yield labelled(results, schema)


def labelled(results: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Results as Spark expects them: the join time is a timestamp, and timestamps bear the session's zone."""
    columns = [relabelled(column, field.type) for column, field in zip(results.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def relabelled(column: pa.Array, type: pa.DataType) -> pa.Array:
    """The same values under another name of their type: microseconds as a timestamp, a timestamp in another zone."""
    return column if column.type == type else column.cast(type)  # Arrow copies to cast a type to itself, or refuses to


# Rows that several cells decide on


def place(job: "Job") -> str:
    """The key, in SQL, that brings the answers of a stripe together, and deals stripes and results to partitions."""
    from streamjoin.layout import Grid

    grid = job.layout
    assert isinstance(grid, Grid)
    keys = dealt_keys(grid.cells + grid.m + grid.n, job.partitions)
    return f"element_at(array{tuple(keys)}, 1 + if(stripe < 0, cell, {grid.cells} + stripe))"


def share_out(layout: "Layout", cell: int, part: "Undecided") -> Iterator[tuple[int, int, bytes]]:
    """Stripe, page and block of rows that are unmatched in a cell of a grid.

    The grid's rows are numbered before its columns. The first cell of a stripe sends the rows, all others only ranks.
    """
    from streamjoin.layout import Grid

    assert isinstance(layout, Grid)
    row, column = divmod(cell, layout.n)
    stripe = row if part.side == "l" else layout.m + column
    pages, ranks = part.ranks // PAGE, pa.array(part.ranks)
    if counts_shared(layout, cell, part.side):
        ranked = part.results.append_column(_RANK, ranks)
    else:
        ranked = pa.record_batch({_RANK: ranks})
    for page in np.unique(pages).tolist():
        yield stripe, page, packed(ranked.filter(pa.array(pages == page)))


def counts_shared(layout: "Layout", cell: int, side: "Side") -> bool:
    """Whether it is this cell of a stripe that counts the rows which all its cells hold."""
    from streamjoin.layout import Grid

    assert isinstance(layout, Grid)
    row, column = divmod(cell, layout.n)
    return (column if side == "l" else row) == 0


def settle(
    job: bytes, schema: pa.Schema, batches: Iterator[pa.RecordBatch], *, in_order: bool
) -> Iterator[pa.RecordBatch]:
    """The function of `mapInArrow` that unpacks results, and settles which rows are unmatched in all cells of a stripe.

    With `in_order`, records come by stripe and page, and a page is settled when it is over.
    """
    from streamjoin.layout import Grid

    layout = unpacked(job).layout
    assert isinstance(layout, Grid)
    answers = Answers()
    try:
        for cell, stripe, page, block in _records(batches):
            if stripe < 0:
                for results in unpacked_block(block):
                    yield labelled(results, schema)
                continue
            if in_order and (stripe, page) not in answers:
                yield from _settle_pages(layout, answers, schema)
            answers.add((stripe, page), cell, block)
        yield from _settle_pages(layout, answers, schema)
    finally:
        answers.close()


def _records(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, int, int, pa.Buffer]]:
    for batch in batches:
        for cell, stripe, page, block in zip(*batch.columns, strict=True):
            yield cell.as_py(), stripe.as_py(), page.as_py(), block.as_buffer()


def _settle_pages(layout: "Grid", answers: Answers, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    from streamjoin.worker import decide

    for (stripe, _), cells in answers.pages():
        first, *others = layout.stripe("l", stripe) if stripe < layout.m else layout.stripe("r", stripe - layout.m)
        if first in cells and all(cell in cells for cell in others):  # else in some cell every row is matched
            ranks = [[ranks for ranks, _ in _ranked(cells[cell])] for cell in others]
            for unmatched in decide(_ranked(cells[first]), ranks):
                yield labelled(unmatched, schema)


def _ranked(blocks: Blocks) -> "Iterator[tuple[NDArray[np.int64], pa.RecordBatch]]":
    """Ranks and the rows that have them, block by block."""
    for block in blocks:
        for part in unpacked_block(block):
            yield np.asarray(part.column(_RANK)), part.drop_columns([_RANK])
