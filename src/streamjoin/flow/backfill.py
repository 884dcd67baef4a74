"""The batch join: a cell streams through time-sorted data.

Emitters sort each partition by time and cut it into small blocks; cells take the blocks in the order of their first
rows, which is then the watermark: no row before it is still to come. So a cell holds a window and, from each
partition, the block that its time runs through: not the history.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from streamjoin.flow.emit import Sent, read_block
from streamjoin.flow.job import Job
from streamjoin.flow.settle import unpack_results
from streamjoin.pane import Rows
from streamjoin.plan import Block
from streamjoin.spec.side import Side

if TYPE_CHECKING:
    from streamjoin.worker import Found

BLOCK_ROWS = 1 << 14
"""A block is no longer than this: from each partition a cell holds one beyond its window."""

STEP_ROWS = 1 << 16
ORDER = ("cell", "since", "side", "part", "seq")
"""The fields of records that put them in order."""


def join_cells(job: Job, records: Iterable[Sent]) -> "Iterator[tuple[int, Iterator[Found]]]":
    """Step by step a cell and what its worker finds, before it rows without a time; records come in `ORDER`."""
    from streamjoin.worker import Worker  # here, since a driver plans such joins without Numba

    for cell, of_cell in groupby(records, key=lambda record: record.cell):
        worker = Worker(job.plan, journal=False)
        for are_kept, some in groupby(of_cell, key=lambda record: record.is_kept):
            if are_kept:
                yield cell, (rows for record in some for rows in unpack_results(record.block or b""))
                continue
            for since, blocks, tally in _cut_steps(some):
                yield cell, worker.process(blocks["l"], blocks["r"], since, tally if job.plan.counts else None)
        yield cell, worker.finish()


def _cut_steps(records: Iterator[Sent]) -> Iterator[tuple[int | None, dict[Side, list[Block]], dict[Side, list[Rows]]]]:
    """Blocks and tallies put together into steps of about `STEP_ROWS` rows, each with the time of its first row."""
    for records_of_step in _group_steps(records):
        since = records_of_step[0][0].since
        blocks: dict[Side, list[Block]] = {"l": [], "r": []}
        tally: dict[Side, list[Rows]] = {"l": [], "r": []}
        for record, block in records_of_step:
            if record.is_tally:
                tally[record.side].append(block.rows)
            else:
                blocks[record.side].append(block)
        yield since, blocks, tally


def _group_steps(records: Iterator[Sent]) -> Iterator[list[tuple[Sent, Block]]]:
    step: list[tuple[Sent, Block]] = []
    rows = 0
    for record in records:
        step.append((record, block := read_block(record)))
        rows += len(block)
        if rows >= STEP_ROWS:
            yield step
            step, rows = [], 0
    if step:
        yield step
