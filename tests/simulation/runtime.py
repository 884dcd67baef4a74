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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from streamjoin.errors import StreamJoinError
from streamjoin.flow import answers, settle as settling
from streamjoin.flow.cache import CacheSpec, segments
from streamjoin.flow.emit import PLAN_CELL, Sent, emit
from streamjoin.flow.metrics import CellMetrics
from streamjoin.flow.settle import Answer, settle, unpack_results
from streamjoin.layout import Grid
from streamjoin.spark import processor
from streamjoin.spec.side import SIDES, Side
from streamjoin.worker import flags
from tests.simulation.damage import damage_cache
from tests.simulation.faults import DAMAGES, RESTARTS, Fault, Hits
from tests.simulation.history import Arriving, History, Row, Stream
from tests.simulation.joins import make_job
from tests.simulation.process import Process
from tests.simulation.sql import Result, project, sql_of
from tests.simulation.state import Version
from tests.simulation.tasks import QUERY, CellTask, Died, Disk, Steps


_TIGHT = ((processor, "CHUNK_BYTES", 900), (flags, "PAGE", 8), (settling, "PAGE", 4), (answers, "MOST_BYTES", 500))
"""Limits that are far off for a few rows: half of all histories run with these."""


class Crash(Exception):
    """The driver died."""


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


@dataclass(frozen=True)
class Logged:
    """A line of the offset log: a batch and the watermark that it runs under."""

    id: int
    arriving: Arriving
    watermark: int


@dataclass
class Zombie:
    """An attempt that goes on although another one was taken: in batch `due`, before a task or in the middle of it."""

    due: int
    join: int
    part: int
    at: int
    task: CellTask


class Runtime:
    """Runs a history to its end."""

    def __init__(self, history: History, root: Path, hits: Hits) -> None:
        self.history, self.hits = history, hits
        self.log: list[Logged] = []
        self.sink: dict[int, Counter[Result]] = {}
        self.metrics: dict[tuple[int, int], list[CellMetrics]] = {}
        self.versions: dict[tuple[int, int], dict[int, Version]] = {
            (join, part): {0: {}} for join in range(len(history.joins)) for part in range(history.partitions)
        }
        self.watermark = Watermark(history.delays)
        self._ran_under: int | None = None
        self._root, self._host, self._jobs = root, 0, {}
        self._processes = [Process(), Process()]
        self._zombies: list[Zombie] = []
        self._disk = Disk()

    @contextmanager
    def patched(self) -> Iterator[None]:
        """With a disk of ours, and in half of all histories with tight limits."""
        patches = [(segments, "write_whole", self._disk.write_whole), *(() if self.history.seed % 2 else _TIGHT)]
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
            for zombie in self._zombies:
                self._let_finish(zombie)
        finally:
            for process in self._processes:
                process.die()
            for zombie in self._zombies:
                zombie.task.close()
                zombie.task.process.die()

    # One micro-batch

    def _batch(self, arriving: Arriving) -> None:
        faults = [fault for fault in self.history.faults if fault.batch == arriving.number]
        if any(fault.kind == "restart" for fault in faults):
            self._restart(self.watermark.current)
            self._hit("restart")
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
                self._hit(crash.kind)  # type: ignore[union-attr]
                continue
            break
        self.watermark.update(arriving.rows)
        self._ran_under = logged.watermark
        if not arriving.count:
            self._hit("empty batch")

    def _restart(self, watermark: int) -> None:
        """2, 4: nothing survives but logs, state and files."""
        self.watermark = Watermark(self.history.delays, watermark)
        self._ran_under = None
        self._replace_processes()

    def _replace_processes(self) -> None:
        for process in self._processes:
            process.die()
        self._processes = [Process(), Process()]

    def _hit(self, kind: str, join: int = 0) -> None:
        chosen = self.history.joins[join]
        self.hits.add(kind, chosen.layout_kind, chosen.how)

    def _execute(self, logged: Logged, faults: Sequence[Fault], crash: Fault | None, replay: int) -> None:
        draw = self.history.draw(logged.arriving.number, "batch", replay)
        rows, chained, results = logged.arriving.rows, self.history.chained, list[list[Result]]()
        crash_at = crash.salt % len(self.history.joins) if crash else -1
        for number in range(len(self.history.joins)):
            inputs: list[tuple[Side, list[Row]]] = []
            for side in SIDES:
                if number and side == chained:  # the tasks that settled the first join go on as emitters of the second
                    inputs += [(side, [project(result, side) for result in part]) for part in results]
                else:
                    stream = side if number == 0 else "t"
                    inputs += [(side, part) for part in _cut(draw, rows[stream])]
            stage = Stage(self, logged, number, [f for f in faults if f.join == number], draw)
            sent = stage.emit(inputs)
            if crash and crash_at == number and crash.kind == "crash before cells":
                raise Crash
            some = crash.kind == "crash, some state committed" if crash and crash_at == number else False
            results = stage.settle(stage.run_cells(sent, some))
        if crash and crash.kind == "crash, state committed":
            raise Crash
        found = Counter(repr(result) for part in results for result in part)
        before = self.sink.setdefault(logged.id, found)  # 8
        assert before == found, f"batch {logged.arriving.number} ran again and gave other results: {_diff(before, found)}"
        if crash and crash.kind == "crash, sink committed":
            raise Crash

    # What stages use

    def packed(self, join: int) -> bytes:
        """The job as it is sent to the present host."""
        if (join, self._host) not in self._jobs:
            spec = CacheSpec(str(self._root / f"host{self._host}"), self.history.most_bytes)
            job = make_job(f"join{join}", self.history.joins[join], self.history.partitions, spec)
            self._jobs[join, self._host] = pickle.dumps(job)
        return self._jobs[join, self._host]

    def cache_directory(self, join: int) -> Path:
        spec = CacheSpec(str(self._root / f"host{self._host}"), None)
        return spec.root / QUERY / hashlib.sha256(f"join{join}".encode()).hexdigest()[:12]

    def _let_finish(self, zombie: Zombie) -> None:
        directory = self.cache_directory(zombie.join)
        before = {*directory.glob("*/*")}
        try:
            zombie.task.finish()
        except StreamJoinError as error:
            if "was changed" not in str(error):  # it may notice that somebody touched a file meanwhile
                raise
        if before != {*directory.glob("*/*")}:
            self._hit("zombie", zombie.join)


class Stage:
    """The stages of one join in one micro-batch."""

    def __init__(self, runtime: Runtime, logged: Logged, join: int, faults: list[Fault], draw: Random) -> None:
        self._runtime, self._logged, self._join, self._draw = runtime, logged, join, draw
        self._faults = {fault.kind: fault for fault in faults}
        self._packed = runtime.packed(join)
        self._plan = runtime.history.joins[join].planned.plan
        self._layout = runtime.history.joins[join].layout
        self._sql = sql_of(runtime.history.joins[join])
        self._partitions = runtime.history.partitions

    def _process(self) -> Process:
        return self._draw.choice(self._runtime._processes)

    def _hit(self, kind: str) -> None:
        self._runtime._hit(kind, self._join)

    # Emit

    def emit(self, inputs: Sequence[tuple[Side, list[Row]]]) -> list[list[list[Sent]]]:
        """What each emitting task sent, by attempt: cells take the records of one."""
        sent = []
        dies, twice = self._faults.get("emit dies"), self._faults.get("emit runs twice")
        for part, (side, rows) in enumerate(inputs):
            if dies and dies.salt % len(inputs) == part:
                count = dies.salt // 7 % 12
                if len(self._emit(part, side, rows, count)) == count:
                    self._hit("emit dies")
            sent.append([self._emit(part, side, rows)])
            if twice and twice.salt % len(inputs) == part and rows:
                sent[-1].append(self._emit(part, side, self._draw.sample(rows, len(rows))))
                self._hit("emit runs twice")
        return sent

    def _emit(self, part: int, side: Side, rows: list[Row], most: int | None = None) -> list[Sent]:
        job = self._process().unpack(self._packed)
        rows = self._sql.filter(side, rows)
        cut = self._draw.randrange(len(rows) + 1)
        pieces = [self._sql.to_batch(job, side, piece) for piece in (rows[:cut], rows[cut:]) if piece]
        sent: list[Sent] = []
        for group in emit(job, side, iter(pieces), part, self._draw.choice((2, 5, 1 << 18))):
            for record in group:
                if len(sent) == most:
                    return sent
                sent.append(record)
        return sent

    # Cells

    def run_cells(self, sent: list[list[list[Sent]]], crashes: bool) -> list[list[Answer]]:
        """The answers of each task of cells; with `crashes` the driver dies when some have committed."""
        runtime, logged = self._runtime, self._logged
        self._prepare_disk()
        answers: list[list[Answer]] = []
        metrics: list[CellMetrics] = []
        unlucky = {kind: fault.salt % self._partitions for kind, fault in self._faults.items()}
        fired = 0
        order = self._draw.sample(range(self._partitions), self._partitions)
        crash_after = self._draw.randrange(self._partitions)
        for at, part in enumerate(order):
            before = runtime.versions[self._join, part][logged.id]
            records = self._shuffle(sent, part)

            def start(
                process: Process,
                steps: Steps,
                touches: bool = False,
                before: Version = before,
                records: dict[int, list[Sent]] = records,
            ) -> CellTask:
                return CellTask(
                    process, self._packed, before, records, logged.watermark, steps, touches=touches
                )  # 4, 5: every attempt begins with the state of the batch before

            self._fail(start, {kind for kind, chosen in unlucky.items() if chosen == part}, part)
            task = start(self._process(), self._steps(part)).finish()
            runtime.versions[self._join, part][logged.id + 1] = task.state
            runtime.versions[self._join, part].pop(logged.id - 2, None)
            answers.append(task.answers)
            metrics += task.metrics
            fired += task.fired
            if crashes and at >= crash_after:
                raise Crash
        if runtime._disk.refused:
            self._hit("disk full")
        runtime._disk.full_after, runtime._disk.refused = None, 0
        runtime.metrics[self._join, logged.id] = metrics
        if fired:
            self._hit("timer")
        return answers

    def _shuffle(self, sent: list[list[list[Sent]]], part: int) -> dict[int, list[Sent]]:
        """7: the records of each cell of a task, in any order."""
        cells: dict[int, list[Sent]] = {}
        for attempts in sent:
            for record in self._draw.choice(attempts):
                if max(record.cell, 0) % self._partitions == part:
                    cells.setdefault(record.cell, []).append(record)
        for records in cells.values():
            self._draw.shuffle(records)
        order = list(cells)
        self._draw.shuffle(order)
        return {cell: cells[cell] for cell in order}

    def _prepare_disk(self) -> None:
        runtime = self._runtime
        if "cells move" in self._faults:
            runtime._replace_processes()
            self._hit("cells move")
        if "another host" in self._faults:
            runtime._replace_processes()
            runtime._host += 1
            self._packed = runtime.packed(self._join)
            self._hit("another host")
        if fault := self._faults.get("disk full"):
            runtime._disk.full_after = fault.salt % 4
        states = [runtime.versions[self._join, part][self._logged.id] for part in range(self._partitions)]
        for kind in DAMAGES:
            if (fault := self._faults.get(kind)) and damage_cache(
                kind, fault.draw(), runtime.cache_directory(self._join), states
            ):
                self._hit(kind)

    def _fail(self, start: Callable[..., CellTask], kinds: set[str], part: int) -> None:
        """Attempts that come to nothing."""
        runtime, disk = self._runtime, self._runtime._disk
        for kind in ("zombie", "cell dies", "cell killed in a write", "file touched in use"):
            if kind not in kinds:
                continue
            draw = self._faults[kind].draw()
            if kind == "zombie":
                task = start(Process(), Steps())
                for _ in range(draw.randrange(3)):
                    task.advance()
                due, at = self._logged.id + draw.randrange(3), draw.choice((1, 2, 4, 8))
                runtime._zombies.append(Zombie(due, self._join, part, at, task))
                continue
            process = self._process()
            steps = Steps(draw.choice((1, 2, 3, 5, 8, 13, 21, 34, 55)) if kind == "cell dies" else None)
            disk.kill_after = draw.randrange(3) if kind == "cell killed in a write" else None
            task = start(process, steps, touches=kind == "file touched in use")
            killed = disk.killed
            try:
                task.finish()
            except Died:
                pass
            finally:
                disk.kill_after = None
            if (kind == "cell dies" and steps.done) or disk.killed > killed or task.touched:
                self._hit(kind)

    def _steps(self, part: int) -> Steps:
        """The steps of an attempt, with the zombies that come back meanwhile."""
        for zombie in self._runtime._zombies:
            if (zombie.join, zombie.part) == (self._join, part) and zombie.due <= self._logged.id:
                self._runtime._zombies.remove(zombie)

                def then(zombie: Zombie = zombie) -> None:
                    self._runtime._let_finish(zombie)
                    zombie.task.process.die()

                return Steps(at=zombie.at, then=then)
        return Steps()

    # Settle

    def settle(self, answers: list[list[Answer]]) -> list[list[Result]]:
        """The results of each task."""
        if not self._plan.shared:
            return [list(self._sql.to_results(r for answer in own for r in unpack_results(answer.block))) for own in answers]
        assert isinstance(self._layout, Grid)
        parts: list[list[Answer]] = [[] for _ in range(self._partitions)]
        for answer in (answer for own in answers for answer in own):
            key = answer.cell if answer.stripe < 0 else self._layout.cells + answer.stripe
            parts[key % self._partitions].append(answer)
        dies = self._faults.get("settle dies")
        if dies:
            draw, part = dies.draw(), parts[dies.salt % self._partitions]
            running = settle(self._layout, draw.sample(part, len(part)), in_order=False)
            done = [found for found, _ in zip(running, range(draw.randrange(3) + 1), strict=False)]
            running.close()
            if done:
                self._hit("settle dies")
        return [
            list(self._sql.to_results(settle(self._layout, self._draw.sample(part, len(part)), in_order=False)))
            for part in parts
        ]


def _cut(draw: Random, rows: list[Row]) -> list[list[Row]]:
    """The partitions in which rows of a source arrive, in any order; none if there are no rows."""
    parts: list[list[Row]] = [[] for _ in range(draw.choice((1, 1, 2)))] if rows else []
    for row in draw.sample(rows, len(rows)):
        draw.choice(parts).append(row)
    return parts


def _diff(before: Counter[str], after: Counter[str]) -> str:
    return f"only before {list(before - after)[:3]}, only now {list(after - before)[:3]}"
