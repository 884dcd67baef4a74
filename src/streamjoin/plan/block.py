"""Arriving rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.pane import Rows
from streamjoin.pane.order import argsort_rows

Mask = NDArray[np.bool_]
_MASKS = ("probes", "stores", "first")


@dataclass(frozen=True)
class Block:
    """Arriving rows of one side.

    Masks say of each row whether it probes here, whether it is stored here, and whether this is the one of its copies
    that counts it; None stands for all.
    """

    rows: Rows
    probes: Mask | None = None
    stores: Mask | None = None
    first: Mask | None = None

    def __post_init__(self) -> None:
        for name in _MASKS:
            if (mask := getattr(self, name)) is not None and len(mask) != len(self.rows):
                raise ValueError(f"block: {name} has {len(mask)} rows; time has {len(self.rows)}")

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def time(self) -> NDArray[np.int64]:
        """The time of every row."""
        return self.rows.time

    def take(self, indices: NDArray[np.int64]) -> "Block":
        """These rows alone, in this order."""
        return Block(self.rows.take(indices), *(None if mask is None else mask[indices] for mask in self._masks()))

    def filter(self, mask: Mask) -> "Block":
        """The rows of the mask."""
        return self if mask.all() else self.take(np.flatnonzero(mask))

    def slice(self, start: int, stop: int) -> "Block":
        """A stretch of the rows."""
        masks = (None if mask is None else mask[start:stop] for mask in self._masks())
        return Block(self.rows.slice(start, stop - start), *masks)

    def drop_idle(self) -> "Block":
        """The rows that probe here or are stored here."""
        return self if self.probes is None or self.stores is None else self.filter(self.probes | self.stores)

    @classmethod
    def concat(cls, blocks: Sequence["Block"]) -> "Block":
        """All rows, one block after the other; a single block is returned as it is."""
        if len(blocks) == 1:
            return blocks[0]
        masks = (_concat_masks(blocks, name) for name in _MASKS)
        return cls(Rows.concat([block.rows for block in blocks]), *masks)

    def to_rows(self) -> Rows:
        """Rows that carry their masks along as columns, for state."""
        payload = self.rows.payload
        masks = {name: mask for name, mask in zip(_MASKS, self._masks(), strict=True) if mask is not None}
        for name, mask in masks.items():
            payload = payload.append_column(f"__{name}", pa.array(mask))
        return replace(self.rows, payload=payload) if masks else self.rows

    @classmethod
    def from_rows(cls, rows: Rows, columns: int) -> "Block":
        """The block that `to_rows` was asked of, where the payload proper has so many columns."""
        masks = {
            field.name.removeprefix("__"): rows.payload.column(at).to_numpy(zero_copy_only=False)
            for at, field in enumerate(rows.payload.schema)
            if at >= columns
        }
        return cls(replace(rows, payload=rows.payload.select(range(columns))) if masks else rows, **masks)

    def _masks(self) -> tuple[Mask | None, ...]:
        return self.probes, self.stores, self.first


def sort_blocks(blocks: Sequence[Block]) -> list[Block]:
    """All rows in one block, in the order of time and content."""
    if not blocks:
        return []
    block = Block.concat(blocks)
    return [block.take(argsort_rows(block.rows))]


def _concat_masks(blocks: Sequence[Block], name: str) -> Mask | None:
    masks = [getattr(block, name) for block in blocks]
    if all(mask is None for mask in masks):
        return None
    return np.concatenate(
        [np.ones(len(block), np.bool_) if mask is None else mask for block, mask in zip(blocks, masks, strict=True)]
    )
