"""What is over: rows before a time or before a rank."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamjoin.pane.rows import Rows
from streamjoin.pane.segment import Segment

NO_TIME = -(2**63)


@dataclass(frozen=True, slots=True)
class Limit:
    """Rows before this time or before this rank are over: they meet nobody any more."""

    time: int = NO_TIME
    rank: int = 0

    def live(self, rows: Rows) -> NDArray[np.bool_]:
        """Which rows can still meet somebody."""
        live: NDArray[np.bool_] = rows.time >= self.time
        return live if rows.rank is None or not self.rank else live & (rows.rank >= self.rank)

    def over(self, rows: Rows) -> NDArray[np.bool_]:
        """Which rows have had their last chance."""
        return ~self.live(rows)

    def spares(self, segment: Segment) -> bool:
        """Whether every row of a segment can still meet somebody."""
        low = segment.low
        return (low.time is None or low.time >= self.time) and (low.rank is None or low.rank >= self.rank)

    def live_rows(self, segment: Segment) -> int:
        """How many rows of a segment can still meet somebody."""
        return len(segment) if self.spares(segment) else int(np.count_nonzero(self.live(segment.rows)))

    def __str__(self) -> str:
        return (f"t{self.time}" if self.time > NO_TIME else "") + (f"r{self.rank}" if self.rank else "")
