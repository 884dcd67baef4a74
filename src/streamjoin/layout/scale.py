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

from streamjoin.layout.base import Hashes, Line, Part, Router, send_everywhere
from streamjoin.spec.side import Side

if TYPE_CHECKING:
    from streamjoin.pane import Rows
    from streamjoin.plan import Plan


@dataclass(frozen=True)
class Scale(Line):
    """n cells; a row is sent to all of them and stored in one: the least state, the most to send.

    >>> Scale(4).cells
    4
    """

    def router(self, plan: "Plan") -> Router:
        """To all cells, at home where the hash says."""
        del plan
        return self._route

    def _route(self, side: Side, rows: "Rows", hashes: Hashes) -> Iterator[Part]:
        del side, rows
        return send_everywhere(np.mod(hashes, self.n), self.n)

    def __str__(self) -> str:
        return f"Scale({self.n})"
