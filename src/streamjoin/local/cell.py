"""CellJoin (sections 4 and 5): a coordinator that owns the windows, workers that are told which part to probe.

    coordinator   W_r  newest | w0 | w1 | w2 | w3 | w4 | w5 | oldest      basic windows, column by column
                               ---------   ---------   ----   ----
                  worker           1           2         3      4         Eq. 2: 2, 2, 1, 1 of six
                               ^ pointers move by one when a basic window comes or goes, in O(n)

Input batches: what has arrived while the last batch was joined, up to `MOST_ROWS` (rate-aware batching, 4.2.2): at low
rates a push at a time, at high rates large batches that pay the workers' fixed cost once.
Results: workers report match entries <window, row in it, row of the batch> in bounded pieces as they find them; the
coordinator turns them into results meanwhile (4.3).

A basic window is a closed pane; the open pane, which may be several small segments, is the first one and partly full.
Departures: workers share the coordinator's memory, so nothing is transferred or double-buffered, and each basic window
is indexed.
"""

from collections.abc import Callable, Mapping, Sequence
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from streamjoin.layout import Cell
from streamjoin.local.pool import Pool
from streamjoin.local.stripes import Dealer, Prepared, Stripe, Stripes
from streamjoin.match import Pairs
from streamjoin.model.basic_windows import find_gaining_worker, find_losing_worker
from streamjoin.pane import Segment
from streamjoin.plan import Block, Plan
from streamjoin.spec.side import OTHER, SIDES, Side
from streamjoin.worker import Counters
from streamjoin.worker.output import Matches
from streamjoin.worker.round import Fresh, Round

MOST_ROWS = 1 << 15
"""The largest input batch that several pushes are put together to."""


class Entries(NamedTuple):
    """Match entries: rows of one basic window, and the rows of the input batch that they match."""

    worker: int
    side: Side
    segment: Segment
    pairs: Pairs


class Partition:
    """Which of B consecutive basic windows each of n workers has: Eq. 2, kept by pointer shifts.

    >>> partition = Partition(4)
    >>> partition.fit(6)
    >>> partition.counts
    [2, 2, 1, 1]
    >>> partition.fit(7)
    >>> partition.counts, partition.starts
    ([2, 2, 2, 1], [0, 2, 4, 6])
    """

    def __init__(self, workers: int) -> None:
        self.counts = [0] * workers
        self.starts = [0] * workers
        """The first basic window of each worker, counted from the newest."""

    def fit(self, windows: int) -> None:
        """Go on with so many basic windows: new ones come at the front, old ones leave at the end."""
        while sum(self.counts) < windows:
            self._move(find_gaining_worker(self.counts), 1)
        while sum(self.counts) > windows:
            self._move(find_losing_worker(self.counts), -1)

    def _move(self, worker: int, by: int) -> None:
        """A worker has one more, or one less: the pointers behind it shift."""
        self.counts[worker] += by
        for j in range(worker + 1, len(self.starts)):
            self.starts[j] += by

    def of(self, worker: int) -> range:
        """The basic windows of a worker."""
        return range(self.starts[worker], self.starts[worker] + self.counts[worker])


class _OneStripe(Dealer):
    """Each side's window is one; n workers share it."""

    def __init__(self, workers: int) -> None:
        self.stripes = {"l": 1, "r": 1}
        self.cells = [(0, 0)] * workers

    def deal(self, side: Side, block: Block, *, whole: bool) -> list[Block | None]:
        """All rows to the one window."""
        del side, whole
        return [block]


class CellEngine(Stripes):
    """The coordinator."""

    most_rows = MOST_ROWS

    def __init__(self, plan: Plan, n: int, pool: Pool) -> None:
        super().__init__(plan, _OneStripe(n), pool)
        self._partitions = {side: Partition(n) for side in SIDES}

    def resize(self, layout: Any, n: int) -> Cell:
        """Partition the windows anew (7.3); the coordinator owns them, so nothing moves."""
        self.dealer.cells = [(0, 0)] * n
        self._matchers = [self._new_matcher() for _ in range(n)]
        self._partitions = {side: Partition(n) for side in SIDES}
        return Cell(n, hashed=layout.hashed)

    def _probe(self, ready: Mapping[Stripe, Prepared], round_of: Callable[..., Round], *, alone: bool) -> list[Any]:
        """Start the workers, and turn their match entries into results while they work."""
        del round_of
        fresh = {side: mine for side in SIDES if (mine := ready[side, 0].fresh) is not None and len(mine.probing)}
        jobs = {side: self._share_out(OTHER[side], ready, fresh) for side in fresh}
        reported: SimpleQueue[Entries | None] = SimpleQueue()
        workers = range(len(self.dealer.cells))

        def work(worker: int) -> Counters:
            counters = Counters()
            try:
                for side, parts in jobs.items():
                    probe, ranges = fresh[side].probing, fresh[side].ranges
                    for segment in parts[worker]:
                        counters.comparisons += len(probe) * ready[OTHER[side], 0].limit.count_live(segment.rows)
                        for pairs in self._matchers[worker].pairs(side, probe, segment, ranges):
                            counters.examined += pairs.examined
                            counters.matches += len(pairs.probe)
                            if len(pairs.probe):
                                reported.put(Entries(worker, side, segment, pairs))
            finally:
                reported.put(None)
            return counters

        collect = _Collector(self, fresh, len(workers), reported)
        self.count(self.pool.run(work, workers, alone=alone, meanwhile=collect))
        return collect.results()

    def _share_out(
        self, side: Side, ready: Mapping[Stripe, Prepared], fresh: Mapping[Side, Fresh]
    ) -> list[Sequence[Segment]]:
        """The segments that each worker probes: its basic windows; fresh rows belong to the newest one."""
        segments = ready[side, 0].segments
        closed = self._stores[side, 0].panes.closed
        newest = list(segments[closed:])
        theirs = fresh[side].segment if side in fresh and (side == "r" or self.plan.counts) else None
        if theirs is not None:
            newest.append(theirs)
        windows = [newest, *([segment] for segment in reversed(segments[:closed]))]
        partition = self._partitions[side]
        partition.fit(len(windows))
        workers = range(len(partition.counts))
        return [[segment for at in partition.of(worker) for segment in windows[at]] for worker in workers]


class _Collector:
    """Turns match entries into results as they are reported, each worker's by themselves."""

    def __init__(
        self, engine: CellEngine, fresh: Mapping[Side, Fresh], workers: int, reported: "SimpleQueue[Entries | None]"
    ) -> None:
        self._fresh, self._working, self._reported = fresh, workers, reported
        self._matches = {
            (worker, side): (Matches(engine.output, side, mine.probing), list[pa.RecordBatch]())
            for worker in range(workers)
            for side, mine in fresh.items()
        }

    def __call__(self) -> None:
        """Until all workers are done."""
        while self._working:
            entries = self._reported.get()
            if entries is None:
                self._working -= 1
                continue
            matches, results = self._matches[entries.worker, entries.side]
            pairs, stored = entries.pairs, entries.segment.rows
            times = np.maximum(self._fresh[entries.side].probing.time[pairs.probe], stored.time[pairs.build])
            results += matches.add(pairs.probe, stored, pairs.build, times)

    def results(self) -> list[pa.RecordBatch]:
        """All results, in the order of workers."""
        return [batch for matches, results in self._matches.values() for batch in (*results, *matches.flush())]
