"""One round of the three steps: fresh rows of both sides, under one watermark."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.match import Matcher
from streamjoin.pane import Limit, Rows, Segment
from streamjoin.plan import Plan
from streamjoin.spec.how import lets_out
from streamjoin.spec.side import OTHER, SIDES, Side
from streamjoin.worker.admit import Mask
from streamjoin.worker.counters import Counters
from streamjoin.worker.expiry import Pushers, horizon, ranks_of, unmatched
from streamjoin.worker.output import Found, Matches, Output, Undecided
from streamjoin.worker.ready import Arrived, Ranks, Seen, Times, kept, sees
from streamjoin.worker.semi import Earliest
from streamjoin.worker.store import Store

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Fresh:
    """The rows of one side in this round: all (that are whole here), those that probe, and those that can be met."""

    rows: Rows
    probing: Rows
    seen: Seen | None  # by the probing rows, under a count window
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

    def run(self, arrived: Arrived) -> Iterator[Found]:
        """Probe, then let go of what is over, then keep the fresh rows that are not."""
        clock, timed = self.counters.clock, self.counters.timed
        with clock("store"):
            pushers = {side: Pushers(_times(arrived, side), self.stores[side].ranked) for side in SIDES}
            fresh = {side: found for side in SIDES if (found := self._fresh(side, arrived, pushers)) is not None}
            now = {side: self._horizon(side, self.watermark) for side in SIDES}
        yield from timed("probe", self._probe(fresh, now))
        for side in SIDES:
            yield from timed("expire", self._expire(side, fresh.get(side), now[side], pushers[side]))
            with clock("store"):
                self._store(side, fresh.get(side), now[side])

    def _horizon(self, side: Side, watermark: int | None) -> Limit:
        return horizon(self.plan.window, side, watermark, self.stores[side].ranked)

    # Before the steps: who does what

    def _fresh(self, side: Side, arrived: Arrived, pushers: Mapping[Side, Pushers]) -> Fresh | None:
        arrivals, store = arrived[side], self.stores[side]
        if arrivals is None:
            return None
        seen = None
        if self.plan.counts:
            other = pushers[OTHER[side]]
            seen = sees(side, arrivals.time, other.time, other.first, kept(self.plan.window, OTHER[side]))
            if arrivals.probes is not None:
                seen = seen[0][arrivals.probes], seen[1][arrivals.probes]
            arrivals = store.number(arrivals)
        elif self.plan.preserves(side):
            arrivals = store.number(arrivals.here())
        rows, stores = arrivals.rows, arrivals.stores
        if not self.plan.counts:  # who comes after its last chance can only probe
            in_time = ~self._horizon(side, self.admitted).over(rows)
            stores = in_time if stores is None else in_time & stores
        segment = store.segment(_where(rows, stores))
        if segment is not None and arrived[OTHER[side]] is not None and self._within_round(OTHER[side]):
            segment = store.prepare(segment)
        whole = arrivals.here().rows if self.plan.preserves(side) else rows
        return Fresh(whole, _where(rows, arrivals.probes), seen, segment)

    def _within_round(self, side: Side) -> bool:
        """Whether rows of a side meet the fresh rows of the other too."""
        return side == "l" or self.plan.counts

    # 1. Probe

    def _probe(self, fresh: Mapping[Side, Fresh], now: Mapping[Side, Limit]) -> Iterator[pa.RecordBatch]:
        released = Earliest()  # the matches that let the fresh left rows of a semi join out
        for side, mine in fresh.items():
            if len(mine.probing) == 0:
                continue
            other = OTHER[side]
            segments = list(self.stores[other].segments)
            theirs = fresh[other].segment if other in fresh and self._within_round(side) else None
            if theirs is not None:
                segments.append(theirs)
            if mine.seen is None:
                self.counters.decided += len(mine.probing) * sum(map(now[other].live_rows, segments))
            matches = Matches(self.output, side, mine.probing.payload)
            for segment in segments:
                first = released if side == "l" or segment is theirs else Earliest()
                yield from self._meet(side, mine, segment, first, matches)
                if first is not released:
                    yield from self._release(segment.rows, first)
            yield from matches.rest()
        if "l" in fresh:
            yield from self._release(fresh["l"].rows, released)

    def _meet(
        self, side: Side, mine: Fresh, segment: Segment, released: Earliest, matches: Matches
    ) -> Iterator[pa.RecordBatch]:
        """Let the probing rows meet a segment of the other side."""
        if mine.seen is not None:
            in_window = _in_window(segment.rows, mine.seen)
            self.counters.decided += in_window
            if in_window == 0:
                return
        probing, stored = mine.probing, segment.rows
        for pairs in self.matcher.pairs(side, probing, segment, mine.seen):
            self.counters.examined += pairs.examined
            self.counters.matches += len(pairs.probe)
            if len(pairs.probe) == 0:
                continue
            join_time = np.maximum(probing.time[pairs.probe], stored.time[pairs.build])
            if self.plan.how == "left_semi":
                left, at_left = (probing, pairs.probe) if side == "l" else (stored, pairs.build)
                self._note(ranks_of(left)[at_left], join_time, released)
                continue
            for each, rows, at in ((side, probing, pairs.probe), (OTHER[side], stored, pairs.build)):
                if (flags := self.stores[each].flags) is not None:
                    flags.mark(ranks_of(rows)[at])
            if self.plan.how != "left_anti":
                yield from matches.add(pairs.probe, stored.payload, pairs.build, join_time)

    def _note(self, ranks: Ranks, join_time: Times, released: Earliest) -> None:
        """Left rows of a semi join matched; those that are not out yet will be."""
        flags = self.stores["l"].flags
        assert flags is not None
        inside = ~flags.met(ranks)
        released.add(ranks[inside], join_time[inside])

    def _release(self, left: Rows, released: Earliest) -> Iterator[pa.RecordBatch]:
        """Let rows of a semi join out, each at its first match."""
        ranks, join_time = released.result()
        if len(ranks) and (flags := self.stores["l"].flags) is not None:
            flags.mark(ranks)
            yield from self.output.alone("l", left.payload, np.searchsorted(ranks_of(left), ranks), join_time)

    # 2. Expire

    def _expire(self, side: Side, fresh: Fresh | None, now: Limit, pushers: Pushers) -> Iterator[Found]:
        store = self.stores[side]
        if self.plan.preserves(side) and lets_out(self.plan.how):
            if fresh is not None:
                yield from self._alone(side, fresh.rows, np.flatnonzero(now.over(fresh.rows)), pushers)
            for rows, over in store.over(now):
                yield from self._alone(side, rows, over, pushers)
        store.expire(now)

    def _alone(self, side: Side, rows: Rows, over: Indices, pushers: Pushers) -> Iterator[Found]:
        """Rows that are unmatched, now that no match can come any more."""
        flags = self.stores[side].flags
        assert flags is not None
        ranks = ranks_of(rows)[over]
        alone = ~flags.met(ranks)
        over, ranks = over[alone], ranks[alone]
        self.stores[side].alone += len(over)
        if len(over):
            join_time = unmatched(self.plan.window, side, rows.time[over], ranks, pushers, self.latest)
            results = self.output.alone(side, rows.payload, over, join_time)
            if side not in self.plan.shared:
                yield from results
                return
            for block in results:
                yield Undecided(side, ranks[: block.num_rows], block)
                ranks = ranks[block.num_rows :]

    # 3. Store

    def _store(self, side: Side, fresh: Fresh | None, now: Limit) -> None:
        if fresh is None or fresh.segment is None:
            return
        store, rows = self.stores[side], fresh.segment.rows
        over = now.over(rows)
        if not over.any():
            store.keep(fresh.segment)
        elif not over.all():
            store.keep(Segment(fresh.segment.name, rows.take(np.flatnonzero(~over))))


def _times(arrived: Arrived, side: Side) -> NDArray[np.int64]:
    arrivals = arrived[side]
    return np.zeros(0, np.int64) if arrivals is None else arrivals.time


def _where(rows: Rows, mask: Mask | None) -> Rows:
    return rows if mask is None or mask.all() else rows.take(np.flatnonzero(mask))


def _in_window(rows: Rows, seen: Seen) -> int:
    """How many of the rows are in the count windows of those who see so far, taken together."""
    first, last = seen
    ranks = ranks_of(rows)
    return int((np.searchsorted(ranks, last, "right") - np.searchsorted(ranks, first, "left")).sum())
