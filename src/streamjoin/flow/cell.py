"""A cell's batch: restore the worker from state, join what arrived, store what changed.

In state, per cell: a small note (the checkpoint's key, the worker's manifest, the digests of cached segments), written
anew with every batch, and segments as they arrived, each written once. A batch reads the note alone; segments come from
the cache, or one by one from state where the cache lacks them.
"""

from collections.abc import Callable, Iterable, Iterator
from time import perf_counter

import pyarrow as pa

from streamjoin.flow.emit import Sent, read_block
from streamjoin.flow.job import Job
from streamjoin.flow.late import keep_late, set_watermark
from streamjoin.flow.metrics import CellMetrics
from streamjoin.flow.sequence import sort_results
from streamjoin.flow.settle import KEPT, Answer, answer, is_first_of_stripe, pack_results, unpack_results
from streamjoin.flow.state import Cache, Note, State
from streamjoin.pane import Rows, Segment
from streamjoin.plan import Block, sort_blocks
from streamjoin.spec.side import SIDES, Side
from streamjoin.worker import Found, Worker


def read_note(job: Job, state: State) -> Note | None:
    """The note of a cell; refuses what was written by another join."""
    note = state.read_note()
    if note is not None:
        job.key.check(note.key)
    return note


def keep_plan(job: Job, state: State) -> None:
    """What the cell of the plan does in a batch: it keeps the key, so that a join without rows is known too."""
    if read_note(job, state) is None:
        state.write_note(Note(job.key.to_json(), b"", {}))


class CellBatch:
    """One micro-batch of one cell under a watermark; `clock` gives seconds."""

    def __init__(
        self,
        job: Job,
        cell: int,
        state: State,
        cache: Cache,
        watermark: int | None,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self._started, self._clock = clock(), clock
        self._job, self._cell, self._state, self._cache, self._watermark = job, cell, state, cache, watermark
        self._cached: dict[str, str] = {}
        """Digests that the note names."""
        self._read: dict[str, str] = {}
        """Those of segments that the cache had."""

    def run(self, records: Iterable[Sent]) -> Iterator[Answer | CellMetrics]:
        """Join what arrived. Answers come as they are found, the metrics last; then the state is written."""
        worker, outside = self._restore(), 0.0
        if self._job.plan.lags:  # then every batch concerns every cell, also one that only moves the watermark
            self._state.wake_after(self._watermark or 0)
        records = list(records)
        blocks = self._read_blocks(record for record in records if not (record.is_tally or record.is_kept))
        if self._job.keeps_late:
            for kept in self._keep(worker, records, blocks):
                yield Answer(self._cell, KEPT, 0, pack_results(kept))
        for found in worker.process(blocks["l"], blocks["r"], self._watermark, self._read_tally(records)):
            run = self._sort(found)
            for part in answer(self._job.layout, self._cell, run):
                paused = self._clock()
                yield part
                outside += self._clock() - paused
        uncached = self._store(worker)
        self._cache.check()
        yield self._measure(worker, records, blocks, uncached, outside)

    def _sort(self, found: Found) -> Found:
        """Results in order, where that is asked for; unmatched rows are sorted when they are settled."""
        plan = self._job.plan
        return sort_results(found, plan.order) if plan.ordered and isinstance(found, pa.RecordBatch) else found

    def _restore(self) -> Worker:
        note = read_note(self._job, self._state)
        if note is None:
            return Worker(self._job.plan)
        self._cached = note.cached
        return Worker.restore(self._job.plan, note.manifest, self._fetch)

    def _fetch(self, name: str) -> Segment | bytes | None:
        written = self._cached.get(name)
        if written and (segment := self._cache.get(name, written)):
            self._read[name] = written
            return segment
        return self._state.get(name)

    def _keep(self, worker: Worker, records: list[Sent], blocks: dict[Side, list[Block]]) -> Iterator[pa.RecordBatch]:
        """The rows that are dropped: without a time, or late."""
        for record in _sort_records(record for record in records if record.is_kept):
            assert record.block is not None
            for timeless in unpack_results(record.block):
                yield set_watermark(timeless, self._watermark)
        for side in SIDES:
            yield from keep_late(self._job.plan, side, blocks[side], worker.find_late(side, self._watermark))

    def _read_tally(self, records: list[Sent]) -> dict[Side, list[Rows]] | None:
        if not self._job.plan.counts:
            return None
        blocks = _sort_records(record for record in records if record.is_tally)
        return {side: [read_block(record).rows for record in blocks if record.side == side] for side in SIDES}

    def _read_blocks(self, records: Iterable[Sent]) -> dict[Side, list[Block]]:
        """The blocks of each side; in an order that is the same whichever way they came."""
        blocks: dict[Side, list[Block]] = {"l": [], "r": []}
        for record in _sort_records(records):
            blocks[record.side].append(read_block(record))
        for side in self._job.plan.shared:  # cells must number the same rows alike, also if a task is tried again
            blocks[side] = sort_blocks(blocks[side])
        return blocks

    def _store(self, worker: Worker) -> int:
        """Write what changed; the number of segments that the cache did not take."""
        for segment in worker.take_new_segments():
            self._state.put(segment.name, segment.to_bytes())
        for name, flags in worker.take_changed_flags().items():
            self._state.put(name, flags)
        for name in worker.take_dropped_names():
            self._state.remove(name)
        now, uncached = {}, 0
        for segment in worker.list_segments():
            written = self._read.get(segment.name) or self._cache.put(segment)
            if written is None:
                uncached += 1
            else:
                now[segment.name] = written
        self._state.write_note(Note(self._job.key.to_json(), worker.to_manifest(), now))
        self._cache.sweep([*self._cached.items(), *now.items()])
        return uncached

    def _measure(
        self, worker: Worker, records: list[Sent], blocks: dict[Side, list[Block]], uncached: int, outside: float
    ) -> CellMetrics:
        size, shared = worker.size, self._job.plan.shared
        arrived = [block for of_side in blocks.values() for block in of_side]
        return CellMetrics(
            **vars(worker.last),
            invalid_rows=sum(record.invalid for record in records),
            newest_left=_find_newest(blocks["l"]),
            newest_right=_find_newest(blocks["r"]),
            state_rows=size.live_left + size.live_right + size.waiting_left + size.waiting_right,
            state_bytes=size.bytes,
            held_rows=size.held,
            segments=size.segments,
            uncached_segments=uncached,
            rows_sent=sum(map(len, arrived)),
            probes=sum(len(block) for block in arrived if block.probes is None),
            waiting_rows=sum(
                count
                for side, count in zip(SIDES, (size.undecided_left, size.undecided_right), strict=True)
                if side not in shared or is_first_of_stripe(self._job.layout, self._cell, side)
            ),
            worker_seconds=self._clock() - self._started - outside,
        )


def _find_newest(blocks: list[Block]) -> int | None:
    """The latest time of all rows, which their zone maps know."""
    return max((high for block in blocks if (high := block.rows.zones.high.time) is not None), default=None)


def _sort_records(records: Iterable[Sent]) -> list[Sent]:
    return sorted((r for r in records if r.block is not None), key=lambda r: (r.side, r.part, r.seq))
