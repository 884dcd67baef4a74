"""The join on blocks: admit, probe, store, expire."""

from streamjoin.worker.counters import Counters, Size
from streamjoin.worker.output import Found, Undecided
from streamjoin.worker.worker import Worker

__all__ = ["Counters", "Found", "Size", "Undecided", "Worker"]
