"""DP-Join's block layout (section 4.3); parJoin's row, column and block mappings (thesis, 4.5.3).

Left rows are dealt to the m rows of a grid, right rows to its n columns, each by a hash of all it holds; a left row
goes to all cells of its row, a right row to all cells of its column. So every pair meets in one cell:

             r     r'
          +-----+-----+
     l -> | 0,0 | 0,1 |      l meets r in (0, 0) and r' in (0, 1)
          +-----+-----+
    l' -> | 1,0 | 1,1 |      each left row n copies, each right row m copies
          +-----+-----+

The thesis' first mapping deals slots of time instead (4.5.1). It is left out: while one slot lasts, one row and one
column of cells take all that arrives (docs/decisions/0006).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isqrt
from typing import TYPE_CHECKING

import numpy as np

from streamjoin.layout.base import Copy, Cost, Hashes, Layout, Part, Router, check_whole_number, split
from streamjoin.spec.side import Side

if TYPE_CHECKING:
    from streamjoin.pane import Rows
    from streamjoin.plan import Plan


@dataclass(frozen=True)
class Grid(Layout):
    """A grid of m x n cells: n copies of each left row, m of each right row.

    >>> Grid(2, 3).cells
    6
    """

    m: int
    n: int

    def __post_init__(self) -> None:
        check_whole_number("Grid(m)", self.m)
        check_whole_number("Grid(n)", self.n)

    @property
    def cells(self) -> int:
        """All cells of the grid; cell (i, j) is number ``i * n + j``."""
        return self.m * self.n

    def router(self, plan: "Plan") -> Router:
        """Rows of one stripe go to all its cells."""
        del plan
        return self._route

    def _route(self, side: Side, rows: "Rows", hashes: Hashes) -> Iterator[Part]:
        del rows
        stripes = self.m if side == "l" else self.n
        for stripe, positions in split(np.mod(hashes, stripes), stripes):
            cells = self.stripe(side, stripe)
            yield Part(positions, tuple(Copy(cell, first=at == 0) for at, cell in enumerate(cells)))

    def stripe(self, side: Side, stripe: int) -> range:
        """The cells of a row of the grid, or for the right side of a column."""
        return range(stripe * self.n, (stripe + 1) * self.n) if side == "l" else range(stripe, self.cells, self.n)

    def cost(self, side: Side, plan: "Plan") -> Cost:
        """As many copies as a stripe has cells."""
        del plan
        copies = self.n if side == "l" else self.m
        return Cost(copies, copies)

    def draw(self) -> str:
        """The grid with the ways of one row of each side.

        >>> print(Grid(2, 3).draw())
              r
            +---+---+---+
        l > | 0 | 1 | 2 |
            +---+---+---+
            | 3 | 4 | 5 |
            +---+---+---+
        """
        rows, columns = min(self.m, 6), min(self.n, 8)
        width = len(str(self.cells - 1)) + 2
        border = "    +" + "+".join(["-" * width] * columns) + ("+" if columns == self.n else "+ ...")
        lines = ["      " + " " * (width // 2 - 1) + "r", border]
        for row in range(rows):
            cells = "|".join(f"{row * self.n + column:^{width}}" for column in range(columns))
            lines += [f"{'l >' if row == 0 else '':3} |{cells}|", border]
        return "\n".join(lines if rows == self.m else [*lines, "    ..."])

    def __str__(self) -> str:
        return f"Grid({self.m}, {self.n})"


def find_near_square(cells: int) -> Grid:
    """The largest grid of at most so many cells that is no more than three times as long as wide; then the squarest.

    >>> print(find_near_square(12), find_near_square(7))
    Grid(3, 4) Grid(2, 3)
    """
    grids = [Grid(m, min(3 * m, cells // m)) for m in range(1, isqrt(cells) + 1)]
    return max(grids, key=lambda grid: (grid.cells, grid.m))
