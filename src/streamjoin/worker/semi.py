"""The match that emits a row of a semi join: of those that one batch brings, the earliest."""

import numpy as np
from numpy.typing import NDArray

Ranks = NDArray[np.int64]
Times = NDArray[np.int64]
ROOM = 1 << 18


class Earliest:
    """The least time seen for each rank, in memory bounded by the number of ranks."""

    def __init__(self) -> None:
        self._ranks: list[Ranks] = []
        self._times: list[Times] = []
        self._held, self._room = 0, ROOM

    def add(self, ranks: Ranks, times: Times) -> None:
        """These rows matched at these times."""
        if len(ranks) == 0:
            return
        self._ranks.append(ranks)
        self._times.append(times)
        self._held += len(ranks)
        if self._held > self._room:
            self.reduce()

    def reduce(self) -> tuple[Ranks, Times]:
        """Each rank once, in order, with its least time."""
        if not self._ranks:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        ranks, times = np.concatenate(self._ranks), np.concatenate(self._times)
        order = np.lexsort((times, ranks))
        ranks, times = ranks[order], times[order]
        first = np.append(True, ranks[1:] != ranks[:-1])
        self._ranks, self._times = [ranks[first]], [times[first]]
        self._held = len(self._ranks[0])
        self._room = max(ROOM, 2 * self._held)
        return self._ranks[0], self._times[0]
