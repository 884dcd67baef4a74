"""Arriving rows."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.pane import KeyColumn, Rows
from streamjoin.pane.order import order


@dataclass(frozen=True)
class Block:
    """Arriving rows of one side, with, per row, whether it probes here and whether it is stored here (None: yes)."""

    time: NDArray[np.int64]
    keys: tuple[KeyColumn, ...]
    payload: pa.RecordBatch
    valid: NDArray[np.bool_] | None = None  # of `time`
    probes: NDArray[np.bool_] | None = None
    stores: NDArray[np.bool_] | None = None
    first: bool = True
    """Whether rows are counted here; of a row that goes to several cells one copy is."""

    def __len__(self) -> int:
        return len(self.time)


def in_order(blocks: Sequence[Block]) -> list[Block]:
    """Blocks whose rows all probe and are stored as one, in the order of time and content."""
    if not blocks:
        return []
    rows = Rows.concat([Rows(block.time, block.keys, block.payload) for block in blocks])
    rows = rows.take(order(rows))
    return [Block(rows.time, rows.keys, rows.payload, first=blocks[0].first)]
