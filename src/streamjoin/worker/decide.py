"""One round of a join that reduces: left rows wait, and probe once, when no match of theirs can come any more.

1. The fresh right rows are stored.
2. Left rows that the watermark has decided, fresh ones and those that waited, probe the stored right rows, and what
   they met becomes one result each.
3. The other fresh left rows are stored, to wait. Right rows that no left row can meet any more are dropped: with an
   interval ``[lower, upper]`` once ``W > t_r - lower + max(upper, 0)``, since a left row waits for ``upper``.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from streamjoin.match import Matcher
from streamjoin.match.pairs import Pairs
from streamjoin.pane import Limit, Rows, Segment
from streamjoin.plan import Block, Plan
from streamjoin.plan.reduction import Aggregates, Pick
from streamjoin.spec.side import SIDES, Side
from streamjoin.worker.best import Best, take_across, widen
from streamjoin.worker.counters import Counters
from streamjoin.worker.expiry import NO_EVICTORS, find_limit, time_unmatched
from streamjoin.worker.fold import Aggregator, Met
from streamjoin.worker.output import Output
from streamjoin.worker.store import Store

FIRST_ROWS = 1 << 10
"""So many rows probe together before it is known how many matches a row has."""

MOST_PAIRS = 1 << 22
"""So many pairs of rows that probe together are held, or those of one row."""


class _TooMany(Exception):
    """The rows that probe together have more pairs than are to be held."""


@dataclass
class Decide:
    """What a round works on: the worker's plan, its stores, and where it counts."""

    plan: Plan
    matcher: Matcher
    output: Output
    stores: Mapping[Side, Store]
    counters: Counters
    watermark: int | None

    def run(self, arrived: Mapping[Side, Block | None]) -> Iterator[pa.RecordBatch]:
        """Store right rows, reduce what is decided, let the other left rows wait."""
        now = {side: find_limit(self.plan.keeps, side, self.watermark, 0) for side in SIDES}
        self._store("r", arrived["r"], Limit())
        waiting = arrived["l"]
        decided = []
        if waiting is not None and not now["l"].spares(waiting.rows):
            expired = now["l"].is_expired(waiting.rows)
            decided.append(waiting.rows.take(np.flatnonzero(expired)))
            waiting = waiting.filter(~expired) if not expired.all() else None
        decided += [rows.take(at) for rows, at in self.stores["l"].find_expired(now["l"])]
        if decided:
            together = Rows.concat([replace(rows, route=None) for rows in decided])
            yield from self.counters.time_probe(self._reduce(together, now["r"]))
        self._store("l", waiting, now["l"])
        for side in SIDES:
            self.stores[side].expire(now[side])

    def _store(self, side: Side, block: Block | None, now: Limit) -> None:
        store = self.stores[side]
        if block is None:
            return
        rows = block.rows if block.stores is None else block.rows.take(np.flatnonzero(block.stores))
        if not now.spares(rows):
            rows = rows.take(np.flatnonzero(now.is_live(rows)))
        if (segment := store.create_segment(rows)) is not None:
            store.add(segment)

    def _reduce(self, decided: Rows, now: Limit) -> Iterator[pa.RecordBatch]:
        """Results of decided rows, so many at a time as their matches allow: those that meet the same rows together."""
        segments = self.stores["r"].segments
        live = sum(now.count_live(segment.rows) for segment in segments)
        self.counters.comparisons += len(decided) * live
        most = self.output.bound_rows(decided)
        if segments and len(decided) > FIRST_ROWS:
            largest = max(segments, key=lambda segment: len(segment.rows))
            decided = decided.take(self.matcher.order_probes("l", decided, largest))
        at, rows = 0, min(FIRST_ROWS, most)
        matchers = [self.matcher]
        while at < len(decided):
            probing = decided.slice(at, rows)
            before = self.counters.matches, self.counters.examined
            try:
                results = self._reduce_piece(probing, segments, matchers)
            except _TooMany:
                self.counters.matches, self.counters.examined = before
                rows = max(1, len(probing) // 8)
                continue
            at += len(probing)
            matches = self.counters.matches - before[0]
            if at == len(probing) and isinstance(self.plan.reduction, Pick):
                windows = widen(self.plan.window, matches / len(probing))
                matchers = [*(self.matcher.narrow(window) for window in windows), self.matcher]
            room = MOST_PAIRS // 2 * len(probing) // max(matches, 1)
            rows = max(1, min(most, 8 * rows, room))
            if results.num_rows:
                yield results

    def _reduce_piece(
        self, probing: Rows, segments: tuple[Segment, ...], matchers: Sequence[Matcher]
    ) -> pa.RecordBatch:
        """Results of rows that probe together; of `matchers` each finds the matches in a wider window."""
        reduction = self.plan.reduction
        if isinstance(reduction, Pick):
            best = Best(reduction, probing)
            for matcher in matchers:
                unmatched = best.find_unmatched()
                some = probing if len(unmatched) == len(probing) else probing.take(unmatched)
                for segment in segments if len(some) else ():
                    for pairs in self._probe(matcher, some, segment):
                        best.add(segment.rows, pairs, unmatched)
            parts, part, row = best.find()
            matched = part >= 0
            columns = [*probing.payload.columns, *take_across(parts, part, row, self.plan.right)]
        else:
            assert isinstance(reduction, Aggregates)
            met = Met(probing)
            for segment in segments:
                for pairs in self._probe(self.matcher, probing, segment):
                    met.take_in(segment.rows, pairs)
                    if met.size > MOST_PAIRS and len(probing) > 1:
                        raise _TooMany
            matched = met.counts > 0
            columns = Aggregator(reduction.each, self.plan.left, self.plan.right).reduce(met)
            columns = [*probing.payload.columns[: reduction.kept], *columns]
        join_time = time_unmatched(self.plan.window, "l", probing.time, probing.time, NO_EVICTORS, 0)
        results = pa.RecordBatch.from_arrays([*columns, pa.array(join_time)], schema=self.plan.output)
        return results if self.plan.how == "left" else results.filter(pa.array(matched))

    def _probe(self, matcher: Matcher, probing: Rows, segment: Segment) -> Iterator[Pairs]:
        for pairs in matcher.pairs("l", probing, segment):
            self.counters.examined += pairs.examined
            self.counters.matches += len(pairs.probe)
            yield pairs
