"""One round of the three steps: fresh rows of both sides, under one watermark.

`run` is what a worker does, step after step. A runtime that shares stores between workers takes the steps one by one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.match import Matcher
from streamjoin.pane import Limit, Rows, Segment
from streamjoin.plan import Block, Mask, Plan
from streamjoin.spec.how import emits_unmatched
from streamjoin.spec.side import OTHER, SIDES, Side
from streamjoin.worker.counters import Counters
from streamjoin.worker.expiry import Evictors, ranks_of, time_unmatched
from streamjoin.worker.output import Found, Matches, Output, Undecided
from streamjoin.worker.ranks import Arrived, RankRanges, Ranks, Times, count_kept, find_rank_ranges
from streamjoin.worker.semi import Earliest
from streamjoin.worker.store import Store

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Fresh:
    """The rows of one side in this round: all (that are whole here), those that probe, and those to be stored."""

    rows: Rows
    probing: Rows
    ranges: RankRanges | None  # of the probing rows, under a count window
    segment: Segment | None


@dataclass(frozen=True)
class Round:
    """What a round works on: the worker's plan, its stores, and where it counts."""

    plan: Plan
    matcher: Matcher
    output: Output
    stores: Mapping[Side, Store]
    counters: Counters
    watermark: int | None
    admitted: int | None  # the watermark that no fresh row lies before
    latest: int  # the time of the latest row of all
    probed: Mapping[Side, Sequence[Segment]] | None = None  # where a store is shared out: the segments probed here

    def run(self, arrived: Arrived) -> Iterator[Found]:
        """Probe, then drop what is expired, then store the fresh rows that are not."""
        fresh = {
            side: self.prepare(side, block, arrived[other].evictors, meets=arrived[other].block is not None)
            for side, other in OTHER.items()
            if (block := arrived[side].block) is not None
        }
        for side in SIDES if self.plan.counts else ():
            self.stores[side].extend_ranks(arrived[side].evictors.stop)
        now = {side: self.stores[side].find_limit(self.watermark) for side in SIDES}
        yield from self.counters.time_probe(self.probe(fresh, now))
        for side in SIDES:
            yield from self.expire(side, fresh.get(side), now[side], arrived[side].evictors)
            self.store(side, fresh.get(side), now[side])

    # Before the steps: which rows do what

    def prepare(self, side: Side, block: Block, other: Evictors, *, meets: bool) -> Fresh:
        """What the rows of a block do; `other` are those that come on the other side, if it `meets` any."""
        store = self.stores[side]
        ranges = None
        if self.plan.counts:
            ranges = find_rank_ranges(side, block.time, other, count_kept(self.plan.window, OTHER[side]))
            if block.probes is not None:
                ranges = ranges[0][block.probes], ranges[1][block.probes]
            store.whole += len(block.drop_idle())
        elif self.plan.preserves(side):
            block = store.assign_ranks(block.drop_idle())
        segment = store.create_segment(_filter(block.rows, self._select_stored(side, block.rows, block.stores)))
        if segment is not None and meets and self._probes_fresh(OTHER[side]):
            segment = store.prepare(segment)
        whole = block.drop_idle().rows if self.plan.preserves(side) else block.rows
        return Fresh(whole, _filter(block.rows, block.probes), ranges, segment)

    def _select_stored(self, side: Side, rows: Rows, stores: Mask | None) -> Mask | None:
        """Which fresh rows can be probed; one that comes after its last possible match can only probe."""
        limit = Limit() if self.plan.counts else self.stores[side].find_limit(self.admitted)
        if limit.spares(rows):
            return stores
        return limit.is_live(rows) if stores is None else limit.is_live(rows) & stores

    def _probes_fresh(self, side: Side) -> bool:
        """Whether rows of a side probe the fresh rows of the other too."""
        return side == "l" or self.plan.counts

    # 1. Probe

    def probe(self, fresh: Mapping[Side, Fresh], now: Mapping[Side, Limit]) -> Iterator[pa.RecordBatch]:
        """The matches of fresh rows with what is stored and with each other."""
        of_fresh = Earliest()  # the matches that emit the fresh left rows of a semi join
        for side, mine in fresh.items():
            if len(mine.probing) == 0:
                continue
            other = OTHER[side]
            segments = list(self.stores[other].segments if self.probed is None else self.probed[other])
            theirs = fresh[other].segment if other in fresh and self._probes_fresh(side) else None
            if theirs is not None:
                segments.append(theirs)
            if mine.ranges is None:
                live = sum(now[other].count_live(segment.rows) for segment in segments)
                self.counters.comparisons += len(mine.probing) * live
            matches = Matches(self.output, side, mine.probing)
            for segment in segments:
                earliest = of_fresh if side == "l" or segment is theirs else Earliest()
                yield from self._probe_segment(side, mine, segment, earliest, matches)
                if earliest is not of_fresh:
                    yield from self._emit_semi(segment.rows, earliest)
            yield from matches.flush()
        if "l" in fresh:
            yield from self._emit_semi(fresh["l"].rows, of_fresh)

    def _probe_segment(
        self, side: Side, mine: Fresh, segment: Segment, earliest: Earliest, matches: Matches
    ) -> Iterator[pa.RecordBatch]:
        """Let the probing rows probe a segment of the other side."""
        if mine.ranges is not None:
            in_window = _count_in_window(segment.rows, mine.ranges)
            self.counters.comparisons += in_window
            if in_window == 0:
                return
        probing, stored = mine.probing, segment.rows
        for pairs in self.matcher.pairs(side, probing, segment, mine.ranges):
            self.counters.examined += pairs.examined
            self.counters.matches += len(pairs.probe)
            if len(pairs.probe) == 0:
                continue
            join_time = np.maximum(probing.time[pairs.probe], stored.time[pairs.build])
            if self.plan.how == "left_semi":
                left, at_left = (probing, pairs.probe) if side == "l" else (stored, pairs.build)
                self._record_semi(ranks_of(left)[at_left], join_time, earliest)
                continue
            for each, rows, at in ((side, probing, pairs.probe), (OTHER[side], stored, pairs.build)):
                if (flags := self.stores[each].flags) is not None:
                    flags.mark(ranks_of(rows)[at])
            if self.plan.how != "left_anti":
                yield from matches.add(pairs.probe, stored, pairs.build, join_time)

    def _record_semi(self, ranks: Ranks, join_time: Times, earliest: Earliest) -> None:
        """Left rows of a semi join matched; note those that are not emitted yet."""
        flags = self.stores["l"].flags
        assert flags is not None
        new = ~flags.is_matched(ranks)
        earliest.add(ranks[new], join_time[new])

    def _emit_semi(self, left: Rows, earliest: Earliest) -> Iterator[pa.RecordBatch]:
        """Emit rows of a semi join, each at its first match."""
        ranks, join_time = earliest.reduce()
        if len(ranks) and (flags := self.stores["l"].flags) is not None:
            flags.mark(ranks)
            at = np.searchsorted(ranks_of(left), ranks)
            yield from self.output.build_one_sided("l", left, at, join_time)

    # 2. Expire

    def expire(self, side: Side, fresh: Fresh | None, now: Limit, evictors: Evictors) -> Iterator[Found]:
        """Drop what is expired; the unmatched rows among it are results."""
        store = self.stores[side]
        if self.plan.preserves(side) and emits_unmatched(self.plan.how):
            if fresh is not None and not now.spares(fresh.rows):
                expired = np.flatnonzero(now.is_expired(fresh.rows))
                yield from self._emit_unmatched(side, fresh.rows, expired, evictors)
            for rows, expired in store.find_expired(now):
                yield from self._emit_unmatched(side, rows, expired, evictors)
        store.expire(now)

    def _emit_unmatched(self, side: Side, rows: Rows, expired: Indices, evictors: Evictors) -> Iterator[Found]:
        """Emit those of the expired rows that are unmatched."""
        flags = self.stores[side].flags
        assert flags is not None
        ranks = ranks_of(rows)[expired]
        unmatched = ~flags.is_matched(ranks)
        at, ranks = expired[unmatched], ranks[unmatched]
        self.stores[side].unmatched += len(at)
        if len(at):
            join_time = time_unmatched(self.plan.window, side, rows.time[at], ranks, evictors, self.latest)
            results = self.output.build_one_sided(side, rows, at, join_time)
            if side not in self.plan.shared:
                yield from results
                return
            for block in results:
                yield Undecided(side, ranks[: block.num_rows], block)
                ranks = ranks[block.num_rows :]

    # 3. Store

    def store(self, side: Side, fresh: Fresh | None, now: Limit) -> None:
        """Keep the fresh rows that are not expired."""
        if fresh is None or fresh.segment is None:
            return
        store, rows = self.stores[side], fresh.segment.rows
        if now.spares(rows):
            store.add(fresh.segment)
        elif len(live := _filter(rows, now.is_live(rows))):
            store.add(Segment(fresh.segment.name, live))


def _filter(rows: Rows, mask: Mask | None) -> Rows:
    return rows if mask is None or mask.all() else rows.take(np.flatnonzero(mask))


def _count_in_window(rows: Rows, ranges: RankRanges) -> int:
    """How many of the rows are in the count windows of all probing rows, taken together."""
    first, last = ranges
    ranks = ranks_of(rows)
    return int((np.searchsorted(ranks, last, "right") - np.searchsorted(ranks, first, "left")).sum())
