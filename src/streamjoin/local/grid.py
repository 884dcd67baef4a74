"""DP-Join's grid in one process (sections 4.3 and 4.4): linear, rectangular or square.

Rows are dealt to stripes in turn, left rows to the m rows of the grid, right rows to its n columns. In DP-Join workers
that share memory hold a stripe's window once (4.4.2); so do cells here, and a row is indexed once whatever m and n are.

                 stripes of right rows
                     0       1
                 +-------+-------+
      stripe 0 > | (0,0) | (0,1) |      left row 1, 3, 5 ... in stripe 0, row 2, 4, 6 ... in stripe 1
                 +-------+-------+
      stripe 1 > | (1,0) | (1,1) |      a cell: the fresh rows of its stripes probe each other's windows
                 +-------+-------+

Departures:
- Rows are dealt in turn only (the thesis, 4.5.2), one by one within a block, which keeps stripes even. By time (4.5.1),
  one stripe takes all that arrives while a slot lasts: loads were 71 to 190 % apart (docs/decisions/0006).
- Kang's procedure in one scan (4.4.3), which finds matches and expired rows of the opposite window at once, is left
  out: matches come from an index, and a stripe drops what is expired once a step, by the zone maps of its segments.
- A counter for each worker of what is expired (4.4.2): all cells of a step run under one watermark, so their views of a
  stripe are one.
"""

from typing import Any

import numpy as np

from streamjoin.layout import Grid
from streamjoin.local.stripes import Dealer, deal_to_homes
from streamjoin.plan import Block
from streamjoin.spec.side import SIDES, Side


class GridDealer(Dealer):
    """Deals rows in turn, by counting."""

    def __init__(self, layout: Grid) -> None:
        self.stripes = {"l": layout.m, "r": layout.n}
        self.cells = [(i, j) for i in range(layout.m) for j in range(layout.n)]
        self._next = dict.fromkeys(SIDES, 0)

    def deal(self, side: Side, block: Block, *, whole: bool) -> list[Block | None]:
        """Each row to the next stripe."""
        count = self.stripes[side]
        homes = (self._next[side] + np.arange(len(block))) % count
        self._next[side] = int((self._next[side] + len(block)) % count)
        return deal_to_homes(block, homes, count, whole=whole)

    def to_state(self) -> Any:
        """Whose turn it is."""
        return self._next

    def from_state(self, state: Any) -> None:
        """Whose turn it was."""
        self._next = dict(state)
