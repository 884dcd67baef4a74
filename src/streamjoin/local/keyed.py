"""Keyed in one process: as on Spark, rows that can match are brought together by what the condition says of them.

    key a -> | 0 |      key b -> | 1 |      key c -> | 2 |      a cell has stripes of its own

Which rows those are, is `layout.Keyed`'s answer; the hash of a whole row decides only where a row goes that has no key.
"""

import numpy as np

from streamjoin.layout import Keyed
from streamjoin.local.stripes import Dealer
from streamjoin.plan import Block, Plan
from streamjoin.spec.side import Side


class KeyedDealer(Dealer):
    """Deals rows by their keys."""

    def __init__(self, layout: Keyed, plan: Plan) -> None:
        self.stripes = {"l": layout.cells, "r": layout.cells}
        self.cells = [(cell, cell) for cell in range(layout.cells)]
        self._route = layout.router(plan)

    def deal(self, side: Side, block: Block, *, whole: bool) -> list[Block | None]:
        """Each row to the cells of its key."""
        assert block.rows.route is not None
        masks = [np.zeros(len(block), np.bool_) for _ in self.cells]
        for part in self._route(side, block.rows, block.rows.route):
            for copy in part.copies:
                masks[copy.cell][part.rows] = True
        if whole:
            return [Block(block.rows, mask, mask) for mask in masks]
        return [block.filter(mask) if mask.any() else None for mask in masks]
