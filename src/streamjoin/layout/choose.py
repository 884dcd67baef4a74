"""Which layout a join is given that asks for none, and which one can serve it.

The rule, a pure function of the condition, of `how` and of the number of shuffle partitions, which the checkpoint pins.
It lays out n cells: as many as there are partitions, but no more than 16. Beyond, each row's copies and each cell's
fixed cost outweigh what another cell would take over; a cluster that is larger asks for more by name.

1. From 8 cells on, where the condition has an equality (of dates, times or booleans alone it does not count: they
   have few values at a time): for an inner join ``Keyed(k, spread=2)``, with k the multiple of 4 that n reaches: two
   copies of each row, however large n is, and four cells for the hottest key. For another join ``Keyed(n)``, which
   keeps each row whose fate matters in one cell.
2. Otherwise, where the fate of the rows of one side matters, ``Grid(n, 1)`` (for right rows ``Grid(1, n)``), which
   keeps each of them in one cell.
3. For all others the grid nearest to a square that n has room for: it takes any condition and any skew, and its copies
   grow with the root of n. Bands are among them: whether values span enough of a band's buckets to keep n cells of
   `Keyed` busy is not known beforehand.

Whether a row is matched is decided in one cell where the layout sends it to one. A grid that sends it to several can
still serve: each cell says which rows are unmatched there, and a second stage finds those unmatched in all cells.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from streamjoin.errors import StreamJoinError
from streamjoin.layout.base import Layout
from streamjoin.layout.grid import Grid, find_near_square
from streamjoin.layout.keyed import Keyed
from streamjoin.spec.side import NAMED, SIDES

if TYPE_CHECKING:
    from streamjoin.plan import Plan

ENOUGH = 8
"""Cells from which on fewer copies are worth more than certain balance."""

MOST_CELLS = 16


def choose_layout(plan: "Plan", partitions: int) -> Layout:
    """The layout for this join on so many shuffle partitions."""
    from streamjoin.layout.keys import has_many_keys

    cells = min(MOST_CELLS, partitions)
    preserved = [side for side in SIDES if plan.preserves(side)]
    if cells >= ENOUGH and has_many_keys(plan):
        return Keyed(cells) if preserved else Keyed(cells // 4 * 4, spread=2)
    if len(preserved) == 1:
        return Grid(cells, 1) if preserved == ["l"] else Grid(1, cells)
    return find_near_square(cells)


def fit_plan(layout: Layout, plan: "Plan") -> "Plan":
    """The plan with the sides whose rows several cells must agree on; refuses a layout that cannot serve the join."""
    layout.router(plan)
    split = tuple(side for side in SIDES if plan.preserves(side) and layout.cost(side, plan).sent > 1)
    if split and plan.reduction is not None:
        raise StreamJoinError(
            f"layout: {layout} sends a {NAMED[split[0]]} row to several cells, and one cell must see all that it "
            f"meets; take {choose_layout(plan, layout.cells)}"
        )
    if split and (not isinstance(layout, Grid) or plan.how == "left_semi"):
        raise StreamJoinError(
            f"layout: {layout} sends a {NAMED[split[0]]} row to several cells, and for how={plan.how!r} one cell must "
            f"know whether it is matched; take {choose_layout(plan, layout.cells)}"
        )
    return replace(plan, shared=split)
