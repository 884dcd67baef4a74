"""ScaleJoin's processing threads (section IV, Algorithm 1): every row probes everywhere and is stored once.

In the paper each thread reads all tuples in one order and keeps every n-th of them, by counting; here a hash of the
row says which cell keeps it, so that a task that is tried again keeps the same rows.

          +---+---+---+---+
     l -> | p | p | S | p |      p: probes the right rows stored there
          +---+---+---+---+      S: probes, and is stored
     r -> | S | p | p | p |
          +---+---+---+---+      each row sent to n cells, stored in one
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from streamjoin.layout.base import Cost, Hashes, Layout, Part, Router, check_whole_number, send_everywhere
from streamjoin.spec.side import Side

if TYPE_CHECKING:
    from streamjoin.pane import Rows
    from streamjoin.plan import Plan


@dataclass(frozen=True)
class Scale(Layout):
    """n cells; a row is sent to all of them and stored in one: the least state, the most to send.

    >>> Scale(4).cells
    4
    """

    n: int

    def __post_init__(self) -> None:
        check_whole_number("Scale(n)", self.n)

    @property
    def cells(self) -> int:
        """All of them alike."""
        return self.n

    def router(self, plan: "Plan") -> Router:
        """To all cells, at home where the hash says."""
        del plan
        return self._route

    def _route(self, side: Side, rows: "Rows", hashes: Hashes) -> Iterator[Part]:
        del side, rows
        return send_everywhere(np.mod(hashes, self.n), self.n)

    def cost(self, side: Side, plan: "Plan") -> Cost:
        """One stored copy."""
        del side, plan
        return Cost(self.n, 1)

    def draw(self) -> str:
        """The cells in a line, with what one row of each side does in them.

        >>> print(Scale(3).draw())
              0   1   2
            +---+---+---+
        l > | p | S | p |   S: probes and is stored
            +---+---+---+
        r > | S | p | p |   p: probes
            +---+---+---+
        """
        return draw_line(self.n)

    def __str__(self) -> str:
        return f"Scale({self.n})"


def draw_line(cells: int) -> str:
    """Cells in a line: a row of each side probes in all of them and is stored in one."""
    shown = min(cells, 12)
    more = "" if shown == cells else " ..."
    border = "    +" + "---+" * shown + more
    left, right = (
        "|".join(" S " if cell == home else " p " for cell in range(shown)) for home in (min(1, cells - 1), 0)
    )
    return "\n".join(
        [
            "     " + " ".join(f"{cell:^3}" for cell in range(shown)).rstrip() + more,
            border,
            f"l > |{left}|{more}   S: probes and is stored",
            border,
            f"r > |{right}|{more}   p: probes",
            border,
        ]
    )
