"""Who meets whom: one file a system."""

from streamjoin.layout.base import ROUTING, Copy, Cost, Layout, Part, Router
from streamjoin.layout.cell import Cell
from streamjoin.layout.choose import choose_layout, fit_plan
from streamjoin.layout.grid import Grid
from streamjoin.layout.keyed import Keyed
from streamjoin.layout.scale import Scale

__all__ = [
    "ROUTING",
    "Cell",
    "Copy",
    "Cost",
    "Grid",
    "Keyed",
    "Layout",
    "Part",
    "Router",
    "Scale",
    "choose_layout",
    "fit_plan",
]
