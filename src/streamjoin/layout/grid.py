"""DP-Join's block layout (section 4.2); parJoin's row, column and block mappings (thesis, 4.5).

Left rows are dealt to the m rows of a grid, right rows to its n columns, each by a hash of all it holds; a left row
goes to all cells of its row, a right row to all cells of its column. So every pair meets in one cell:

             r     r'
          +-----+-----+
     l -> | 0,0 | 0,1 |      l meets r in (0, 0) and r' in (0, 1)
          +-----+-----+
    l' -> | 1,0 | 1,1 |      each left row n copies, each right row m copies
          +-----+-----+
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isqrt

import numpy as np

from streamjoin.errors import StreamJoinError
from streamjoin.layout.base import Copy, Hashes, Layout, Part, split
from streamjoin.predicate.expr import Side


@dataclass(frozen=True)
class Grid(Layout):
    """A grid of m x n cells: n copies of each left row, m of each right row.

    >>> grid = Grid(2, 2)
    >>> [[copy.cell for copy in part.copies] for part in grid.parts("l", np.array([0, 1]))]
    [[0, 1], [2, 3]]
    >>> [[copy.cell for copy in part.copies] for part in grid.parts("r", np.array([0, 1]))]
    [[0, 2], [1, 3]]
    """

    m: int
    n: int

    def __post_init__(self) -> None:
        for name, count in (("m", self.m), ("n", self.n)):
            if not isinstance(count, int) or isinstance(count, bool) or count < 1:
                raise StreamJoinError(f"Grid({name}): expected a whole number of cells, 1 or more; got {count!r}")

    @property
    def cells(self) -> int:
        """All cells of the grid; cell (i, j) is number ``i * n + j``."""
        return self.m * self.n

    def parts(self, side: Side, hashes: Hashes) -> Iterator[Part]:
        """Rows of one stripe go to all its cells."""
        stripes = self.m if side == "l" else self.n
        for stripe, rows in split(np.mod(hashes, stripes), stripes):
            yield Part(rows, tuple(Copy(cell, first=at == 0) for at, cell in enumerate(self._stripe(side, stripe))))

    def _stripe(self, side: Side, stripe: int) -> range:
        return range(stripe * self.n, (stripe + 1) * self.n) if side == "l" else range(stripe, self.cells, self.n)

    def __str__(self) -> str:
        return f"Grid({self.m}, {self.n})"


def near_square(cells: int) -> Grid:
    """The grid of so many cells that costs the fewest copies.

    >>> print(near_square(12), near_square(7))
    Grid(3, 4) Grid(1, 7)
    """
    m = next(m for m in range(isqrt(cells), 0, -1) if cells % m == 0)
    return Grid(m, cells // m)
