"""The stages of a micro-batch, task by task, with what goes wrong in them."""

import errno
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa

from streamjoin.flow.emit import Sent, emit
from streamjoin.flow.late import is_kept
from streamjoin.flow.metrics import CellMetrics
from streamjoin.flow.sequence import arrange
from streamjoin.flow.settle import Answer, settle, unpack_results
from streamjoin.layout import Grid
from streamjoin.spec.side import Side
from tests.simulation.damage import damage_cache
from tests.simulation.faults import DAMAGES, Fault
from tests.simulation.history import Arriving, Row
from tests.simulation.process import Process
from tests.simulation.sql import Result, sql_of
from tests.simulation.state import Version
from tests.simulation.tasks import CellTask, Died, Steps

if TYPE_CHECKING:
    from tests.simulation.runtime import Runtime


class Crash(Exception):
    """The driver died."""


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


class Stage:
    """The stages of one join in one micro-batch."""

    def __init__(self, runtime: "Runtime", logged: Logged, join: int, faults: list[Fault], draw: Random) -> None:
        self._runtime, self._logged, self._join, self._draw = runtime, logged, join, draw
        self._faults = {fault.kind: fault for fault in faults}
        self._packed = runtime.packed(join)
        self._second = False  # whether a task took the records of a second attempt
        self._plan = runtime.history.joins[join].planned.plan
        self._layout = runtime.history.joins[join].layout
        self._sql = sql_of(runtime.history.joins[join])
        self._partitions = runtime.history.partitions
        self.kept: Counter[str] = Counter()
        """Rows that were dropped, as they came out beside the results."""

    def _process(self) -> Process:
        return self._draw.choice(self._runtime.processes)

    def _hit(self, kind: str) -> None:
        self._runtime.hit(kind, self._join)

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
            if twice and rows:
                sent[-1].append(self._emit(part, side, self._draw.sample(rows, len(rows))))
        return sent

    def _emit(self, part: int, side: Side, rows: list[Row], most: int | None = None) -> list[Sent]:
        job = self._process().unpack(self._packed)
        rows = self._sql.filter(side, rows)
        cut = self._draw.randrange(len(rows) + 1) if self._draw.random() < 0.3 else 0
        pieces = [self._sql.to_batch(job, side, piece) for piece in (rows[:cut], rows[cut:]) if piece]
        sent: list[Sent] = []
        for group in emit(job, side, iter(pieces), part, 3 if self._draw.random() < 0.12 else 1 << 18):
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
        if self._second:
            self._hit("emit runs twice")
        if runtime.disk.refused:
            self._hit("disk full")
        runtime.disk.full_after, runtime.disk.refused = None, 0
        runtime.metrics[self._join, logged.id] = metrics
        if fired:
            self._hit("timer")
        return answers

    def _shuffle(self, sent: list[list[list[Sent]]], part: int) -> dict[int, list[Sent]]:
        """7: the records of each cell of a task, in any order."""
        cells: dict[int, list[Sent]] = {}
        for attempts in sent:
            chosen = self._draw.randrange(len(attempts))
            self._second |= chosen > 0
            for record in attempts[chosen]:
                if max(record.cell, 0) % self._partitions == part:
                    cells.setdefault(record.cell, []).append(record)
        for records in cells.values():
            self._draw.shuffle(records)
        order = list(cells)
        self._draw.shuffle(order)
        return {cell: cells[cell] for cell in order}

    def _prepare_disk(self) -> None:
        runtime = self._runtime
        states = [runtime.versions[self._join, part][self._logged.id] for part in range(self._partitions)]
        for kind in ("cells move", "another host"):
            if kind in self._faults and any(states):
                runtime.replace_processes()
                runtime.host += kind == "another host"
                self._hit(kind)
        self._packed = runtime.packed(self._join)
        if fault := self._faults.get("disk full"):
            runtime.disk.full_after = fault.salt % 4
        for kind in DAMAGES:
            if (fault := self._faults.get(kind)) and damage_cache(
                kind, fault.draw(), runtime.cache_directory(self._join), states
            ):
                self._hit(kind)

    def _fail(self, start: Callable[..., CellTask], kinds: set[str], part: int) -> None:
        """Attempts that come to nothing."""
        runtime, disk = self._runtime, self._runtime.disk
        for kind in ("zombie", "cell dies", "cell killed in a write", "file touched in use"):
            if kind not in kinds:
                continue
            draw = self._faults[kind].draw()
            if kind == "zombie":
                task = start(Process(), Steps())
                for _ in range(draw.randrange(3)):
                    task.advance()
                due, at = self._logged.id + draw.randrange(3), draw.choice((1, 2, 4, 8))
                runtime.zombies.append(Zombie(due, self._join, part, at, task))
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
        for zombie in self._runtime.zombies:
            if (zombie.join, zombie.part) == (self._join, part) and zombie.due <= self._logged.id:
                self._runtime.zombies.remove(zombie)

                def then(zombie: Zombie = zombie) -> None:
                    self._runtime.let_finish(zombie)
                    zombie.task.process.die()

                return Steps(at=zombie.at, then=then)
        return Steps()

    # Settle

    def settle(self, answers: list[list[Answer]]) -> list[list[Result]]:
        """The results of each task; in order they come from one."""
        if self._plan.ordered:
            tasks = [[answer for own in answers for answer in own]]
        elif self._plan.shared:
            tasks = self._deal(answers)
        else:
            return [self._take(r for answer in own for r in unpack_results(answer.block)) for own in answers]
        self._fail_settling(tasks)
        return [self._take(self._attempt(task), in_order=self._plan.ordered) for task in tasks]

    def _deal(self, answers: list[list[Answer]]) -> list[list[Answer]]:
        """The answers of each task that settles."""
        assert isinstance(self._layout, Grid)
        tasks: list[list[Answer]] = [[] for _ in range(self._partitions)]
        for answer in (answer for own in answers for answer in own):
            key = answer.cell if answer.stripe < 0 else self._layout.cells + answer.stripe
            tasks[key % self._partitions].append(answer)
        return tasks

    def _attempt(self, task: list[Answer]) -> Iterator[pa.RecordBatch]:
        """An attempt at a task, whose answers come in any order."""
        mixed = self._draw.sample(task, len(task))
        if self._plan.ordered:
            return arrange(self._process().unpack(self._packed), mixed)
        return settle(self._layout, mixed, in_order=False)

    def _fail_settling(self, tasks: list[list[Answer]]) -> None:
        """Attempts that come to nothing: they are killed, or their disk is full at any write."""
        if dies := self._faults.get("settle dies"):
            running = self._attempt(tasks[dies.salt % len(tasks)])
            done = [found for found, _ in zip(running, range(dies.draw().randrange(3) + 1), strict=False)]
            self._runtime.disk.full_after = 0
            running.close()  # type: ignore[attr-defined] - whoever stops early needs no room
            self._runtime.disk.full_after = None
            if done:
                self._hit("settle dies")
        if self._faults.keys() & {"settle dies", "disk full"}:
            for task in tasks:
                writes = 0
                while self._is_refused(task, writes):
                    self._hit("disk full in settling")
                    writes += 1

    def _is_refused(self, task: list[Answer], writes: int) -> bool:
        """Whether an attempt fails on a disk that is full after so many writes."""
        self._runtime.disk.full_after = writes
        try:
            for _ in self._attempt(task):
                pass
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            return True
        finally:
            self._runtime.disk.full_after = None
        return False

    def _take(self, batches: Iterable[pa.RecordBatch], *, in_order: bool = False) -> list[Result]:
        """The results; kept rows go their own way."""
        results: list[Result] = []
        for batch in batches:
            if not is_kept(batch):
                results += self._sql.to_results([batch])
                continue
            assert not (in_order and results), "kept rows came after results"
            self.kept.update(repr((self._join, *row)) for row in zip(*(c.to_pylist() for c in batch), strict=True))
        return results
