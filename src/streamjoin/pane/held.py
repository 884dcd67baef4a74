"""A segment in the list of `Panes`, and what its fate is decided from: zone maps, counts, quantiles."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from streamjoin.pane.limit import Limit
from streamjoin.pane.rows import Rows
from streamjoin.pane.segment import Segment

MOST_BYTES = 1 << 30
"""No merged segment has more: Arrow's strings end at 2 GiB a column."""

QUANTILES = 64


@dataclass(frozen=True, eq=False)
class Held:
    """A segment of the list.

    `weight` and `size` are the rows and bytes of its parts when they arrived; `since` and `until` say where the front
    stood before and after them. `cut` is the limit below which rows were left out, if some were.
    """

    segment: Segment
    weight: int
    size: int
    since: int
    until: int
    cut: Limit | None = None
    prepared: bool = False

    @cached_property
    def rows(self) -> int:
        """How many rows there are, expired ones included."""
        return len(self.segment)

    def is_expired(self, limit: Limit) -> bool:
        """Whether every row is expired."""
        high = self.segment.high
        return high.time is None or high.time < limit.time or (high.rank is not None and high.rank < limit.rank)

    def count_expired(self, limit: Limit) -> int:
        """How many rows are expired, or up to a 64th of the rows more.

        Rank increases with time, so one expired set contains the other: take the larger.
        """
        if limit.spares(self.segment.rows):
            return 0
        by_rank = _count_below(self._ranks, limit.rank, self.rows) if self._ranks is not None and limit.rank else 0
        return max(_count_below(self._times, limit.time, self.rows), by_rank)

    @cached_property
    def _times(self) -> NDArray[np.int64]:
        return _find_quantiles(self.segment.rows.time)

    @cached_property
    def _ranks(self) -> NDArray[np.int64] | None:
        return None if self.segment.rows.rank is None else _find_quantiles(self.segment.rows.rank)


def merge_held(group: Sequence[Held], limit: Limit, *, routes: bool = False) -> Held:
    """One segment of all rows of these that are not expired, named by its parts (and by the limit if it is not all)."""
    rows = merge_live([held.segment.rows for held in group], limit, routes=routes)
    weight = sum(held.weight for held in group)
    cut = limit if len(rows) < weight else None
    parts = tuple(part for held in group for part in held.segment.parts)
    segment = Segment(_name_merged(parts, cut), rows, parts=parts)
    return Held(segment, weight, add_sizes(group), group[0].since, group[-1].until, cut)


def merge_live(blocks: Sequence[Rows], limit: Limit, *, routes: bool = False) -> Rows:
    """The rows of all blocks that are not expired, in buffers of their own.

    They leave out the routing hashes unless `routes` asks for them: those are kept in state, with the parts, and a
    probe needs them only where they decide between rows of one time.
    """
    if not routes:
        blocks = [replace(block, route=None) for block in blocks]
    if len(blocks) == 1:
        return blocks[0].take(np.flatnonzero(limit.is_live(blocks[0])))
    return Rows.concat([_cut(block, limit) for block in blocks])


def _cut(rows: Rows, limit: Limit) -> Rows:
    """The rows that are not expired, without copying if they lie together."""
    live = np.flatnonzero(limit.is_live(rows))
    if len(live) == 0 or live[-1] - live[0] == len(live) - 1:
        return rows.slice(int(live[0]) if len(live) else 0, len(live))
    return rows.take(live)


def group_by_halving(held: Iterable[Held]) -> list[list[Held]]:
    """Neighbours to be merged so that each segment is at most half as large as the one before, by powers of 2.

    As in a binary counter, every segment but the last of a group doubles its size class, so that a row is copied for
    that at most log2(n) times.
    """
    groups: list[list[Held]] = []
    for one in held:
        group = [one]
        while (
            groups
            and _find_size_class(groups[-1]) <= _find_size_class(group)
            and add_sizes([*groups[-1], *group]) <= MOST_BYTES
        ):
            group = groups.pop() + group
        groups.append(group)
    return groups


def add_sizes(group: Iterable[Held]) -> int:
    """The bytes of all rows when they arrived."""
    return sum(held.size for held in group)


def _find_size_class(group: Iterable[Held]) -> int:
    return sum(held.weight for held in group).bit_length()


def _name_merged(parts: Sequence[str], cut: Limit | None) -> str:
    name = parts[0] if len(parts) == 1 else f"{parts[0]}-{parts[-1]}"
    return name if cut is None else f"{name}@{cut}"


def _find_quantiles(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers at 64 positions of their order; all of them where there are no more."""
    if len(numbers) <= QUANTILES:
        return np.sort(numbers)
    positions = _quantile_positions(len(numbers))
    return np.partition(numbers, positions)[positions]


def _quantile_positions(count: int) -> NDArray[np.int64]:
    return np.arange(1, QUANTILES + 1) * count // QUANTILES - 1


def _count_below(quantiles: NDArray[np.int64], limit: int, count: int) -> int:
    """At least as many of the numbers as are less than a limit."""
    first = int(np.searchsorted(quantiles, limit))  # the first quantile that is not less
    if first == len(quantiles):
        return count
    return first if count <= QUANTILES else int(_quantile_positions(count)[first])
