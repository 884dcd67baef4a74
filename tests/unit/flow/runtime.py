"""A runtime in one process: state in dictionaries, cells one after the other, attempts that fail on request."""

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from zlib import crc32

import pyarrow as pa
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from streamjoin.flow.cache import CacheSpec, SegmentCache
from streamjoin.flow.cell import CellBatch, keep_plan
from streamjoin.flow.checkpoint import CheckpointKey, Named
from streamjoin.flow.emit import PLAN_CELL, Sent, emit
from streamjoin.flow.job import Job, KeySource, Source
from streamjoin.flow.metrics import CellMetrics
from streamjoin.flow.settle import Answer, settle, unpack_results
from streamjoin.flow.state import Note
from streamjoin.layout import Grid, Layout
from streamjoin.operators.evaluate import evaluate
from streamjoin.operators.expr import Column, Key
from streamjoin.plan import Plan
from streamjoin.reference import Batch, Row, content
from streamjoin.spec.side import NAMED, SIDES, Side
from tests.blocks import ARROW
from tests.properties.test_layouts import COUNTS, layouts

QUERY = "00000000-0000-0000-0000-000000000000"


def serving(plan: Plan) -> SearchStrategy[Layout]:
    """The layouts that serve a plan: where rows are preserved, grids."""
    if plan.how == "inner":
        return layouts(plan)
    return st.builds(Grid, COUNTS, st.just(1) if plan.how == "left_semi" else COUNTS)


def to_job(plan: Plan, layout: Layout, cache: CacheSpec, partitions: int = 2, name: str = "join") -> Job:
    """A job whose emitters are given payload, keys with their hashes, time and route, in this order.

    A key or time that the payload carries is taken from there, as on Spark.
    """
    sources = {}
    for side in SIDES:
        carried = {name: at for at, name in enumerate(plan.payload(side).names)}
        width = len(carried)
        keys = tuple(
            KeySource(key.type, carried.get(_find_name(key), width + 2 * at))
            if key.type.is_machine
            else KeySource(key.type, width + 2 * at, width + 2 * at + 1)
            for at, key in enumerate(plan.keys[side])
        )
        time = width + 2 * len(keys)
        sources[side] = Source(tuple(range(width)), keys, carried.get("ts", time), time + 1)
    named = {side: Named("ts", [(f.name, str(f.type)) for f in plan.payload(side)]) for side in SIDES}
    return Job(name, CheckpointKey.of(plan, layout, partitions, named), plan, layout, partitions, sources, cache)


def _find_name(key: Key) -> str | None:
    """The column that a key is, if it is one."""
    return key.arg.path[0] if isinstance(key.arg, Column) and len(key.arg.path) == 1 else None


def to_batch(job: Job, side: Side, rows: Sequence[Row]) -> pa.RecordBatch:
    """Rows as an emitter is given them; their time is the column "ts"."""
    columns = pa.RecordBatch.from_pylist([dict(row) for row in rows], job.plan.payload(side)).columns
    for key in job.plan.keys[side]:
        values = [evaluate(key.arg, row, {}) if side == "l" else evaluate(key.arg, {}, row) for row in rows]
        hashes = [crc32(repr(value).encode()) % 3 for value in values]  # many collide
        columns += [pa.array(values, ARROW[key.type.name]), pa.array(hashes, pa.int64())]
    columns += [
        pa.array([row["ts"] for row in rows], pa.int64()),
        pa.array([crc32(repr((side, content(row))).encode()) for row in rows], pa.int64()),
    ]
    return pa.RecordBatch.from_arrays(columns, names=[f"c{at}" for at in range(len(columns))])


@dataclass
class Contents:
    """The state of a cell, or what an attempt makes of it."""

    note: Note | None = None
    values: dict[str, bytes] = field(default_factory=dict)
    alarm: int | None = None

    def read_note(self) -> Note | None:
        return self.note

    def write_note(self, note: Note) -> None:
        self.note = note

    def get(self, name: str) -> bytes | None:
        return self.values.get(name)

    def put(self, name: str, content: bytes) -> None:
        self.values[name] = content

    def remove(self, name: str) -> None:
        del self.values[name]

    def wake_after(self, watermark: int) -> None:
        self.alarm = watermark

    def copy(self) -> "Contents":
        return replace(self, values=dict(self.values))


class Runtime:
    """Runs the micro-batches of a job."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.states = {cell: Contents() for cell in (*range(job.layout.cells), PLAN_CELL)}
        self.metrics: list[CellMetrics] = []

    def restart(self, cache: CacheSpec | None = None) -> "Runtime":
        """Another process goes on from the state; on another host if a cache is given."""
        other = Runtime(replace(pickle.loads(pickle.dumps(self.job)), cache=cache or self.job.cache))
        other.states = {cell: state.copy() for cell, state in self.states.items()}
        return other

    def send(self, batch: Batch, parts: int = 1) -> Iterator[Sent]:
        """What the emitting tasks of a batch send, each side read by so many of them."""
        for side in SIDES:
            rows = list(getattr(batch, NAMED[side]))
            for part in range(parts):
                for records in emit(self.job, side, iter([to_batch(self.job, side, rows[part::parts])]), part, 3):
                    yield from records

    def run_cell(
        self, cell: int, records: Sequence[Sent], watermark: int | None, dies_after: int | None = None
    ) -> list[Answer]:
        """One attempt of a cell's batch. One that dies does so after so many answers, and commits nothing."""
        attempt = self.states[cell].copy()
        if cell == PLAN_CELL:
            keep_plan(self.job, attempt)
            self.states[cell] = attempt
            return []
        cache = SegmentCache(self.job.cache, QUERY, self.job.name, cell, self.job.layout.cells)
        try:
            found = CellBatch(self.job, cell, attempt, cache, watermark).run(records)
            told = list(islice(found, dies_after))
        finally:
            cache.close()
        if dies_after is not None:
            return []
        self.states[cell] = attempt
        *answers, metrics = told
        assert isinstance(metrics, CellMetrics)
        self.metrics.append(metrics)
        return answers

    def run(self, batch: Batch, parts: int = 1, dies_after: int | None = None) -> list[pa.RecordBatch]:
        """A micro-batch: the results. Every other cell is sent the rows as tasks that ran again read them: reversed."""
        answers: list[Answer] = []
        again = Batch(list(batch.left)[::-1], list(batch.right)[::-1], batch.watermark)
        sent = [list(self.send(batch, parts)), list(self.send(again, parts))]
        self.metrics.clear()
        for cell in self.states:
            own = [record for record in sent[cell % 2] if record.cell == cell]
            if dies_after is not None:
                self.run_cell(cell, own[::-1], batch.watermark, dies_after)
            answers += self.run_cell(cell, own, batch.watermark)
        if self.job.plan.shared:
            return list(settle(self.job.layout, answers, in_order=False))
        return [results for answer in answers for results in unpack_results(answer.block)]
