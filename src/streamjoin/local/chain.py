"""Handshake join (section 4.4): the driver, the chain of cores that it feeds, and the collector.

          l ->  +--------+  ->  +--------+  ->  +--------+  <-  r
                | node 0 |      | node 1 |      | node 2 |
    r expired ->+--------+  <-  +--------+  <-  +--------+ <- l expired

The driver lets rows in once they are ready, in order, left rows at one end and right rows at the other, a few dozen at
a time; it knows the window, in time or in rows, and tells the far ends which rows have left it. Nobody else knows the
window: a row leaves the chain at its far end only, by when it has met all rows that it should. So pairs are found late,
where their rows meet: about T/4 after the later one on average; what is still apart when the input ends is drained.

Rows travel as times, keys and ranks; the collector fetches payloads by rank when a match is reported (and under a count
window checks the ranks).
"""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.local.engine import FEW, Engine, State
from streamjoin.local.entrance import Entrance, Ready
from streamjoin.local.node import Expired, Look, Node, Ranks, Travelling, Window
from streamjoin.local.traffic import Traffic
from streamjoin.match import Matcher
from streamjoin.pane import NO_TIME, Rows, Segment, no_columns
from streamjoin.pane.order import argsort_rows
from streamjoin.plan import Plan
from streamjoin.spec.side import OTHER, SIDES, Side
from streamjoin.worker import Counters, Size
from streamjoin.worker.expiry import ENDED, Evictors, Times, find_limit, ranks_of
from streamjoin.worker.output import Output
from streamjoin.worker.ranks import count_kept, find_rank_ranges
from streamjoin.worker.store import Fetch

RUN = 64
"""Rows that travel together: about so many of both sides enter before the far ends hear of expired ones."""

MERGED = 1024
"""Blocks of fewer rows are put together, two of a size at a time, so that single rows leave few blocks."""

_NOTHING: Ranks = np.zeros(0, np.int64)


class Kept:
    """The rows of one side that are in the chain, oldest first, each with the ranks that its count window held."""

    def __init__(self) -> None:
        self.blocks: list[Rows] = []
        self.ranges: list[tuple[Ranks, Ranks]] = []
        self.first = self.ranked = 0
        """The rank of the oldest row that is kept, and of the next one to come."""

    def add(self, rows: Rows, ranges: tuple[Ranks, Ranks] | None) -> Rows:
        """Newer rows; they are given ranks."""
        ranked = rows.with_rank(self.ranked)
        self.ranked += len(rows)
        self.blocks.append(ranked)
        if ranges is not None:
            self.ranges.append(ranges)
        while len(self.blocks) > 1 and len(self.blocks[-2]) <= len(self.blocks[-1]) < MERGED:
            self.blocks[-2:] = [Rows.concat(self.blocks[-2:])]
            if ranges is not None:
                self.ranges[-2:] = [tuple(map(np.concatenate, zip(*self.ranges[-2:], strict=True)))]  # type: ignore[list-item]
        return ranked

    def forget(self, rank: int) -> None:
        """No row before this rank is in the chain any more."""
        while self.blocks and self.first + len(self.blocks[0]) <= rank:
            self.first += len(self.blocks.pop(0))
            self.ranges = self.ranges[1:]

    def find_rank(self, time: int) -> int:
        """The rank of the oldest row that is not before this time."""
        at = bisect_left(self.blocks, time, key=lambda block: int(block.time[-1]))
        if at == len(self.blocks):
            return self.ranked
        return int(ranks_of(self.blocks[at])[0]) + int(np.searchsorted(self.blocks[at].time, time))

    def times(self) -> Times:
        """The times of all rows that are kept."""
        return np.concatenate([_NOTHING, *(block.time for block in self.blocks)])

    def bounds(self, end: int) -> Ranks:
        """The first (0) or last (1) ranks of the count windows of all rows that are kept."""
        return np.concatenate([_NOTHING, *(pair[end] for pair in self.ranges)])

    def take(self, ranks: Ranks) -> list[pa.Array]:
        """The payload columns of these rows."""
        table = pa.Table.from_batches([block.payload for block in self.blocks])
        taken = table.take(pa.array(ranks - self.first))
        return [pa.concat_arrays(column.chunks) for column in taken.columns]


class ChainEngine(Engine):
    """Driver and collector."""

    def __init__(self, plan: Plan, n: int) -> None:
        super().__init__()
        self.plan = plan
        self._output = Output(plan)
        self._reported: list[tuple[Ranks, Ranks]] = []
        self._nodes: list[Node] = []
        self._traffic = Traffic(self._nodes)
        for number in range(n):
            matcher = Matcher(plan.predicate, plan.window, kernel="nested" if plan.kernel == "auto" else plan.kernel)
            self._nodes.append(Node(number, matcher, self._report, self._traffic.send))
        for left, right in pairwise(self._nodes):
            left.ahead["l"], right.ahead["r"] = right, left
        self._ends: dict[Side, Node] = {"l": self._nodes[0], "r": self._nodes[-1]}
        self._kept = {side: Kept() for side in SIDES}
        self._entrance = Entrance([0])

    def _report(self, left: Ranks, right: Ranks) -> None:
        self._reported.append((left, right))

    def run(self, rows: Mapping[Side, Rows], watermark: int | None) -> list[pa.RecordBatch]:
        """Let ready rows in at their ends, and the chain come to rest."""
        self._entrance.enter(rows, watermark)
        if watermark is None:
            return []
        fed = 0
        while (ready := self._entrance.ready(0)) is not None:
            self._feed(ready)
            fed += sum(len(mine) for mine, _ in ready.values())
        self._traffic.settle(alone=fed <= FEW)
        if watermark == ENDED:
            self._drain()
        found = self._collect()
        for side, kept in self._kept.items():
            held = [node.windows[side] for node in self._nodes if len(node.windows[side])]
            kept.forget(min(map(_first_rank, held), default=kept.ranked))
        return found

    # The driver

    def _feed(self, ready: Ready) -> None:
        """Rows enter in runs; after each the far ends are told what has left the window."""
        came = {side: kept.ranked for side, kept in self._kept.items()}
        given = {side: rows.take(argsort_rows(rows)) for side, (rows, _) in ready.items()}
        times = {side: given[side].time if side in given else _NOTHING for side in SIDES}
        for side, rows in given.items():
            other = OTHER[side]
            ranges = None
            if self.plan.counts:
                kept = count_kept(self.plan.window, other)
                ranges = find_rank_ranges(side, rows.time, Evictors(times[other], came[other]), kept)
            given[side] = self._kept[side].add(rows, ranges)
        merged = np.sort(np.concatenate(list(times.values())))
        starts = dict.fromkeys(SIDES, 0)
        for until in (*np.unique(merged[RUN::RUN]).tolist(), None):
            for side, rows in given.items():
                stop = len(rows) if until is None else int(np.searchsorted(times[side], until))
                if stop > starts[side]:
                    self._ends[side].promised[side] += stop - starts[side]
                    self._traffic.send(self._ends[side], side, Travelling(_travel_light(rows, starts[side], stop)))
                    starts[side] = stop
            reached = int(merged[-1]) if until is None else until
            self._expire(reached, {side: came[side] + starts[side] for side in SIDES})

    def _expire(self, until: int, ranked: Mapping[Side, int]) -> None:
        """Tell the far ends which rows no row from this time on can match."""
        for side, kept in self._kept.items():
            limit = find_limit(self.plan.window, side, until, ranked[side])
            rank = max(limit.rank, kept.first)
            if limit.time > NO_TIME:
                rank = max(rank, kept.find_rank(limit.time))
            self._traffic.send(self._ends[OTHER[side]], OTHER[side], Expired(min(rank, ranked[side])))

    def _drain(self) -> None:
        """No more rows will push others through: send all to their far ends, then out."""
        for node in self._nodes:
            node.draining = True
            self._traffic.send(node, "l", Look())
        self._traffic.settle(alone=False)
        for side, kept in self._kept.items():
            self._traffic.send(self._ends[OTHER[side]], OTHER[side], Expired(kept.ranked))
        self._traffic.settle(alone=False)

    # The collector

    def _collect(self) -> list[pa.RecordBatch]:
        """The results of all matches that were reported, in the order of their times and ranks."""
        self.count([Counters(comparisons=node.comparisons) for node in self._nodes])
        for node in self._nodes:
            node.comparisons = 0
        if not self._reported:
            return []
        left, right = (np.concatenate(ranks) for ranks in zip(*self._reported, strict=True))
        self._reported.clear()
        if self.plan.counts:
            in_window = self._is_in("l", left, right) | self._is_in("r", right, left)
            left, right = left[in_window], right[in_window]
        kept = self._kept
        times = np.maximum(kept["l"].times()[left - kept["l"].first], kept["r"].times()[right - kept["r"].first])
        order = np.lexsort((right, left, times))
        size = self.plan.block_rows
        return [
            self._output.build([*kept["l"].take(left[at]), *kept["r"].take(right[at])], times[at], {})
            for start in range(0, len(order), size)
            if len(at := order[start : start + size])
        ]

    def _is_in(self, side: Side, ranks: Ranks, others: Ranks) -> NDArray[np.bool_]:
        """Whether the other row came first and is in the count window that this one saw."""
        kept = self._kept[side]
        at = ranks - kept.first
        inside: NDArray[np.bool_] = (kept.bounds(0)[at] <= others) & (others <= kept.bounds(1)[at])
        return inside

    # Sizes and state

    @property
    def size(self) -> Size:
        """What is in the chain, and what waits at its ends."""
        left, right = (sum(len(node.windows[side]) for node in self._nodes) for side in SIDES)
        nbytes = sum(block.nbytes for kept in self._kept.values() for block in kept.blocks)
        waiting = {side: self._entrance.count_waiting(side) for side in SIDES}
        return Size(left, right, waiting["l"], waiting["r"], sum(waiting.values()), 0, 0, 2 * len(self._nodes), nbytes)

    def to_state(self) -> State:
        """The rows in the chain, and which node has which: at rest, consecutive ones."""
        told: dict[str, Any] = {"counter": self._entrance.counter, "sides": {}}
        kept = self._entrance.to_entries()
        for side, mine in self._kept.items():
            held = [(_first_rank(node.windows[side]), len(node.windows[side])) for node in self._nodes]
            expired = [node.expired[side] for node in self._nodes]
            told["sides"][side] = {"first": mine.first, "ranked": mine.ranked, "held": held, "expired": expired}
            if mine.blocks:
                kept[f"rows.{side}"] = Segment("", Rows.concat(mine.blocks)).to_bytes()
            if mine.ranges:
                kept[f"ranges.{side}"] = np.stack([mine.bounds(0), mine.bounds(1)]).tobytes()
        return told, kept

    def from_state(self, told: Mapping[str, Any], fetch: Fetch) -> None:
        """Every row goes back to the node that had it."""
        self._entrance.counter = told["counter"]
        for side, mine in self._kept.items():
            state = told["sides"][side]
            mine.first, mine.ranked = state["first"], state["ranked"]
            if (entry := fetch(f"rows.{side}")) is not None:
                mine.blocks = [Segment.from_bytes(entry, f"rows.{side}").rows]
            if (entry := fetch(f"ranges.{side}")) is not None:
                mine.ranges = [tuple(np.frombuffer(entry, np.int64).reshape(2, -1))]  # type: ignore[list-item]
            for node, (first, count), expired in zip(self._nodes, state["held"], state["expired"], strict=True):
                node.expired[side] = expired
                if count:
                    start = first - mine.first
                    node.windows[side].add(_travel_light(mine.blocks[0], start, start + count))
        self._entrance.restore(fetch)

    def close(self) -> None:
        """End the threads."""
        self._traffic.stop()


def _travel_light(rows: Rows, start: int, stop: int) -> Rows:
    """Rows without payload and hashes."""
    part = rows.slice(start, stop - start)
    return replace(part, payload=no_columns(len(part)), route=None)


def _first_rank(window: Window) -> int:
    return int(ranks_of(window.rows)[0]) if window.rows is not None and len(window.rows) else 0
