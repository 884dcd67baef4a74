"""Which layout a join is given that asks for none.

The rule, a pure function of the condition and of the number of shuffle partitions n, which the checkpoint pins:

1. Where the condition has an equality or a band with two ends, and n is a multiple of 4 and greater than 4:
   ``Keyed(n, spread=2)``. Two copies of each row, however large n is, and four cells for the hottest key.
2. Otherwise the grid of n cells that is nearest to a square: it takes any condition and any skew, and its copies grow
   with the root of n.
"""

from typing import TYPE_CHECKING

from streamjoin.layout.base import Layout
from streamjoin.layout.grid import near_square
from streamjoin.layout.keyed import Keyed

if TYPE_CHECKING:
    from streamjoin.worker import Plan


def automatic(plan: "Plan", partitions: int) -> Layout:
    """The layout for this join on so many shuffle partitions."""
    from streamjoin.layout.keys import grouping

    if partitions > 4 and partitions % 4 == 0 and grouping(plan) is not None:
        return Keyed(partitions, spread=2)
    return near_square(partitions)
