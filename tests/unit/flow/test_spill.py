"""Blocks that wait come back as they were, from memory or from a file; a full disk is an error of writing alone."""

import io
import tempfile
from typing import IO, Any

import pytest

from streamjoin.flow.spill import Spill

BLOCKS = [b"one", b"two" * 10, b"", b"three"]


@pytest.mark.parametrize("most_bytes", [0, 20, 1000])
def test_blocks_come_back_as_they_were(most_bytes: int) -> None:
    spill = Spill(most_bytes)
    assert [spill.add(block) for block in BLOCKS] == [0, 1, 2, 3]
    assert [bytes(spill.read(number)) for number in (2, 0, 3, 1)] == [b"", b"one", b"three", b"two" * 10]
    assert [bytes(block) for block in spill.map()] == BLOCKS
    spill.close()


class _Full(io.RawIOBase):
    def writable(self) -> bool:
        return True

    readable = seekable = writable

    def seek(self, offset: int, whence: int = 0) -> int:
        return 0

    def write(self, data: Any) -> int:
        raise OSError(28, "No space left on device")


def test_closing_needs_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    def open_full(**_: object) -> IO[bytes]:
        return io.BufferedRandom(_Full())  # type: ignore[arg-type, return-value]

    monkeypatch.setattr(tempfile, "TemporaryFile", open_full)
    spill = Spill(0)
    spill.add(b"one")
    with pytest.raises(OSError, match="No space left"):
        spill.read(0)
    spill.close()
    assert spill.map() == []
