"""Blocks that wait: a bounded part in memory, the rest in a file without a name."""

import contextlib
import mmap
import os
import tempfile
from pathlib import Path
from typing import IO

import pyarrow as pa


class Spill:
    """Blocks by number; beyond `most_bytes` all that are held go to a file in `scratch`."""

    def __init__(self, most_bytes: int, scratch: Path | None = None) -> None:
        self._most, self._scratch = most_bytes, scratch
        self._blocks: list[pa.Buffer | tuple[int, int]] = []  # in memory, or offset and length in the file
        self._held = 0
        self._file: IO[bytes] | None = None

    def add(self, block: bytes | pa.Buffer) -> int:
        """Keep a block, under this number."""
        self._blocks.append(pa.py_buffer(block))
        self._held += len(block)
        if self._held > self._most:
            self._write()
        return len(self._blocks) - 1

    def read(self, number: int) -> pa.Buffer:
        """One block, in memory."""
        block = self._blocks[number]
        if isinstance(block, pa.Buffer):
            return block
        assert self._file is not None
        self._file.flush()
        offset, length = block
        return pa.py_buffer(os.pread(self._file.fileno(), length, offset))

    def map(self) -> list[pa.Buffer]:
        """All blocks, as views on memory or on the mapped file."""
        mapped = pa.py_buffer(b"")
        if self._file is not None:
            self._file.flush()
            mapped = pa.py_buffer(mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ))
        return [block if isinstance(block, pa.Buffer) else mapped.slice(*block) for block in self._blocks]

    def close(self) -> None:
        """Forget everything."""
        self._blocks.clear()
        self._held = 0
        if self._file is not None:
            with contextlib.suppress(OSError):  # a full disk: what was not written yet is not wanted any more
                self._file.close()
            self._file = None

    def _write(self) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self._scratch, prefix="streamjoin-")  # noqa: SIM115 - closed by `close`
        for number, block in enumerate(self._blocks):
            if isinstance(block, pa.Buffer):
                self._blocks[number] = (self._file.tell(), len(block))
                self._file.write(block)
        self._held = 0
