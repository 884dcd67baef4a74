"""Spark's micro-batches, simulated in one process: logs, watermarks, stages, attempts, state versions, restarts.

What is assumed of Spark. Each number is checked against Spark itself in tests/spark/test_assumptions.py.

1. The watermark is the least, over all inputs, of the latest event time seen, in whole milliseconds, less the input's
   delay; an input without rows counts as 0. It never goes back. A batch runs under what the rows before it led to, late
   ones and those that a condition filters out included.
2. After a restart each input's latest time is forgotten; the watermark itself comes from the log.
3. A batch without rows runs only if the watermark has moved since the last batch, and not first after a restart. It
   has no emitting task; cells run by their timers alone.
4. A batch that was logged and not committed runs again after a restart: same rows, same watermark, state as it was
   before. Partitions of rows may be cut anew.
5. What a failed attempt of a task did to state is discarded; state, timers too, changes when the batch is committed.
6. Timers run after all rows of their partition, at a watermark that has reached them, and are deleted then.
7. The records of a key come together in one task, in any order. Emitting tasks of both sides have one numbering.
8. A sink takes the results of a batch once, however often it ran.
"""

import hashlib
import pickle
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from types import SimpleNamespace

from streamjoin.errors import StreamJoinError
from streamjoin.flow import answers, sequence, spill
from streamjoin.flow import settle as settling
from streamjoin.flow.cache import CacheSpec, segments
from streamjoin.flow.metrics import CellMetrics
from streamjoin.spark import processor
from streamjoin.spec.side import SIDES, Side
from streamjoin.worker import flags
from tests.simulation.faults import RESTARTS, Fault, Hits
from tests.simulation.history import Arriving, History, Row, Stream
from tests.simulation.joins import make_job
from tests.simulation.process import Process
from tests.simulation.sql import Result, project
from tests.simulation.stages import Crash, Logged, Stage, Zombie
from tests.simulation.state import Version
from tests.simulation.tasks import QUERY, Disk

_TIGHT = (
    (processor, "CHUNK_BYTES", 900),
    (flags, "PAGE", 8),
    (settling, "PAGE", 4),
    (answers, "MOST_BYTES", 500),
    (sequence, "MOST_BYTES", 500),
)
"""Limits that are far off for a few rows: half of all histories run with these."""


class Watermark:
    """Spark's tracker of event times, in milliseconds (1, 2)."""

    def __init__(self, delays: dict[Stream, int], current: int = 0) -> None:
        self._delays, self.current = delays, current
        self._inputs: dict[Stream, int] = {}

    def update(self, rows: dict[Stream, list[Row]]) -> None:
        for stream, delay in self._delays.items():
            times = [row["ts"] for row in rows[stream] if row["ts"] is not None]
            before = self._inputs.get(stream)
            if times:
                reached = max(times) // 1000 - delay
                self._inputs[stream] = reached if before is None else max(before, reached)
            elif before is None:
                self._inputs[stream] = 0
        self.current = max(self.current, min(self._inputs.values()))


class Runtime:
    """Runs a history to its end."""

    def __init__(self, history: History, root: Path, hits: Hits) -> None:
        self.history, self.hits = history, hits
        self.log: list[Logged] = []
        self.sink: dict[int, Counter[str]] = {}
        self.kept: dict[int, Counter[str]] = {}
        self.sequence: dict[int, list[str]] = {}
        self.metrics: dict[tuple[int, int], list[CellMetrics]] = {}
        self.versions: dict[tuple[int, int], dict[int, Version]] = {
            (join, part): {0: {}} for join in range(len(history.joins)) for part in range(history.partitions)
        }
        self.watermark = Watermark(history.delays)
        self._ran_under: int | None = None
        self._root, self.host, self._jobs = root, 0, {}
        self.processes = [Process(), Process()]
        self.zombies: list[Zombie] = []
        self.disk = Disk()

    @contextmanager
    def patched(self) -> Iterator[None]:
        """With a disk of ours, and in half of all histories with tight limits."""
        patches = [
            (segments, "write_whole", self.disk.write_whole),
            (spill, "tempfile", SimpleNamespace(TemporaryFile=self.disk.open_unnamed)),
            *(() if self.history.seed % 2 else _TIGHT),
        ]
        originals = [(module, name, getattr(module, name)) for module, name, _ in patches]
        for module, name, value in patches:
            setattr(module, name, value)
        try:
            yield
        finally:
            for module, name, value in originals:
                setattr(module, name, value)

    def run(self) -> None:
        try:
            for arriving in self.history.batches:
                self._batch(arriving)
            self._batch(Arriving(-1, {stream: [] for stream in self.history.delays}))
            for zombie in self.zombies:
                self.let_finish(zombie)
        finally:
            for process in self.processes:
                process.die()
            for zombie in self.zombies:
                zombie.task.close()
                zombie.task.process.die()

    # One micro-batch

    def _batch(self, arriving: Arriving) -> None:
        faults = [fault for fault in self.history.faults if fault.batch == arriving.number]
        if self.log and any(fault.kind == "restart" for fault in faults):
            self._restart(self.watermark.current)
            self.hit("restart")
        if not arriving.count and (self._ran_under is None or self.watermark.current <= self._ran_under):  # 3
            return
        logged = Logged(len(self.log), arriving, self.watermark.current)
        self.log.append(logged)
        crashes = [fault for fault in faults if fault.kind in RESTARTS[1:]]
        for replay, crash in enumerate([*crashes, None]):
            try:
                self._execute(logged, faults if replay == 0 else [], crash, replay)
            except Crash:
                self._restart(logged.watermark)
                self.hit(crash.kind)  # type: ignore[union-attr]
                continue
            break
        self.watermark.update(arriving.rows)
        self._ran_under = logged.watermark
        if not arriving.count:
            self.hit("empty batch")

    def _restart(self, watermark: int) -> None:
        """2, 4: nothing survives but logs, state and files."""
        self.watermark = Watermark(self.history.delays, watermark)
        self._ran_under = None
        self.replace_processes()

    def replace_processes(self) -> None:
        for process in self.processes:
            process.die()
        self.processes = [Process(), Process()]

    def hit(self, kind: str, join: int = 0) -> None:
        self.hits.add(kind, self.history.joins[join])

    def _execute(self, logged: Logged, faults: Sequence[Fault], crash: Fault | None, replay: int) -> None:
        draw = self.history.draw(logged.arriving.number, "batch", replay)
        rows, chained, results = logged.arriving.rows, self.history.chained, list[list[Result]]()
        kept = Counter[str]()
        crash_at = crash.salt % len(self.history.joins) if crash else -1
        for number in range(len(self.history.joins)):
            inputs: list[tuple[Side, list[Row]]] = []
            for side in SIDES:
                if number and side == chained:  # the tasks that settled the first join go on as emitters of the second
                    inputs += [(side, [project(result, side) for result in part]) for part in results]
                else:
                    streams = [rows["t"]] if number else logged.arriving.streams(side)
                    inputs += [(side, part) for stream in streams for part in _cut(draw, stream)]
            stage = Stage(self, logged, number, [f for f in faults if f.join == number], draw)
            sent = stage.emit(inputs)
            if crash and crash_at == number and crash.kind == "crash before cells":
                raise Crash
            some = crash.kind == "crash, some state committed" if crash and crash_at == number else False
            results = stage.settle(stage.run_cells(sent, some))
            kept += stage.kept
        if crash and crash.kind == "crash, state committed":
            raise Crash
        found = Counter(repr(result) for part in results for result in part)
        self.sequence.setdefault(logged.id, [repr(result) for part in results for result in part])
        for sink, now in ((self.sink, found), (self.kept, kept)):
            before = sink.setdefault(logged.id, now)  # 8
            assert before == now, f"batch {logged.arriving.number} ran again and gave others: {_diff(before, now)}"
        if crash and crash.kind == "crash, sink committed":
            raise Crash

    # What stages use

    def packed(self, join: int) -> bytes:
        """The job as it is sent to the present host."""
        if (join, self.host) not in self._jobs:
            spec = CacheSpec(str(self._root / f"host{self.host}"), self.history.most_bytes)
            job = make_job(f"join{join}", self.history.joins[join], self.history.partitions, spec)
            self._jobs[join, self.host] = pickle.dumps(job)
        return self._jobs[join, self.host]

    def cache_directory(self, join: int) -> Path:
        spec = CacheSpec(str(self._root / f"host{self.host}"), None)
        return spec.root / QUERY / hashlib.sha256(f"join{join}".encode()).hexdigest()[:12]

    def let_finish(self, zombie: Zombie) -> None:
        directory = self.cache_directory(zombie.join)
        before = {*directory.glob("*/*")}
        try:
            zombie.task.finish()
        except StreamJoinError as error:
            if "was changed" not in str(error):  # it may notice that somebody touched a file meanwhile
                raise
        if before != {*directory.glob("*/*")}:
            self.hit("zombie", zombie.join)


def _cut(draw: Random, rows: list[Row]) -> list[list[Row]]:
    """The partitions in which rows of a source arrive, in any order; none if there are no rows."""
    parts: list[list[Row]] = [[] for _ in range(draw.choice((1, 1, 1, 2)))] if rows else []
    for row in draw.sample(rows, len(rows)):
        draw.choice(parts).append(row)
    return parts


def _diff(before: Counter[str], after: Counter[str]) -> str:
    return f"only before {list(before - after)[:3]}, only now {list(after - before)[:3]}"
