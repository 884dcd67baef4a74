"""What a join is asked to do: its plan, and the blocks of rows that it is given."""

from streamjoin.plan.block import Block, in_order
from streamjoin.plan.plan import Plan

__all__ = ["Block", "Plan", "in_order"]
