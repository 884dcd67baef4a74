"""Which kept rows of a preserved side have met somebody: one bool a row, found by the row's rank.

State holds them as bitmaps, a page for every 2**17 ranks, written only when one of its flags has changed.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Ranks = NDArray[np.int64]
PAGE = 1 << 17


class Flags:
    """The flags of one side. Ranks only grow; pages before the oldest kept row are forgotten."""

    def __init__(self) -> None:
        self._base = self._stop = 0  # the ranks that have a flag; the first is the start of a page
        self._met = np.zeros(0, np.bool_)
        self._written: set[int] = set()  # pages that are in state
        self._changed: set[int] = set()
        self.forgotten = 0
        """How many rows had met somebody when their page was forgotten."""

    @property
    def count(self) -> int:
        """How many rows have ever met somebody."""
        return self.forgotten + int(np.count_nonzero(self._met[: self._stop - self._base]))

    def extend(self, stop: int) -> None:
        """Make room for all ranks before `stop`; rows that are new have met nobody."""
        used = self._stop - self._base
        if stop - self._base > len(self._met):
            room = np.zeros(max(stop - self._base, 2 * used), np.bool_)
            room[:used] = self._met[:used]
            self._met = room
        self._stop = stop

    def forget(self, oldest: int) -> list[int]:
        """Forget the rows before `oldest`; returns the pages that are not needed in state any more."""
        first = oldest // PAGE
        if first * PAGE <= self._base:
            return []
        self.forgotten += int(np.count_nonzero(self._met[: first * PAGE - self._base]))
        self._met = self._met[first * PAGE - self._base :].copy()
        self._base = first * PAGE
        over = sorted(page for page in self._written if page < first)
        self._written.difference_update(over)
        self._changed = {page for page in self._changed if page >= first}
        return over

    def met(self, ranks: Ranks) -> NDArray[np.bool_]:
        """Which of these rows have met somebody."""
        return self._met[ranks - self._base]

    def mark(self, ranks: Ranks) -> None:
        """These rows have met somebody."""
        new = ranks[~self.met(ranks)]
        if len(new):
            self._met[new - self._base] = True
            first, last = int(new.min()) // PAGE, int(new.max()) // PAGE
            self._changed.update([first] if first == last else np.unique(new // PAGE).tolist())

    # State

    def changes(self) -> dict[int, bytes]:
        """The pages that have changed since the last call."""
        changes = {page: self.page(page) for page in sorted(self._changed)}
        self._written |= self._changed
        self._changed.clear()
        return changes

    @property
    def pages(self) -> list[int]:
        """The pages on which somebody has met somebody."""
        return sorted(self._written | self._changed)

    def page(self, page: int) -> bytes:
        """The flags of a page, eight to a byte."""
        start = page * PAGE - self._base
        return np.packbits(self._met[start : start + PAGE]).tobytes()

    def load(self, oldest: int, stop: int, pages: Iterable[tuple[int, bytes]]) -> None:
        """Take over the flags of the ranks from `oldest` to before `stop` from the pages that were written."""
        pages = list(pages)
        self._base = self._stop = min([oldest // PAGE, *(page for page, _ in pages)]) * PAGE
        self.extend(stop)
        for page, bitmap in pages:
            start = page * PAGE - self._base
            count = min(PAGE, stop - page * PAGE)
            self._met[start : start + count] = np.unpackbits(np.frombuffer(bitmap, np.uint8), count=count)
            self._written.add(page)
