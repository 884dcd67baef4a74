"""Which stored rows of a preserved side are matched: one bool a row, found by the row's rank.

State holds them as bitmaps, a page for every 2**17 ranks, written only when one of its flags has changed.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Ranks = NDArray[np.int64]
PAGE = 1 << 17


class Flags:
    """The flags of one side. Ranks only grow; pages before the oldest stored row are dropped."""

    def __init__(self) -> None:
        self._base = self._stop = 0  # the ranks that have a flag; the first is the start of a page
        self._matched = np.zeros(0, np.bool_)
        self._written: set[int] = set()  # pages that are in state
        self._changed: set[int] = set()
        self.dropped = 0
        """How many matched rows were on pages that are dropped."""

    @property
    def count(self) -> int:
        """How many rows have ever been matched."""
        return self.dropped + int(np.count_nonzero(self._matched[: self._stop - self._base]))

    def extend(self, stop: int) -> None:
        """Make room for all ranks before `stop`; new rows are unmatched."""
        used = self._stop - self._base
        if stop - self._base > len(self._matched):
            room = np.zeros(max(stop - self._base, 2 * used), np.bool_)
            room[:used] = self._matched[:used]
            self._matched = room
        self._stop = stop

    def drop(self, oldest: int) -> list[int]:
        """Drop the rows before `oldest`; returns the pages that are not needed in state any more."""
        first = oldest // PAGE
        if first * PAGE <= self._base:
            return []
        self.dropped += int(np.count_nonzero(self._matched[: first * PAGE - self._base]))
        self._matched = self._matched[first * PAGE - self._base :].copy()
        self._base = first * PAGE
        gone = sorted(page for page in self._written if page < first)
        self._written.difference_update(gone)
        self._changed = {page for page in self._changed if page >= first}
        return gone

    def is_matched(self, ranks: Ranks) -> NDArray[np.bool_]:
        """Which of these rows are matched."""
        return self._matched[ranks - self._base]

    def mark(self, ranks: Ranks) -> None:
        """These rows are matched."""
        new = ranks[~self.is_matched(ranks)]
        if len(new):
            self._matched[new - self._base] = True
            first, last = int(new.min()) // PAGE, int(new.max()) // PAGE
            self._changed.update([first] if first == last else np.unique(new // PAGE).tolist())

    # State

    def take_changes(self) -> dict[int, bytes]:
        """The pages that have changed since the last call."""
        changes = {page: self.pack_page(page) for page in sorted(self._changed)}
        self._written |= self._changed
        self._changed.clear()
        return changes

    @property
    def pages(self) -> list[int]:
        """The pages that have a matched row."""
        return sorted(self._written | self._changed)

    def pack_page(self, page: int) -> bytes:
        """The flags of a page, eight to a byte."""
        start = page * PAGE - self._base
        return np.packbits(self._matched[start : start + PAGE]).tobytes()

    def load(self, oldest: int, stop: int, pages: Iterable[tuple[int, bytes]]) -> None:
        """Take over the flags of the ranks from `oldest` to before `stop` from the pages that were written."""
        pages = list(pages)
        self._base = self._stop = min([oldest // PAGE, *(page for page, _ in pages)]) * PAGE
        self.extend(stop)
        for page, bitmap in pages:
            start = page * PAGE - self._base
            count = min(PAGE, stop - page * PAGE)
            self._matched[start : start + count] = np.unpackbits(np.frombuffer(bitmap, np.uint8), count=count)
            self._written.add(page)
