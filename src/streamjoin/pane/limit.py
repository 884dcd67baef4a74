"""Which rows are expired: those before a time or before a rank."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamjoin.pane.rows import Rows

NO_TIME = -(2**63)


@dataclass(frozen=True, slots=True)
class Limit:
    """Rows before this time or before this rank are expired: no row can match them any more."""

    time: int = NO_TIME
    rank: int = 0

    def is_live(self, rows: Rows) -> NDArray[np.bool_]:
        """Which rows are not expired."""
        live: NDArray[np.bool_] = rows.time >= self.time
        return live if rows.rank is None or not self.rank else live & (rows.rank >= self.rank)

    def is_expired(self, rows: Rows) -> NDArray[np.bool_]:
        """Which rows are expired."""
        return ~self.is_live(rows)

    def spares(self, rows: Rows) -> bool:
        """Whether no row is expired, as the zone map says."""
        low = rows.zones.low
        return (low.time is None or low.time >= self.time) and (low.rank is None or low.rank >= self.rank)

    def count_live(self, rows: Rows) -> int:
        """How many rows are not expired."""
        return len(rows) if self.spares(rows) else int(np.count_nonzero(self.is_live(rows)))

    def __str__(self) -> str:
        return (f"t{self.time}" if self.time > NO_TIME else "") + (f"r{self.rank}" if self.rank else "")
