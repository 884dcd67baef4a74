"""The system that runs a layout in this process, and the rule of ``layout="auto"``.

The rule is pure: with an equality and 8 cores or more ``Keyed``, otherwise the grid nearest to a square with one cell a
core; where the fate of one side's rows matters in one place alone, as in a semi join, a line of cells.
"""

from typing import TYPE_CHECKING

from streamjoin.errors import StreamJoinError
from streamjoin.layout import Grid, Keyed, Layout, choose_layout, fit_plan
from streamjoin.local.handshake import Handshake

if TYPE_CHECKING:
    from streamjoin.local.pool import Pool
    from streamjoin.local.stripes import Stripes
    from streamjoin.plan import Plan


def choose_local(plan: "Plan", cores: int) -> Layout:
    """The layout of a join that asks for none, on so many cores."""
    return choose_layout(plan, cores)


def build_engine(layout: "Layout | Handshake", plan: "Plan", pool: "Pool") -> "Stripes":
    """What runs a layout."""
    from streamjoin.local.grid import GridDealer
    from streamjoin.local.keyed import KeyedDealer
    from streamjoin.local.stripes import Stripes

    match layout:
        case Grid():
            if plan.how == "left_semi":
                fit_plan(layout, plan)
            return Stripes(plan, GridDealer(layout), pool)
        case Keyed():
            fit_plan(layout, plan)
            return Stripes(plan, KeyedDealer(layout, plan), pool)
    raise StreamJoinError(f"layout: {layout} is not served in process")
