"""Answers of cells that wait for those of others: a bounded part in memory, the rest in a file without a name.

A first watermark after a long gap decides a whole window at once. In a stream the answers of a stripe's cells come in
any order, and all must be kept until the last is there.
"""

import os
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pyarrow as pa

MOST_BYTES = 64 << 20
"""So many bytes of answers are held in memory; beyond, all that are held go to the file."""

Page = tuple[int, int]
"""A stripe, and a page of its ranks."""

_Place = bytes | tuple[int, int]  # a block in memory, or its offset and length in the file


class Answers:
    """Blocks by page and by the cell that sent them."""

    def __init__(self, scratch: Path | None = None) -> None:
        self._scratch = scratch
        self._places: defaultdict[Page, defaultdict[int, list[_Place]]] = defaultdict(lambda: defaultdict(list))
        self._held = 0
        self._file: IO[bytes] | None = None

    def __contains__(self, page: Page) -> bool:
        return page in self._places

    def add(self, page: Page, cell: int, block: bytes | pa.Buffer) -> None:
        """Keep a block; a buffer is copied, because it may be part of a much larger one."""
        self._places[page][cell].append(block if isinstance(block, bytes) else block.to_pybytes())
        self._held += len(block)
        if self._held > MOST_BYTES:
            self._spill()

    def pages(self) -> Iterator[tuple[Page, dict[int, "Blocks"]]]:
        """Page after page, the blocks of each cell; afterwards nothing is kept."""
        for page, cells in self._places.items():
            yield page, {cell: Blocks(self._file, places) for cell, places in cells.items()}
        self.close()

    def close(self) -> None:
        """Forget everything."""
        self._places.clear()
        self._held = 0
        if self._file is not None:
            self._file.close()
            self._file = None

    def _spill(self) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self._scratch, prefix="streamjoin-")  # noqa: SIM115 - closed by `close`
        for cells in self._places.values():
            for places in cells.values():
                for at, place in enumerate(places):
                    if isinstance(place, bytes):
                        places[at] = (self._file.tell(), len(place))
                        self._file.write(place)
        self._held = 0


class Blocks:
    """The blocks of one cell on one page, one at a time in memory."""

    def __init__(self, file: IO[bytes] | None, places: list[_Place]) -> None:
        self._file, self._places = file, places

    def __iter__(self) -> Iterator[pa.Buffer]:
        for place in self._places:
            yield pa.py_buffer(place if isinstance(place, bytes) else self._read(*place))

    def _read(self, offset: int, length: int) -> bytes:
        assert self._file is not None
        self._file.flush()
        return os.pread(self._file.fileno(), length, offset)
