"""What a join is asked to do: its plan, and the blocks of rows that it is given."""

from streamjoin.plan.block import Block, Mask, sort_blocks
from streamjoin.plan.plan import Plan

__all__ = ["Block", "Mask", "Plan", "sort_blocks"]
