"""Settle: the answers of cells become results.

Where the cells of a grid's row or column (a stripe) must agree on which rows are unmatched, their answers come together
here first. The rows themselves come from the first cell of the stripe; the others send ranks.

Memory: however many rows are decided in one micro-batch, `settle` holds at most `answers.MOST_BYTES` of answers, the
ranks of one page (8 bytes for each of `PAGE` ranks and cell of the stripe) and a block of results; the rest waits in a
file.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.flow.answers import Answers
from streamjoin.layout import Grid, Layout
from streamjoin.pane.stream import write_stream
from streamjoin.spec.side import Side

if TYPE_CHECKING:  # who settles loads no worker
    from streamjoin.worker import Found

PAGE = 1 << 17
"""Ranks on one page, which are settled together."""

KEPT = -2
"""The stripe of kept rows, which have no place in the order of results."""

_RANK = "__rank"
Ranks = NDArray[np.int64]


class Answer(NamedTuple):
    """What a cell found: a block of results, with stripe -1; rows that it dropped; or rows that are unmatched in it.

    Those have the stripe of cells that must agree on them and the page of the stripe's ranks that they are on.
    """

    cell: int
    stripe: int
    page: int
    block: bytes | pa.Buffer


def pack_results(*results: pa.RecordBatch) -> bytes:
    """Results of one schema as bytes."""
    if len(results) == 1:
        return bytes(write_stream(results[0]))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, results[0].schema) as writer:
        for batch in results:
            writer.write_batch(batch)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def unpack_results(block: bytes | pa.Buffer) -> Iterator[pa.RecordBatch]:
    """The results that `pack_results` was given."""
    with pa.ipc.open_stream(block) as reader:
        yield from reader


def answer(layout: Layout, cell: int, found: "Found") -> Iterator[Answer]:
    """What the worker of a cell found, as `settle` takes it.

    The grid's rows are numbered before its columns. The first cell of a stripe sends the rows, all others only ranks.
    """
    if isinstance(found, pa.RecordBatch):
        yield Answer(cell, -1, 0, pack_results(found))
        return
    assert isinstance(layout, Grid)
    row, column = divmod(cell, layout.n)
    stripe = row if found.side == "l" else layout.m + column
    pages, ranks = found.ranks // PAGE, pa.array(found.ranks)
    if is_first_of_stripe(layout, cell, found.side):
        ranked = found.results.append_column(_RANK, ranks)
    else:
        ranked = pa.record_batch({_RANK: ranks})
    for page in np.unique(pages).tolist():
        yield Answer(cell, stripe, page, pack_results(ranked.filter(pa.array(pages == page))))


def is_first_of_stripe(layout: Layout, cell: int, side: Side) -> bool:
    """Whether a cell is the first of those that hold the same rows of a side."""
    assert isinstance(layout, Grid)
    row, column = divmod(cell, layout.n)
    return (column if side == "l" else row) == 0


def settle(
    layout: Layout, answers: Iterable[Answer], *, in_order: bool, scratch: Path | None = None
) -> Iterator[pa.RecordBatch]:
    """The results, and the rows that are unmatched in all cells of a stripe.

    With `in_order`, answers come by stripe and page, and a page is settled when it is over. Answers beyond what is held
    in memory go to a file in `scratch`.
    """
    waiting = Answers(scratch)
    try:
        for cell, stripe, page, block in answers:
            if stripe < 0:
                yield from unpack_results(block)
                continue
            if in_order and (stripe, page) not in waiting:
                yield from _settle_pages(layout, waiting)
            waiting.add((stripe, page), cell, block)
        yield from _settle_pages(layout, waiting)
    finally:
        waiting.close()


def _settle_pages(layout: Layout, waiting: Answers) -> Iterator[pa.RecordBatch]:
    for (stripe, _), cells in waiting.pages():
        assert isinstance(layout, Grid)
        first, *others = layout.stripe("l", stripe) if stripe < layout.m else layout.stripe("r", stripe - layout.m)
        if first in cells and all(cell in cells for cell in others):  # else in some cell every row is matched
            ranks = [[ranks for ranks, _ in _read_ranks(cells[cell])] for cell in others]
            yield from intersect_unmatched(_read_ranks(cells[first]), ranks)


def _read_ranks(blocks: Iterable[pa.Buffer]) -> Iterator[tuple[Ranks, pa.RecordBatch]]:
    """Ranks and the rows that have them, block by block."""
    for block in blocks:
        for part in unpack_results(block):
            yield np.asarray(part.column(_RANK)), part.drop_columns([_RANK])


def intersect_unmatched(
    carried: Iterable[tuple[Ranks, pa.RecordBatch]], others: Sequence[Sequence[Ranks]]
) -> Iterator[pa.RecordBatch]:
    """The rows of one side that are unmatched in all cells of a stripe.

    All cells were given the same rows in the same order, so a row has one rank in all. One of them gives ranks and
    results, block by block; of the others the ranks are enough.
    """
    unmatched = [np.concatenate(ranks) for ranks in others]
    everywhere = reduce(np.intersect1d, unmatched) if unmatched else None
    for ranks, results in carried:
        kept = None if everywhere is None else np.isin(ranks, everywhere, assume_unique=True)
        if kept is None or kept.any():
            yield results if kept is None else results.filter(pa.array(kept))
