"""Attempts of tasks: the product's own stages, one step after the other, on a disk that may fail."""

import errno
import io
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from streamjoin.errors import StreamJoinError
from streamjoin.flow.cache import SegmentCache
from streamjoin.flow.cell import CellBatch, keep_plan
from streamjoin.flow.emit import PLAN_CELL, Sent
from streamjoin.flow.metrics import CellMetrics
from streamjoin.flow.settle import Answer
from streamjoin.pane import write_whole
from streamjoin.spark.processor import CellState
from tests.simulation.process import Process
from tests.simulation.state import Handle, Version

QUERY = "00000000-0000-0000-0000-000000000000"


class Died(Exception):
    """An attempt was killed."""


class Unnoticed(AssertionError):
    """A file was changed while it was in use, and the attempt went on."""


class Steps:
    """Counts the steps of an attempt: each answer, each change of state, each use of the cache.

    After `last` steps the attempt dies; before step `at`, `then` is called: something that happens at the same time.
    """

    def __init__(self, last: int | None = None, at: int = -1, then: Callable[[], None] = lambda: None) -> None:
        self._last, self._at, self._then, self.done = last, at, then, 0

    def __call__(self) -> None:
        self.done += 1
        if self.done == self._at:
            self._then()
        if self._last is not None and self.done > self._last:
            raise Died


class Disk:
    """Where caches write, and what waits to be settled: full after so many writes, or the writer is killed in one."""

    def __init__(self) -> None:
        self.full_after: int | None = None
        self.kill_after: int | None = None
        self.refused = self.killed = 0

    def write_whole(self, path: Path, pieces: Sequence[Any]) -> None:
        """In place of the cache's own, which it calls."""
        if self.kill_after is not None:
            self.kill_after -= 1
            if self.kill_after < 0:
                self.kill_after, self.killed = None, self.killed + 1
                path.with_name(f".{path.name}.draft").write_bytes(bytes(pieces[0]))
                raise Died
        if self.full_after is not None:
            self.full_after -= 1
            if self.full_after < 0:
                self.refused += 1
                pieces = _until_full(pieces, self.refused % 3)
        write_whole(path, pieces)

    def open_unnamed(self, **where: Any) -> IO[bytes]:
        """In place of `TemporaryFile`."""
        with tempfile.TemporaryFile(buffering=0, **where) as file:
            return io.BufferedRandom(_Unnamed(os.dup(file.fileno()), self))

    def refuse(self) -> None:
        """Refuse a write if the disk is full by now."""
        if self.full_after is not None:
            self.full_after -= 1
            if self.full_after < 0:
                raise OSError(errno.ENOSPC, "No space left on device")


class _Unnamed(io.FileIO):
    """A file without a name on such a disk."""

    def __init__(self, file: int, disk: Disk) -> None:
        super().__init__(file, "w+b")
        self._disk = disk

    def write(self, data: Any) -> int:
        self._disk.refuse()
        return super().write(data)


def _until_full(pieces: Sequence[Any], count: int) -> Iterator[Any]:
    yield from pieces[:count]
    raise OSError(errno.ENOSPC, "No space left on device")


class CellCache(SegmentCache):
    """The product's cache; its uses are steps."""

    def __init__(self, step: Callable[[], None], touches: bool, *where: Any) -> None:
        super().__init__(*where)
        self._step, self._touches, self.touched = step, touches, False

    def put(self, segment: Any) -> str | None:
        self._step()
        return super().put(segment)

    def sweep(self, keep: Iterable[tuple[str, str]]) -> None:
        self._step()
        if self._touches and self._mapped:
            file, stamp, _ = self._mapped[-1]
            os.utime(file, ns=(stamp.changed + 10**9,) * 2)
            self.touched = True
        super().sweep(keep)


class CellTask:
    """An attempt of a task of cells: those with records first, then those whose timers have expired."""

    def __init__(
        self,
        process: Process,
        packed: bytes,
        before: Version,
        records: dict[int, list[Sent]],
        watermark: int,
        steps: Steps,
        *,
        touches: bool = False,
    ) -> None:
        self.process, self.steps = process, steps
        self.state: Version = dict(before)
        self.answers: list[Answer] = []
        self.metrics: list[CellMetrics] = []
        self.fired = self.touched = 0
        self._packed, self._records, self._watermark, self._touches = packed, records, watermark, touches
        self._running = self._run()

    def advance(self) -> bool:
        """Go on to the next answer; whether there was one."""
        with self.process.running():
            return next(self._running, self) is not self

    def finish(self) -> "CellTask":
        while self.advance():
            pass
        return self

    def close(self) -> None:
        with self.process.running():
            self._running.close()

    def _run(self) -> Iterator[None]:
        for cell, records in self._records.items():
            yield from self._run_cell(cell, records, None)
        expired = [(cell, at) for cell, own in self.state.items() for at in own.timers if at <= self._watermark]
        for cell, at in sorted(expired):
            self.fired += 1
            yield from self._run_cell(cell, [], at)
            Handle(self.state, cell, self.steps).deleteTimer(at)

    def _run_cell(self, cell: int, records: list[Sent], fired: int | None) -> Iterator[None]:
        """As `spark.processor.CellProcessor` does."""
        job, state = self.process.unpack(self._packed), CellState(Handle(self.state, cell, self.steps))
        state.fired = fired
        if cell == PLAN_CELL:
            keep_plan(job, state)
            return
        watermark = max(self._watermark, 0) * 1000 or None
        cache = CellCache(self.steps, self._touches, job.cache, QUERY, job.name, cell, job.layout.cells)
        try:
            for found in CellBatch(job, cell, state, cache, watermark, clock=_no_time).run(records):
                self.steps()
                if isinstance(found, CellMetrics):
                    if cache.touched:
                        raise Unnoticed("a file was changed while it was in use, and the batch went on")
                    self.metrics.append(found)
                else:
                    self.answers.append(found)
                yield
        except StreamJoinError:
            if not cache.touched:
                raise
            self.touched += 1
            raise Died from None
        finally:
            cache.close()


def _no_time() -> float:
    return 0.0
