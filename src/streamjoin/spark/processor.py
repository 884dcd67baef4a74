"""A cell as a stateful operator of Spark. The worker and all that it needs is loaded with the first batch."""

import json
from collections.abc import Iterator
from typing import Any

import pandas as pd
from pyspark import TaskContext
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from streamjoin.flow.cache import SegmentCache
from streamjoin.flow.emit import PLAN_CELL, Sent
from streamjoin.flow.metrics import NUMBERS, SECONDS, CellMetrics
from streamjoin.flow.settle import Answer
from streamjoin.flow.state import Note
from streamjoin.spark.collector import ANSWERS
from streamjoin.spark.compat import STATE_VALUE_BYTES
from streamjoin.spark.job import unpack_job
from streamjoin.spark.placement import find_cell
from streamjoin.spark.remote import declare_state

CHUNK_BYTES = STATE_VALUE_BYTES

RESULTS = f"{ANSWERS}, numbers array<bigint>, seconds array<double>"
"""A record holds an answer, or the metrics of a cell in the order of `NUMBERS` and `SECONDS`: in few columns, because
Spark turns each of them from pandas into Arrow every time."""
_COLUMNS = (*Answer._fields, "numbers", "seconds")


class CellProcessor(StatefulProcessor):
    """What Spark calls with the records of one cell in one micro-batch."""

    def __init__(self, packed: bytes) -> None:
        self._packed = packed

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Name the state."""
        self._state = CellState(handle)

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        """Join what arrived in this cell."""
        self._state.fired = None
        records = (Sent._make(record) for frame in rows for record in frame.itertuples(index=False, name=None))
        return self._run(key[0], records, timerValues)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        """The watermark has moved on in a batch without rows: emit rows that are now decided."""
        self._state.fired = expiredTimerInfo.getExpiryTimeInMs()
        return self._run(key[0], iter(()), timerValues)

    def _run(self, key: int, records: Iterator[Sent], timers: Any) -> Iterator[pd.DataFrame]:
        job = unpack_job(self._packed, "streamjoin.flow.cell")
        from streamjoin.flow.cell import CellBatch, keep_plan

        cell = find_cell(key, job.layout.cells, job.partitions)
        if cell == PLAN_CELL:
            keep_plan(job, self._state)
            return
        watermark = max(timers.getCurrentWatermarkInMs(), 0) * 1000 or None
        context = TaskContext.get()
        query = (context and context.getLocalProperty("sql.streaming.queryId")) or "batch"
        cache = SegmentCache(job.cache, query, job.name, cell, job.layout.cells)
        try:
            for found in CellBatch(job, cell, self._state, cache, watermark).run(records):
                yield _to_frame(cell, found)
        finally:
            cache.close()

    def close(self) -> None:
        """Nothing is held between cells."""


def _to_frame(cell: int, found: Answer | CellMetrics) -> pd.DataFrame:
    """One record of `RESULTS`."""
    numbers = seconds = None
    if isinstance(found, CellMetrics):
        numbers, seconds = ([getattr(found, name) for name in names] for names in (NUMBERS, SECONDS))
    answer = (cell, -1, 0, None) if isinstance(found, CellMetrics) else found
    return pd.DataFrame({name: [value] for name, value in zip(_COLUMNS, (*answer, numbers, seconds), strict=True)})


class CellState:
    """The state of a cell in Spark's state store."""

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._note, self._contents = declare_state(handle)
        self._chunks: dict[str, int] = {}
        self._alarm: int | None = None  # in milliseconds
        self.fired: int | None = None
        """The alarm that this batch answers: Spark deletes it by itself."""

    def read_note(self) -> Note | None:
        """The note that the last committed batch wrote."""
        self._chunks, self._alarm = {}, None
        if not self._note.exists():  # for a value that is not there `get` writes a warning into Spark's log
            return None
        key, manifest, rest = self._note.get()
        noted = read_cell_note(rest)
        self._chunks, self._alarm = noted.get("chunks", {}), noted.get("alarm")
        return Note(key, bytes(manifest), noted.get("cached", {}))

    def write_note(self, note: Note) -> None:
        """Replace the note."""
        noted = {"cached": note.cached, "chunks": self._chunks, "alarm": self._alarm}
        self._note.update((note.key, note.manifest, json.dumps(noted, separators=(",", ":")).encode()))

    def get(self, name: str) -> bytes | None:
        """The content of this name."""
        parts = []
        for key in self._keys(name):
            found = self._contents.getValue((key,))
            if found is None:
                return None
            parts.append(bytes(found[0]))
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def put(self, name: str, content: bytes) -> None:
        """Add or replace a content, in pieces of bounded size."""
        if len(content) > CHUNK_BYTES:
            self._chunks[name] = -(-len(content) // CHUNK_BYTES)
        for number, key in enumerate(self._keys(name)):
            self._contents.updateValue((key,), (content[number * CHUNK_BYTES : (number + 1) * CHUNK_BYTES],))

    def remove(self, name: str) -> None:
        """Drop a content."""
        for key in self._keys(name):
            self._contents.removeKey((key,))
        self._chunks.pop(name, None)

    def wake_after(self, watermark: int) -> None:
        """Run the cell again once the watermark has passed this time, rows or not."""
        if self._alarm is not None and self._alarm != self.fired:
            self._handle.deleteTimer(self._alarm)
        self._alarm = watermark // 1000 + 1
        self._handle.registerTimer(self._alarm)

    def _keys(self, name: str) -> list[str]:
        return list_chunks(name, self._chunks)


def read_cell_note(content: bytes) -> dict[str, Any]:
    """What a cell notes for itself: its chunks, its alarm, digests of cached segments."""
    noted: dict[str, Any] = json.loads(bytes(content) or b"{}")
    return noted


def list_chunks(name: str, chunks: dict[str, int]) -> list[str]:
    """The keys in state under which the pieces of a content lie."""
    return [name, *(f"{name}/{number}" for number in range(1, chunks.get(name, 1)))]
