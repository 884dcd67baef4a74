"""The join on blocks: admit, probe, store, expire."""

from streamjoin.worker.counters import Counters, Size
from streamjoin.worker.output import Found, Undecided, decide
from streamjoin.worker.plan import Block, Plan, in_order
from streamjoin.worker.worker import Worker

__all__ = ["Block", "Counters", "Found", "Plan", "Size", "Undecided", "Worker", "decide", "in_order"]
