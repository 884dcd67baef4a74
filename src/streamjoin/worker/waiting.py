"""Rows that wait until the watermark has passed them: only then is nothing to come that goes before them."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamjoin.pane import NO_TIME, Segment
from streamjoin.pane.manifest import pack_names, unpack_names
from streamjoin.pane.order import is_ready
from streamjoin.plan import Block
from streamjoin.worker.journal import Journal


class Waiting:
    """Blocks of one side that wait, under names of their own; `columns` of a block's payload are its rows' own.

    A block stays as it came until all of its rows are ready: what was released of it lies before the last watermark.
    """

    def __init__(self, prefix: str, columns: int, journal: Journal | None) -> None:
        self._prefix, self._columns, self._journal = prefix, columns, journal
        self._blocks: dict[str, Block] = {}
        self._named = 0
        self._passed = NO_TIME

    def add(self, block: Block) -> None:
        """Let rows wait."""
        self._named += 1
        segment = Segment(f"{self._prefix}{self._named}", block.to_rows())
        self._blocks[segment.name] = block
        if self._journal is not None:
            self._journal.add(segment)

    def release(self, watermark: int) -> Block | None:
        """The rows that the watermark has passed since the last call, as they came; a row at it is not ready."""
        ready = []
        for name, block in list(self._blocks.items()):
            zones = block.rows.zones
            if zones.low.time is not None and zones.low.time < watermark:
                ready.append(block.filter(self._is_waiting(block) & is_ready(block.time, watermark)))
            if zones.high.time is None or zones.high.time < watermark:
                del self._blocks[name]
                if self._journal is not None:
                    self._journal.drop(name)
        self._passed = watermark
        ready = [block for block in ready if len(block)]
        return Block.concat(ready) if ready else None

    def _is_waiting(self, block: Block) -> NDArray[np.bool_]:
        return ~is_ready(block.time, self._passed)

    # Sizes

    def __len__(self) -> int:
        """How many rows wait."""
        return sum(int(np.count_nonzero(self._is_waiting(block))) for block in self._blocks.values())

    @property
    def first(self) -> int:
        """How many rows wait whose first copy this is."""
        masks = ((block.first, self._is_waiting(block)) for block in self._blocks.values())
        return sum(int(np.count_nonzero(waits if first is None else first & waits)) for first, waits in masks)

    @property
    def nbytes(self) -> int:
        """The bytes of all blocks."""
        return sum(block.rows.nbytes for block in self._blocks.values())

    # State

    @property
    def segments(self) -> Iterator[Segment]:
        """What waits, as it is stored."""
        return (Segment(name, block.to_rows()) for name, block in self._blocks.items())

    def to_manifest(self) -> dict[str, Any]:
        """All but rows, as JSON can say it."""
        return {"named": self._named, "names": pack_names(list(self._blocks))}

    def restore(self, manifest: dict[str, Any], watermark: int | None, fetch: Callable[[str], Segment]) -> None:
        """Become what the manifest was taken of, after a batch under this watermark."""
        self._named, self._passed = manifest["named"], NO_TIME if watermark is None else watermark
        for name in unpack_names(manifest["names"]):
            self._blocks[name] = Block.from_rows(fetch(name).rows, self._columns)
