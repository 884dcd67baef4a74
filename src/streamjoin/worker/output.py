"""Results in bounded blocks."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.predicate.expr import Side
from streamjoin.worker.plan import Plan

Indices = NDArray[np.int32] | NDArray[np.int64]
Times = NDArray[np.int64]


class Output:
    """Results of a plan from rows of both sides, or of one."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._schema = plan.output
        self._left_only = plan.how in ("left_semi", "left_anti")

    def rows(self, *payloads: pa.RecordBatch) -> int:
        """How many results made of such rows fit into a block."""
        width = sum(payload.nbytes / max(1, payload.num_rows) for payload in payloads) + 8
        return int(max(1, min(self._plan.block_rows, self._plan.block_bytes // width)))

    def pairs(
        self, left: pa.RecordBatch, at_left: Indices, right: pa.RecordBatch, at_right: Indices, join_time: Times
    ) -> pa.RecordBatch:
        """One result for every pair of positions."""
        return self._block([*_taken(left, at_left), *_taken(right, at_right)], join_time)

    def alone(self, side: Side, payload: pa.RecordBatch, at: Indices, join_time: Times) -> Iterator[pa.RecordBatch]:
        """Results that have no part of the other side."""
        size = self.rows(payload)
        for start in range(0, len(at), size):
            piece = slice(start, start + size)
            own, times = _taken(payload, at[piece]), join_time[piece]
            others = self._plan.right if side == "l" else self._plan.left
            absent = [] if self._left_only else [pa.nulls(len(times), field.type) for field in others]
            yield self._block([*own, *absent] if side == "l" else [*absent, *own], times)

    def _block(self, columns: list[pa.Array], join_time: Times) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays([*columns, pa.array(join_time)], schema=self._schema)


def _taken(payload: pa.RecordBatch, at: Indices) -> list[pa.Array]:
    return payload.take(pa.array(at)).columns  # type: ignore[no-any-return]


def gathered(blocks: Iterator[pa.RecordBatch], rows: int, size: int) -> Iterator[pa.RecordBatch]:
    """Small blocks put together, up to so many rows and bytes; a block is never split."""
    held: list[pa.RecordBatch] = []
    held_rows = held_bytes = 0
    for block in blocks:
        if block.num_rows == 0:
            continue
        if held and (held_rows + block.num_rows > rows or held_bytes + block.nbytes > size):
            yield _one(held)
            held, held_rows, held_bytes = [], 0, 0
        held.append(block)
        held_rows += block.num_rows
        held_bytes += block.nbytes
    if held:
        yield _one(held)


def _one(blocks: list[pa.RecordBatch]) -> pa.RecordBatch:
    return blocks[0] if len(blocks) == 1 else pa.concat_batches(blocks)
