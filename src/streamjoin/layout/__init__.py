"""Who meets whom: one file a system."""

from streamjoin.layout.base import Copy, Layout, Part
from streamjoin.layout.grid import Grid, near_square

__all__ = ["Copy", "Grid", "Layout", "Part", "near_square"]
