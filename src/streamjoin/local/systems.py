"""The system that runs a layout in this process, and the rule of ``layout="auto"``.

The rule is pure, that of joins on Spark with cores in place of shuffle partitions (`layout.choose`): the grid nearest
to a square with a cell a core, a line of cells where the fate of one side's rows matters, and from 8 cores on, where
the condition has an equality, `Keyed`.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from streamjoin.errors import StreamJoinError
from streamjoin.layout import Cell, Grid, Keyed, Layout, Scale, choose_layout, fit_plan
from streamjoin.local.handshake import Handshake

if TYPE_CHECKING:
    from streamjoin.local.engine import Engine
    from streamjoin.local.pool import Pool
    from streamjoin.plan import Plan


def build_engine(layout: "Layout | Handshake", plan: "Plan", pool: "Pool", *, sorts: bool = False) -> "Engine":
    """What runs a layout; refuses a join that it cannot serve, and names a layout that can.

    `sorts`: results are put in order. A semi join's row then goes by its earliest match, not by the first to arrive.
    """
    from streamjoin.local.cell import CellEngine
    from streamjoin.local.chain import ChainEngine
    from streamjoin.local.grid import GridDealer
    from streamjoin.local.keyed import KeyedDealer
    from streamjoin.local.lean import LeanEngine
    from streamjoin.local.reducing import ReducingEngine
    from streamjoin.local.ring import find_axes
    from streamjoin.local.scale import ScaleEngine
    from streamjoin.local.stripes import Stripes

    if plan.reduction is not None:
        if isinstance(layout, Handshake):
            raise StreamJoinError(
                f"layout: in {layout} a left row passes through all workers, and one cell must see all that it meets; "
                f"take {choose_layout(plan, layout.cells)}"
            )
        return ReducingEngine(plan, layout, pool)
    if isinstance(layout, Cell | Scale | Handshake) and plan.how != "inner":
        raise StreamJoinError(
            f"layout: {layout} is for inner joins; for how={plan.how!r} one place must know whether a row is matched: "
            f"take {choose_layout(plan, layout.cells)}"
        )
    if isinstance(layout, Keyed) or plan.how == "left_semi":  # a grid's cells share what is known of a row
        fit_plan(layout, plan)  # type: ignore[arg-type]
    holds = sorts and plan.how == "left_semi"
    match layout:
        case Grid():
            if (axes := find_axes(plan)) is not None:
                return LeanEngine(plan, layout, axes, pool)
            return Stripes(plan, GridDealer(layout), pool, holds=holds)
        case Keyed():
            return Stripes(plan, KeyedDealer(layout, plan), pool, holds=holds)
        case Scale():
            return ScaleEngine(replace(plan, lagging=("l", "r")), layout.n, pool)
        case Cell():
            return CellEngine(plan, layout.n, pool)
        case Handshake():
            return ChainEngine(plan, layout.n)
    raise TypeError(f"not a layout: {layout!r}")
