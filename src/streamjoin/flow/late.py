"""Rows that a join drops, kept: late ones and those without a time leave it beside the results, each once.

A kept row has the columns that its side carries, where results have them, its own time in place of the join time, and
`COLUMNS`. It changes nothing in state: a query may begin and cease to keep them.
"""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from streamjoin.plan import Block, Plan
from streamjoin.plan.reduction import Aggregates
from streamjoin.spec.how import sides_of
from streamjoin.spec.side import NAMED, Side

REASON, SIDE, WATERMARK = "late_reason", "late_side", "late_watermark"
COLUMNS = (REASON, SIDE, WATERMARK)
"""What a kept row has besides; NULL in a result."""

LATE, NO_TIME, BAD_VALUE = "late", "no time", "bad value"


def keep_late(plan: Plan, side: Side, blocks: Iterable[Block], before: int | None) -> Iterator[pa.RecordBatch]:
    """The rows of one side that come before this watermark, in the one cell where they are counted."""
    for block in blocks:
        earliest = block.rows.zones.low.time
        if before is None or earliest is None or earliest >= before:
            continue
        late = block.time < before
        at = np.flatnonzero(late if block.first is None else late & block.first)
        if len(at):
            payload, reasons = block.rows.payload.take(pa.array(at)), pa.repeat(LATE, len(at))
            yield _build(plan, side, payload, block.time[at], reasons, before)


def keep_timeless(plan: Plan, side: Side, payload: pa.RecordBatch, bad: pa.Array | None) -> pa.RecordBatch:
    """Rows without a time, and which of them could not be read, if that is known; the cell knows the watermark."""
    reasons = pa.repeat(NO_TIME, payload.num_rows) if bad is None else pc.if_else(bad, BAD_VALUE, NO_TIME)
    return _build(plan, side, payload, None, reasons, None)


def set_watermark(kept: pa.RecordBatch, watermark: int | None) -> pa.RecordBatch:
    """Kept rows with the watermark of their micro-batch."""
    at = kept.schema.get_field_index(WATERMARK)
    return kept.set_column(at, kept.schema.field(at), pa.repeat(pa.scalar(watermark, pa.int64()), kept.num_rows))


def is_kept(results: pa.RecordBatch) -> bool:
    """Whether these are kept rows, not results."""
    return REASON in results.schema.names


def _build(
    plan: Plan,
    side: Side,
    payload: pa.RecordBatch,
    times: NDArray[np.int64] | None,
    reasons: pa.Array,
    watermark: int | None,
) -> pa.RecordBatch:
    count, (start, stop) = payload.num_rows, _place(plan, side)
    columns = [
        payload.column(at - start) if start <= at < stop else pa.nulls(count, field.type)
        for at, field in enumerate(plan.columns)
    ]
    columns.append(pa.nulls(count, pa.int64()) if times is None else pa.array(times))
    columns += [reasons, pa.repeat(NAMED[side], count)]
    columns.append(pa.repeat(pa.scalar(watermark, pa.int64()), count))
    names = [*(field.name for field in plan.columns), "join_time", *COLUMNS]
    return pa.RecordBatch.from_arrays(columns, names=names)


def _place(plan: Plan, side: Side) -> tuple[int, int]:
    """Where results have the payload columns of a side, as far as they have them."""
    if isinstance(plan.reduction, Aggregates):  # of the left side the first ones, of the right side none
        return 0, plan.reduction.kept if side == "l" else 0
    if side not in sides_of(plan.how):
        return 0, 0
    return (0, len(plan.left)) if side == "l" else (len(plan.left), len(plan.left) + len(plan.right))
