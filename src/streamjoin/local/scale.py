"""ScaleJoin (section IV, Algorithm 1): gate in, processing threads that store in turn, gate out.

    l, delay ->  +---------+   PT 0: probes with every ready row, stores number 0, 3, 6 ...   +----------+
                 | gate in |   PT 1: probes with every ready row, stores number 1, 4, 7 ...   | gate out | -> results
    r, delay ->  +---------+   PT 2: probes with every ready row, stores number 2, 5, 8 ...   +----------+    in order

All threads read the same rows in the same order, each once it is ready, and count them; so each knows without asking
which ones are its own to store. Results come in one sequence, whatever the interleaving of pushes and threads: gate out
is `LocalJoin`'s own, by ``(join_time, t_l, t_r, ties)``.

Departures: rows come in blocks, so a thread probes with a block and then stores; the distance in time is checked (the
plain three-step procedure compares beyond the window); rows of one time are put in order by a hash of all they hold.
"""

import threading
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.layout import Scale
from streamjoin.local.engine import Engine, State, add_sizes
from streamjoin.local.gate import Gate
from streamjoin.local.pool import Pool
from streamjoin.pane import Rows, Segment
from streamjoin.plan import Block, Plan
from streamjoin.spec.side import SIDES, Side
from streamjoin.worker import Size, Worker
from streamjoin.worker.expiry import ENDED
from streamjoin.worker.store import Fetch

FEW = 64
_SOURCES = (*SIDES, "watermark")
"""The last one brings no rows: it holds back what the watermark of the step has not passed."""

_TIME, _SIDE, _TIE, _ROW = "time", "side", "tie", "row"

Numbers = NDArray[np.int64]
Ready = dict[Side, tuple[Rows, Numbers]]
"""Rows of each side in order, with their numbers among all that were ever ready."""


class ScaleEngine(Engine):
    """A worker for every processing thread; a worker that is given up stores no more, and ends when it is empty."""

    def __init__(self, plan: Plan, n: int, pool: Pool) -> None:
        super().__init__()
        self.plan, self._pool, self._n = plan, pool, n
        self._workers = {thread: Worker(plan, journal=False) for thread in range(n)}
        self._gate = Gate(_TIME, _SOURCES, self._workers, by=(_SIDE, _TIE))
        self._held: dict[Side, Rows] = {}  # rows that gate in has tickets of
        self._tickets: dict[Side, Numbers] = {side: np.zeros(0, np.int64) for side in SIDES}  # their numbers, ascending
        self._entered = dict.fromkeys(SIDES, 0)
        self._counter = 0
        self._watermark: int | None = None

    def run(self, rows: Mapping[Side, Rows], watermark: int | None) -> list[pa.RecordBatch]:
        """Let rows in, and the threads process what is ready."""
        for side, mine in rows.items():
            if len(mine):
                self._gate.add(side, self._enter(side, mine))
        if watermark is None:
            return []
        if watermark == ENDED:
            self._gate.close()
        else:
            for source in _SOURCES:
                self._gate.advance(source, watermark)
        found = self._process(watermark, alone=sum(map(len, rows.values())) <= FEW)
        self._watermark = watermark
        return found

    def finish(self) -> list[pa.RecordBatch]:
        """Everything is ready."""
        return self.run({}, ENDED)

    def _process(self, watermark: int, *, alone: bool) -> list[pa.RecordBatch]:
        known: dict[tuple[int, int], Ready] = {}
        lock = threading.Lock()

        def resolve(tickets: pa.RecordBatch) -> Ready:
            with lock:  # the rows of a block are fetched once for all threads
                first = tickets[_ROW][0].as_py(), tickets[_SIDE][0].as_py()
                if first not in known:
                    known[first] = self._fetch(tickets)
                return known[first]

        def process(thread: int) -> list[pa.RecordBatch]:
            blocks: dict[Side, list[Block]] = {side: [] for side in SIDES}
            while (tickets := self._gate.ready(thread)) is not None:
                for side, (mine, numbers) in resolve(tickets).items():
                    blocks[side].append(Block(mine, None, numbers % self._n == thread))
            return list(self._workers[thread].process(blocks["l"], blocks["r"], watermark))

        threads = sorted(self._workers)
        results = self._pool.run(process, threads, alone=alone)
        self.count([self._workers[thread].last for thread in threads])
        for thread in threads[self._n :]:
            if self._workers[thread].size.segments == 0:
                del self._workers[thread]
                self._gate.drop_reader(thread)
        return [batch for batches in results for batch in batches]

    def _enter(self, side: Side, rows: Rows) -> pa.RecordBatch:
        """Hold rows until they are ready; gate in is given a ticket for each."""
        assert rows.route is not None
        numbers = self._entered[side] + np.arange(len(rows))
        self._entered[side] += len(rows)
        self._held[side] = Rows.concat([self._held[side], rows]) if side in self._held else rows
        self._tickets[side] = np.concatenate([self._tickets[side], numbers])
        sides = np.full(len(rows), SIDES.index(side))
        return pa.record_batch({_TIME: rows.time, _SIDE: sides, _TIE: rows.route, _ROW: numbers})

    def _fetch(self, tickets: pa.RecordBatch) -> Ready:
        """The rows that tickets stand for, which are then held no more."""
        of, numbers = (tickets[name].to_numpy() for name in (_SIDE, _ROW))
        counted = self._counter + np.arange(len(of))
        self._counter += len(of)
        ready: Ready = {}
        for at, side in enumerate(SIDES):
            if not (mine := of == at).any():
                continue
            places = np.searchsorted(self._tickets[side], numbers[mine])
            ready[side] = self._held[side].take(places), counted[mine]
            stays = np.ones(len(self._tickets[side]), np.bool_)
            stays[places] = False
            self._held[side] = self._held[side].take(np.flatnonzero(stays))
            self._tickets[side] = self._tickets[side][stays]
        return ready

    def resize(self, layout: Any, n: int) -> Scale:
        """Deal rows to come to n threads; what is stored stays where it is, and is probed there until it expires."""
        del layout
        for thread in range(n):
            if thread not in self._workers:
                self._workers[thread] = Worker(self.plan, journal=False)
                self._gate.add_reader(thread)
        self._n = n
        return Scale(n)

    # Sizes and state

    @property
    def size(self) -> Size:
        """What all threads hold, and what waits at the gate."""
        whole = add_sizes([worker.size for worker in self._workers.values()])
        left, right = (len(self._tickets[side]) for side in SIDES)
        return replace(whole, waiting_left=whole.waiting_left + left, waiting_right=whole.waiting_right + right)

    def to_state(self) -> State:
        """The workers, the counters, and what waits at the gate."""
        told: dict[str, Any] = {"watermark": self._watermark, "counter": self._counter, "workers": {}}
        kept: dict[str, bytes] = {}
        for thread, worker in self._workers.items():
            told["workers"][str(thread)] = worker.to_manifest().decode()
            kept |= {f"{thread}.{name}": entry for name, entry in worker.to_entries().items()}
        kept |= {f"held.{side}": Segment("", rows).to_bytes() for side, rows in self._held.items() if len(rows)}
        return told, kept

    def from_state(self, told: Mapping[str, Any], fetch: Fetch) -> None:
        """What waited at the gate enters it again."""
        self._counter = told["counter"]
        for name, manifest in told["workers"].items():
            if int(name) not in self._workers:
                self._gate.add_reader(int(name))
            found = partial(_fetch_of, fetch, name)
            self._workers[int(name)] = Worker.restore(self.plan, manifest.encode(), found, journal=False)
        self._watermark = told["watermark"]
        for side in SIDES:
            if (entry := fetch(f"held.{side}")) is not None:
                self._gate.add(side, self._enter(side, Segment.from_bytes(entry, side).rows))


def _fetch_of(fetch: Fetch, worker: str, name: str) -> Any:
    return fetch(f"{worker}.{name}")
