"""One round of sliding windows by panes (thesis 2.1.2): a row touches one pane, a window combines panes.

With windows of `size` that begin every `every`, a pane is as long as their greatest common divisor. Fresh rows are
reduced to partial aggregates of their pane and group, and only those are stored; once the watermark has passed the end
of windows, their panes are put together.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.kernel.reduce import group
from streamjoin.kernel.slide import find_windows
from streamjoin.pane import Rows, Segment
from streamjoin.plan import Block, Plan
from streamjoin.plan.reduction import Sliding, Taken
from streamjoin.worker.counters import Counters
from streamjoin.worker.expiry import ENDED, find_limit
from streamjoin.worker.partials import partial_of
from streamjoin.worker.store import Store

Positions = NDArray[np.int64]
MOST_WINDOWS = 1 << 16
"""So many results are made at a time, as far as groups allow it."""


@dataclass
class Slide:
    """What a round works on; `before` is the watermark of the batch before."""

    plan: Plan
    store: Store
    counters: Counters
    watermark: int | None
    before: int | None

    def __post_init__(self) -> None:
        assert isinstance(self.plan.reduction, Sliding)
        self.sliding = self.plan.reduction
        self.values = [each.operands[0] if each.operands else None for each in self.sliding.each]
        types = self.plan.right.types
        self.partials = [
            partial_of(each, types[value.column] if isinstance(value, Taken) else None)
            for each, value in zip(self.sliding.each, self.values, strict=True)
        ]

    def run(self, fresh: Block | None) -> Iterator[pa.RecordBatch]:
        """Reduce fresh rows to partials, emit the windows that have ended, drop the panes that none needs."""
        if fresh is not None and (segment := self.store.create_segment(self._reduce(fresh.rows))) is not None:
            self.store.add(segment)
        if self.watermark is not None and (self.before is None or self.watermark > self.before):
            yield from self.counters.time_probe(self._emit(self.store.segments))
        self.store.expire(find_limit(self.plan.keeps, "r", self.watermark, 0))

    def _reduce(self, rows: Rows) -> Rows:
        """Partial aggregates of rows, by group and pane."""
        keys = [rows.payload.column(at) for at in range(self.sliding.keys)]
        groups = _Groups.of(keys, np.floor_divide(rows.time, self.sliding.pane))
        columns: list[pa.Array] = []
        for partial, value in zip(self.partials, self.values, strict=True):
            taken = rows.payload.column(value.column) if isinstance(value, Taken) else None
            columns += partial.reduce(groups.members, taken)
        return self._to_rows(groups, columns)

    def _merge(self, rows: Rows) -> "tuple[_Groups, list[list[pa.Array]]]":
        """Partials with one of each group and pane, in order."""
        keys = [rows.payload.column(at) for at in range(self.sliding.keys)]
        groups = _Groups.of(keys, np.floor_divide(rows.time, self.sliding.pane))
        at, merged = self.sliding.keys, []
        for partial in self.partials:
            columns = [rows.payload.column(at + n) for n in range(len(partial.types))]
            merged.append(partial.merge(groups.members, columns))
            at += len(partial.types)
        return groups, merged

    def _to_rows(self, groups: "_Groups", columns: Sequence[pa.Array]) -> Rows:
        names = [str(at) for at in range(self.sliding.keys + len(columns))]
        keys = [key.take(pa.array(groups.first)) for key in groups.keys]
        arrays = [*keys, *columns]
        payload = pa.RecordBatch.from_arrays(arrays, names) if arrays else pa.record_batch({"": groups.first})
        return Rows(groups.panes * self.sliding.pane, (), payload)

    def _emit(self, segments: Sequence[Segment]) -> Iterator[pa.RecordBatch]:
        """The windows whose end the watermark has passed since the batch before."""
        rows = [segment.rows for segment in segments if len(segment.rows)]
        if not rows:
            return
        groups, merged = self._merge(Rows.concat([replace(each, route=None) for each in rows]))
        sliding = self.sliding
        step, length = sliding.every // sliding.pane, sliding.size // sliding.pane
        first = -(2**62) if self.before is None else (self.before - sliding.size) // sliding.every + 1
        last = 2**62 if self.watermark == ENDED else (int(self.watermark or 0) - sliding.size) // sliding.every
        at_once = max(1, MOST_WINDOWS // max(1, groups.count))
        first = max(first, (int(groups.panes.min()) - length) // step + 1)
        last = min(last, int(groups.panes.max()) // step)
        for start in range(first, last + 1, at_once):
            yield from self._combine(groups, merged, start, min(start + at_once - 1, last), step, length)

    def _combine(
        self, groups: "_Groups", merged: Sequence[Sequence[pa.Array]], first: int, last: int, step: int, length: int
    ) -> Iterator[pa.RecordBatch]:
        group, number, low, high = find_windows(groups.starts, groups.panes, step, length, first, last)
        if not len(group):
            return
        start = number * self.sliding.every
        at = pa.array(groups.first[low])
        columns = [pa.array(start), *(key.take(at) for key in groups.keys)]
        columns += [each.slide((low, high), parts) for each, parts in zip(self.partials, merged, strict=True)]
        self.counters.matches += len(group)
        end = pa.array(start + (self.sliding.size - 1))
        yield pa.RecordBatch.from_arrays([*columns, end], schema=self.plan.output)


@dataclass(frozen=True)
class _Groups:
    """Rows by group and pane, in the order of group, then pane.

    `starts` says where the panes of each group begin, `panes` their numbers, `first` a row of each pane.
    """

    keys: Sequence[pa.Array]
    count: int
    starts: Positions
    panes: Positions
    first: Positions
    members: tuple[Positions, Positions]

    @classmethod
    def of(cls, keys: Sequence[pa.Array], panes: Positions) -> "_Groups":
        number = np.zeros(len(panes), np.int64)
        for key in keys:
            codes = key.dictionary_encode(null_encoding="encode")
            indices = np.asarray(codes.indices).astype(np.int64)
            _, number = np.unique(number * max(len(codes.dictionary), 1) + indices, return_inverse=True)
        least = int(panes.min()) if len(panes) else 0
        width = int(panes.max()) - least + 1 if len(panes) else 1
        both, first, member = _find_unique(number, panes - least, width)
        of_group, of_pane = both
        members = group(member.astype(np.int32), len(first))
        groups = np.unique(of_group, return_index=True)[1]
        starts = np.append(groups, len(of_group)).astype(np.int64)
        return cls(keys, len(groups), starts, of_pane + least, first, members)


def _find_unique(number: Positions, pane: Positions, width: int) -> Any:
    """The different pairs of group and pane in order, a row of each, and which of them every row is."""
    if width < 2**62 // max(1, len(number) + 1):
        both, first, member = np.unique(number * width + pane, return_index=True, return_inverse=True)
        return (both // width, both % width), first, member
    both, first, member = np.unique(np.stack([number, pane]), axis=1, return_index=True, return_inverse=True)
    return (both[0], both[1]), first, member.reshape(-1)
