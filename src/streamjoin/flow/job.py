"""A join as every process that runs a part of it is told."""

from dataclasses import dataclass

from streamjoin.flow.cache import CacheSpec
from streamjoin.flow.checkpoint import CheckpointKey
from streamjoin.layout import Layout
from streamjoin.operators.types import Type
from streamjoin.plan import Plan
from streamjoin.spec.side import Side


@dataclass(frozen=True)
class KeySource:
    """Where an emitter finds a key: its column, and that of its hashes where it is no number."""

    type: Type
    column: int
    hashes: int | None = None


@dataclass(frozen=True)
class Source:
    """How the columns of one side arrive at its emitter.

    `time` is the column of microseconds, or of timestamps, which are microseconds too, `route` that of the hashes of
    whole rows, `bad` that of which rows could not be read, if rows of this side tell.
    """

    payload: tuple[int, ...]
    keys: tuple[KeySource, ...]
    time: int
    route: int
    bad: int | None = None


@dataclass(frozen=True)
class Job:
    """A join, run on so many partitions; `key` says which checkpoints it may continue."""

    name: str
    key: CheckpointKey
    plan: Plan
    layout: Layout
    partitions: int
    sources: dict[Side, Source]
    cache: CacheSpec
    keeps_late: bool = False
    """Whether rows that are dropped come out beside the results; no part of the key, since state is the same."""
