"""The collector: blocks of results become rows of a DataFrame again.

Where the cells of a grid's row or column (a stripe) must agree on who met nobody, their answers come together here
first.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from streamjoin.spark.job import unpacked
from streamjoin.spark.placement import dealt_keys

if TYPE_CHECKING:
    from streamjoin.layout import Grid, Layout
    from streamjoin.predicate.expr import Side
    from streamjoin.spark.job import Job
    from streamjoin.worker import Undecided

SHARED = "cell int, stripe int, page int, block binary"
"""What `settle` takes: results of a cell, with stripe -1; or rows that met nobody in it, with the stripe of cells that
must agree on them and the page of the stripe's ranks that they are on."""

PAGE = 1 << 17
"""Ranks on one page: in a batch join so many rows of a stripe are held at a time."""

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


def shared_out(layout: "Layout", cell: int, undecided: "Sequence[Undecided]") -> Iterator[tuple[int, int, bytes]]:
    """Stripe, page and block of rows that met nobody in a cell of a grid; its rows are numbered before its columns."""
    from streamjoin.layout import Grid

    for part in undecided:
        assert isinstance(layout, Grid)
        row, column = divmod(cell, layout.n)
        stripe = row if part.side == "l" else layout.m + column
        pages = part.ranks // PAGE
        ranked = part.results.append_column(_RANK, pa.array(part.ranks))
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
    """The function of `mapInArrow` that unpacks results, and settles who met nobody in any cell of its stripe.

    With `in_order`, records come by stripe and page, and a page is settled when it is over.
    """
    from streamjoin.layout import Grid

    layout = unpacked(job).layout
    assert isinstance(layout, Grid)
    answers: _Answers = defaultdict(lambda: defaultdict(list))
    for cell, stripe, page, results in _records(batches):
        if stripe < 0:
            yield labelled(results, schema)
            continue
        if in_order and (stripe, page) not in answers:
            yield from _settled(layout, answers, schema)
        answers[stripe, page][cell].append(results)
    yield from _settled(layout, answers, schema)


_Answers = defaultdict[tuple[int, int], defaultdict[int, list[pa.RecordBatch]]]
"""Who met nobody, by stripe and page and then by cell."""


def _records(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, int, int, pa.RecordBatch]]:
    for batch in batches:
        for cell, stripe, page, block in zip(*batch.columns, strict=True):
            for results in unpacked_block(block.as_buffer()):
                yield cell.as_py(), stripe.as_py(), page.as_py(), results


def _settled(layout: "Grid", answers: _Answers, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    from streamjoin.worker import decided

    for (stripe, _), cells in answers.items():
        if len(cells) == (layout.n if stripe < layout.m else layout.m):  # else in some cell everybody met somebody
            found = [
                [(np.asarray(part.column(_RANK)), part.drop_columns([_RANK])) for part in parts]
                for parts in cells.values()
            ]
            for alone in decided(found):
                yield labelled(alone, schema)
    answers.clear()
