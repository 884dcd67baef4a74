"""Keyed: rows that can match are brought together by what the condition says of them. Beyond the papers.

A hash of equal keys, or a bucket of a band, names a group of cells; without `spread` each group is one cell:

    key a -> | 0 |      key b -> | 1 |      key c -> | 2 |      about one copy of each row

and one key that half of all rows bear keeps one cell busy while the others wait. With `spread=g` each group is a grid
of g x g cells, and the rows of a key are dealt to it as `Grid` deals them: g copies, and no cell has more than one part
in g * g of a key's pairs.

    key a -> | 0 | 1 |      key b -> | 4 | 5 |
             | 2 | 3 |               | 6 | 7 |
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from streamjoin.errors import StreamJoinError
from streamjoin.layout.base import Copy, Cost, Hashes, Layout, Part, Router, check_whole_number, split
from streamjoin.layout.grid import Grid
from streamjoin.spec.side import Side

if TYPE_CHECKING:
    from streamjoin.layout.keys import Buckets, KeyHash
    from streamjoin.pane import Rows
    from streamjoin.plan import Plan


@dataclass(frozen=True)
class Keyed(Layout):
    """n cells, a group of ``spread ** 2`` of them for each key; `spread` copies of a row, more near bucket borders.

    >>> print(Keyed(8, spread=2).draw())
    key a > | 0 | 1 |
            | 2 | 3 |
    key b > | 4 | 5 |
            | 6 | 7 |
    """

    n: int
    spread: int = 1

    def __post_init__(self) -> None:
        check_whole_number("Keyed(n)", self.n)
        check_whole_number("Keyed(spread)", self.spread)
        if self.n % self.spread**2:
            raise StreamJoinError(
                f"Keyed(n={self.n}, spread={self.spread}): every group has {self.spread} x {self.spread} cells, "
                f"so n is a multiple of {self.spread**2}, such as {-(-self.n // self.spread**2) * self.spread**2}"
            )

    @property
    def cells(self) -> int:
        """The cells of all groups."""
        return self.n

    @property
    def _block(self) -> Grid:
        return Grid(self.spread, self.spread)

    def router(self, plan: "Plan") -> Router:
        """To the groups that the row's key belongs to."""
        return partial(self._route, self._grouping(plan))

    def _route(self, by: "KeyHash | Buckets", side: Side, rows: "Rows", hashes: Hashes) -> Iterator[Part]:
        groups, block = self.n // self.spread**2, self._block
        first, last = by.groups(side, rows, hashes)
        more = np.minimum(last - first, groups - 1)
        stripe = np.mod(_other_half(hashes), self.spread)
        ways = (np.mod(first, groups) * groups + more) * self.spread + stripe
        for way, positions in split(ways, groups * groups * self.spread):
            place, at = divmod(way, self.spread)
            start, steps = divmod(place, groups)
            cells = [
                (start + step) % groups * block.cells + cell
                for step in range(steps + 1)
                for cell in block.stripe(side, at)
            ]
            yield Part(positions, tuple(Copy(cell, first=number == 0) for number, cell in enumerate(cells)))

    def _grouping(self, plan: "Plan") -> "KeyHash | Buckets":
        from streamjoin.layout.keys import grouping

        found = grouping(plan)
        if found is None:
            raise StreamJoinError(
                f"layout: {self} brings rows together by an equality or by a band with two ends, and the condition "
                "has neither; take Grid(m, n), which takes any condition"
            )
        return found

    def cost(self, side: Side, plan: "Plan") -> Cost:
        """One copy for each cell of a stripe; of some rows of one side a second time."""
        by = self._grouping(plan)
        again = by.again if side == by.wide and self.n > self.spread**2 else 0
        return Cost(self.spread * (1 + again), self.spread * (1 + again))

    def describe_routing(self, plan: "Plan") -> str:
        """The keys."""
        within = "" if self.spread == 1 else ", and within it a hash of the whole row"
        return f"{self._grouping(plan)}{within}"

    def evenness(self, plan: "Plan") -> str:
        """As the keys are."""
        groups = self.n // self.spread**2
        if groups == 1:
            return super().evenness(plan)
        return f"if {self._grouping(plan).even_if} {groups}, none of them with many rows"

    def draw(self) -> str:
        """The groups one below the other."""
        groups = self.n // self.spread**2
        lines = []
        for group in range(min(groups, 4)):
            for row in range(self.spread):
                start = (group * self.spread + row) * self.spread
                cells = "".join(f" {cell} |" for cell in range(start, start + self.spread))
                lines.append(f"{f'key {chr(97 + group)} >' if row == 0 else '':7} |{cells}")
        return "\n".join(lines if groups <= 4 else [*lines, "        ..."])

    def __str__(self) -> str:
        return f"Keyed({self.n})" if self.spread == 1 else f"Keyed({self.n}, spread={self.spread})"


def _other_half(hashes: Hashes) -> Hashes:
    """Bits that the group of a row without a key was not taken from."""
    return hashes >> np.int64(32)
