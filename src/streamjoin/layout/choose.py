"""Which layout a join is given that asks for none, and which one can serve it.

The rule, a pure function of the condition, of `how` and of the number of shuffle partitions n, which the checkpoint
pins:

1. Where the condition has an equality or a band with two ends, and n is greater than 4: for an inner join, if n is a
   multiple of 4, ``Keyed(n, spread=2)``: two copies of each row, however large n is, and four cells for the hottest
   key. For another join ``Keyed(n)``, where it keeps each row whose fate matters in one cell.
2. Otherwise, where the fate of left (right) rows matters, ``Grid(n, 1)`` (``Grid(1, n)``), which keeps each of them in
   one cell; and for all others the grid of n cells that is nearest to a square: it takes any condition and any skew,
   and its copies grow with the root of n.

Whether a row met nobody is decided in one cell, where the layout leaves it whole. A grid that does not can still serve:
its cells say who met nobody there, and a second stage finds out who met nobody anywhere.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from streamjoin.errors import StreamJoinError
from streamjoin.layout.base import Layout
from streamjoin.layout.grid import Grid, near_square
from streamjoin.layout.keyed import Keyed
from streamjoin.predicate.expr import SIDES

if TYPE_CHECKING:
    from streamjoin.worker import Plan


def automatic(plan: "Plan", partitions: int) -> Layout:
    """The layout for this join on so many shuffle partitions."""
    from streamjoin.layout.keys import grouping

    preserved = [side for side in SIDES if plan.preserves(side)]
    if partitions > 4 and (by := grouping(plan)) is not None:
        if not preserved and partitions % 4 == 0:
            return Keyed(partitions, spread=2)
        if preserved and not (by.again and by.wide in preserved):
            return Keyed(partitions)
    if len(preserved) == 1:
        return Grid(partitions, 1) if preserved == ["l"] else Grid(1, partitions)
    return near_square(partitions)


def bound(layout: Layout, plan: "Plan") -> "Plan":
    """The plan with the sides whose rows several cells must agree on; refuses a layout that cannot serve the join."""
    layout.router(plan)
    split = tuple(side for side in SIDES if plan.preserves(side) and layout.cost(side, plan).sent > 1)
    if split and (not isinstance(layout, Grid) or plan.how == "left_semi"):
        named = "left" if split[0] == "l" else "right"
        raise StreamJoinError(
            f"layout: {layout} sends a {named} row to several cells, and for how={plan.how!r} one must know whether it "
            f"met anybody; take {automatic(plan, layout.cells)}"
        )
    return replace(plan, shared=split)
