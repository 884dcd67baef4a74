"""A cell of the layout as a stateful operator of Spark.

In state, per cell: one small value (the plan's text, the worker's manifest, the digests of cached segments), written
anew with every batch, and a map of segments as they arrived, each written once. A batch reads the value alone;
segments come from the cache, or one by one from the map where the cache lacks them.
"""

import json
import re
from collections.abc import Iterator
from time import perf_counter
from typing import TYPE_CHECKING, Any

import pandas as pd
from pyspark import TaskContext
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from streamjoin.errors import StreamJoinError
from streamjoin.spark.collector import SHARED, counts_shared, packed, share_out
from streamjoin.spark.emitter import PLAN_KEY
from streamjoin.spark.job import Job, unpacked

if TYPE_CHECKING:
    from streamjoin.plan import Block
    from streamjoin.spec.side import Side
    from streamjoin.worker import Worker

CHUNK_BYTES = 32 << 20
"""A value in state is no larger than this: Spark holds several copies of it while it travels."""

COUNTS = (
    *("rows_left", "rows_right", "late_left", "late_right", "invalid_rows"),
    *(
        "comparisons",
        "examined",
        "matches",
        "state_rows",
        "state_bytes",
        "segments",
        "uncached_segments",
        "rows_sent",
        "probes",
        "waiting_rows",
    ),
)
SECONDS = ("worker_seconds", "probe_seconds")
RESULTS = f"{SHARED}, counts array<bigint>, seconds array<double>"
"""A record holds a block of results or of rows that are unmatched in a cell (see `collector`), or what a cell counted,
in the order of `COUNTS` and `SECONDS`. In few columns: Spark turns each of them from pandas into Arrow every time."""


class CellProcessor(StatefulProcessor):
    """What Spark calls with the records of one cell in one micro-batch."""

    def __init__(self, job: bytes) -> None:
        self._job = job

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Name the state."""
        self._handle, self._state = handle, CellState(handle)

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        """Join what arrived in this cell."""
        started = perf_counter()
        job = unpacked(self._job)
        self._state.load(job)
        if key[0] != PLAN_KEY:
            if self._state.tick is not None:
                self._handle.deleteTimer(self._state.tick)  # what it was for happens now
            yield from self._batch(job, int(key[0]), rows, timerValues, started)
        elif self._state.manifest is None:
            self._state.save(job, b"", {})

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        """The watermark has moved on in a batch without rows: emit rows that are now decided."""
        del expiredTimerInfo
        started = perf_counter()
        job = unpacked(self._job)
        self._state.load(job)
        yield from self._batch(job, int(key[0]), iter(()), timerValues, started)

    def _batch(
        self, job: Job, cell: int, rows: Iterator[pd.DataFrame], timers: Any, started: float
    ) -> Iterator[pd.DataFrame]:
        watermark = max(timers.getCurrentWatermarkInMs(), 0)
        if job.plan.lags:  # then every batch concerns every cell, also one that only moves the watermark
            self._state.tick = watermark + 1
            self._handle.registerTimer(self._state.tick)
        batch = CellBatch(job, cell, self._state, watermark * 1000 or None)
        try:
            yield from batch.run(rows, started)
        finally:
            batch.close()

    def close(self) -> None:
        """Nothing is held between cells."""


def _way_back(old: str, new: str) -> str:
    """What to do about a checkpoint of another plan; the layout may differ only because the machine does."""
    layout = re.compile(r"^layout  (.+) on (\d+) shuffle partitions\n +by .+$", re.MULTILINE)
    was, now = layout.search(old), layout.search(new)
    if was and now and was.groups() != now.groups() and layout.sub("", old) == layout.sub("", new):
        auto = ", or auto if it was that" if was[2] != now[2] else ""
        return (
            "Only the layout differs, which depends on the number of shuffle partitions: to go on, set "
            f"spark.sql.shuffle.partitions to {was[2]} and take layout={was[1]}{auto}."
        )
    return "Start with a new checkpoint, or with the old join."


class CellState:
    """The state of a cell: a note that is read and written by every batch, and contents by name."""

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self._note = handle.getValueState("note", "plan string, worker binary, cell binary")
        self._contents = handle.getMapState("contents", "name string", "content binary")
        self.manifest: bytes | None = None
        self._chunks: dict[str, int] = {}
        self.cached: dict[str, str] = {}
        self.tick: int | None = None
        """When the cell's timer goes off, if it has one."""

    def load(self, job: Job) -> None:
        """Read the note of this cell; refuse what was written under another plan."""
        found = self._note.get()
        self.manifest, self.cached, self._chunks, self.tick = None, {}, {}, None
        if found is None:
            return
        text, manifest, noted = found
        if text != job.text:
            raise StreamJoinError(
                f"This checkpoint was written by another join. {_way_back(text, job.text)}\n"
                f"--- the checkpoint's join\n{text}\n--- this join\n{job.text}"
            )
        self.manifest = bytes(manifest)
        cell = json.loads(bytes(noted)) if noted else {}
        self.cached, self._chunks, self.tick = cell.get("cached", {}), cell.get("chunks", {}), cell.get("tick")

    def save(self, job: Job, manifest: bytes, cached: dict[str, str]) -> None:
        """Write the note of this cell."""
        noted = {"cached": cached, "chunks": self._chunks, "tick": self.tick}
        cell = json.dumps(noted, separators=(",", ":")).encode()
        self._note.update((job.text, manifest, cell))

    def get(self, name: str) -> bytes | None:
        """What is stored under a name."""
        parts = []
        for key in self._keys(name):
            found = self._contents.getValue((key,))
            if found is None:
                return None
            parts.append(bytes(found[0]))
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def put(self, name: str, content: bytes) -> None:
        """Store something under a name, in pieces of bounded size."""
        if len(content) > CHUNK_BYTES:
            self._chunks[name] = -(-len(content) // CHUNK_BYTES)
        for number, key in enumerate(self._keys(name)):
            self._contents.updateValue((key,), (content[number * CHUNK_BYTES : (number + 1) * CHUNK_BYTES],))

    def remove(self, name: str) -> None:
        """Forget what is stored under a name."""
        for key in self._keys(name):
            self._contents.removeKey((key,))
        self._chunks.pop(name, None)

    def _keys(self, name: str) -> list[str]:
        return [name, *(f"{name}/{number}" for number in range(1, self._chunks.get(name, 1)))]


class CellBatch:
    """One micro-batch of one cell: restore, join, store."""

    def __init__(self, job: Job, cell: int, state: CellState, watermark: int | None) -> None:
        from streamjoin.flow.cache import SegmentCache

        self._job, self._state, self._watermark = job, state, watermark
        self._number = job.cells.index(cell)
        context = TaskContext.get()
        query = (context and context.getLocalProperty("sql.streaming.queryId")) or "batch"
        self._cache: SegmentCache = SegmentCache(job.cache, query, job.name, cell, len(job.cells))
        self._found: dict[str, str] = {}  # digests of segments that the cache had
        self._counts = dict.fromkeys(COUNTS, 0)

    def run(self, frames: Iterator[pd.DataFrame], started: float) -> Iterator[pd.DataFrame]:
        """Blocks of results, then one record of counts."""
        worker, outside = self._worker(), 0.0
        blocks = self._blocks(frames, worker)
        for record in self._found_by(worker, blocks):
            paused = perf_counter()
            yield record
            outside += perf_counter() - paused
        self._store(worker)
        self._cache.check()
        self._count(worker)
        counts = [self._counts[name] for name in COUNTS]
        seconds = [perf_counter() - started - outside, worker.last.probe_seconds]
        yield self._record(counts=counts, seconds=seconds)

    def _found_by(self, worker: "Worker", blocks: "dict[Side, list[Block]]") -> Iterator[pd.DataFrame]:
        from streamjoin.worker import Undecided

        for found in worker.process(blocks["l"], blocks["r"], self._watermark):
            if not isinstance(found, Undecided):
                yield self._record(block=packed(found))
                continue
            for stripe, page, block in share_out(self._job.layout, self._number, found):
                yield self._record(stripe=stripe, page=page, block=block)

    def _record(self, **values: Any) -> pd.DataFrame:
        empty = {"cell": self._number, "stripe": -1, "page": 0, "block": None, "counts": None, "seconds": None}
        return pd.DataFrame({name: [value] for name, value in {**empty, **values}.items()})

    def close(self) -> None:
        """Let go of the files."""
        self._cache.close()

    def _blocks(self, frames: Iterator[pd.DataFrame], worker: "Worker") -> "dict[Side, list[Block]]":
        """The blocks of each side; in an order that is the same whichever way they came."""
        from streamjoin.plan import in_order

        records: list[Any] = [record for frame in frames for record in frame.itertuples(index=False)]
        self._counts["invalid_rows"] = sum(int(record.invalid) for record in records)
        blocks: dict[Side, list[Block]] = {"l": [], "r": []}
        for record in sorted((r for r in records if r.block is not None), key=lambda r: (r.side, r.part, r.seq)):
            blocks[record.side].append(self._block(record, worker.late_before(record.side, self._watermark)))
        for side in self._job.plan.shared:  # cells must number the same rows alike, also if a task is tried again
            blocks[side] = in_order(blocks[side])
        return blocks

    def _block(self, record: Any, late_before: int | None) -> "Block":
        import numpy as np

        from streamjoin.pane import Segment
        from streamjoin.plan import Block
        from streamjoin.spec.side import NAMED

        rows = Segment.from_bytes(record.block, f"{record.side} {record.part}.{record.seq}").rows
        self._counts["rows_sent"] += len(rows)
        self._counts["probes"] += len(rows) if record.probes else 0
        if record.first:
            side = NAMED[record.side]
            self._counts[f"rows_{side}"] += len(rows)
            if late_before is not None:
                self._counts[f"late_{side}"] += int(np.count_nonzero(rows.time < late_before))
        probes, stores = (None if does else np.zeros(len(rows), np.bool_) for does in (record.probes, record.stores))
        return Block(rows.time, rows.keys, rows.payload, probes=probes, stores=stores)

    def _worker(self) -> "Worker":
        from streamjoin.worker import Worker

        if self._state.manifest is None:
            return Worker(self._job.plan)
        return Worker.restore(self._job.plan, self._state.manifest, self._fetch)

    def _fetch(self, name: str) -> Any:
        written = self._state.cached.get(name)
        if written and (segment := self._cache.get(name, written)):
            self._found[name] = written
            return segment
        return self._state.get(name)

    def _store(self, worker: "Worker") -> None:
        state = self._state
        for segment in worker.new_segments():
            state.put(segment.name, segment.to_bytes())
        for name, flags in worker.changed_flags().items():
            state.put(name, flags)
        for name in worker.dropped_segments():
            state.remove(name)
        now: dict[str, str] = {}
        for segment in worker.segments():
            written = self._found.get(segment.name) or self._cache.put(segment)
            if written is None:
                self._counts["uncached_segments"] += 1
            else:
                now[segment.name] = written
        state.save(self._job, worker.manifest(), now)
        self._cache.sweep([*state.cached.items(), *now.items()])

    def _count(self, worker: "Worker") -> None:
        from streamjoin.spec.side import SIDES

        size, last = worker.size, worker.last
        self._counts |= {
            "comparisons": last.decided,
            "examined": last.examined,
            "matches": last.matches,
            "state_rows": size.live_left + size.live_right + size.waiting_left + size.waiting_right,
            "state_bytes": size.bytes,
            "segments": size.segments,
            "waiting_rows": sum(
                count
                for side, count in zip(SIDES, (size.undecided_left, size.undecided_right), strict=True)
                if side not in self._job.plan.shared or counts_shared(self._job.layout, self._number, side)
            ),
        }
