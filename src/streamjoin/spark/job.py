"""What travels to the Python workers of Spark, and how it is taken up there.

A `Job` is sent as bytes and unpacked inside the task, so that an executor that lacks a package says so in a sentence,
not in a trace from inside Spark's own unpickling. For the same reason nothing here imports a kernel.
"""

import pickle
import platform
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from streamjoin.errors import StreamJoinError
from streamjoin.spark.placement import dealt_keys

if TYPE_CHECKING:
    from streamjoin.flow.cache import CacheSpec
    from streamjoin.layout import Layout
    from streamjoin.operators.types import Type
    from streamjoin.plan import Plan
    from streamjoin.spec.side import Side


@dataclass(frozen=True)
class KeySource:
    """Where an emitter finds a key: its column, and that of its hashes where it is no number."""

    type: "Type"
    column: int
    hashes: int | None = None


@dataclass(frozen=True)
class Source:
    """How the columns of one side arrive at its emitter.

    `time` is the column of microseconds, `route` that of the hashes of whole rows.
    """

    payload: tuple[int, ...]
    keys: tuple[KeySource, ...]
    time: int
    route: int


@dataclass(frozen=True)
class Job:
    """A join as it is run on so many partitions; `text` tells one plan from another."""

    name: str
    text: str
    plan: "Plan"
    layout: "Layout"
    partitions: int
    sources: "dict[Side, Source]"
    cache: "CacheSpec"

    @cached_property
    def cells(self) -> list[int]:
        """The key of each cell, as Spark's records bear it."""
        return dealt_keys(self.layout.cells, self.partitions)

    def packed(self) -> bytes:
        """The job as it travels."""
        return pickle.dumps(self, protocol=pickle.HIGHEST_PROTOCOL)


@lru_cache(maxsize=64)
def unpacked(job: bytes) -> Job:
    """The job that arrived on an executor."""
    try:
        import streamjoin.worker

        del streamjoin
        found: Job = pickle.loads(job)
    except ImportError as error:
        raise StreamJoinError(
            f"Spark's Python on {platform.node()} cannot run streamjoin: {error}. Every executor needs the same "
            "packages as the driver: pip install streamjoin into the Python that PYSPARK_PYTHON names there."
        ) from error
    return found
