"""Answers of cells that wait for those of others.

A first watermark after a long gap decides a whole window at once. In a stream the answers of a stripe's cells come in
any order, and all must be kept until the last is there.
"""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from streamjoin.flow.spill import Spill

MOST_BYTES = 64 << 20
"""So many bytes of answers are held in memory; beyond, all that are held go to a file."""

Page = tuple[int, int]
"""A stripe, and a page of its ranks."""


class Answers:
    """Blocks by page and by the cell that sent them."""

    def __init__(self, scratch: Path | None = None) -> None:
        self._spill = Spill(MOST_BYTES, scratch)
        self._numbers: defaultdict[Page, defaultdict[int, list[int]]] = defaultdict(lambda: defaultdict(list))

    def __contains__(self, page: Page) -> bool:
        return page in self._numbers

    def add(self, page: Page, cell: int, block: bytes | pa.Buffer) -> None:
        """Keep a block; a buffer is copied, because it may be part of a much larger one."""
        own = block if isinstance(block, bytes) else block.to_pybytes()
        self._numbers[page][cell].append(self._spill.add(own))

    def pages(self) -> Iterator[tuple[Page, dict[int, Iterator[pa.Buffer]]]]:
        """Page after page, the blocks of each cell, one at a time in memory; afterwards nothing is kept."""
        for page, cells in self._numbers.items():
            yield page, {cell: map(self._spill.read, numbers) for cell, numbers in cells.items()}
        self.close()

    def close(self) -> None:
        """Forget everything."""
        self._numbers.clear()
        self._spill.close()
