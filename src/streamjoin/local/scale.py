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

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa

from streamjoin.layout import Scale
from streamjoin.local.engine import FEW, Engine, State, add_sizes
from streamjoin.local.entrance import Entrance
from streamjoin.local.pool import Pool
from streamjoin.pane import Rows
from streamjoin.plan import Block, Plan
from streamjoin.spec.side import SIDES, Side
from streamjoin.worker import Size, Worker
from streamjoin.worker.store import Fetch


class ScaleEngine(Engine):
    """A worker for every processing thread; a worker that is given up stores no more, and ends when it is empty."""

    def __init__(self, plan: Plan, n: int, pool: Pool) -> None:
        super().__init__()
        self.plan, self._pool, self._n = plan, pool, n
        self._workers = {thread: Worker(plan, journal=False) for thread in range(n)}
        self._entrance = Entrance(self._workers)
        self._watermark: int | None = None

    def run(self, rows: Mapping[Side, Rows], watermark: int | None) -> list[pa.RecordBatch]:
        """Let rows in, and the threads process what is ready."""
        self._entrance.enter(rows, watermark)
        if watermark is None:
            return []
        found = self._process(watermark, alone=sum(map(len, rows.values())) <= FEW)
        self._watermark = watermark
        return found

    def _process(self, watermark: int, *, alone: bool) -> list[pa.RecordBatch]:
        def process(thread: int) -> list[pa.RecordBatch]:
            blocks: dict[Side, list[Block]] = {side: [] for side in SIDES}
            while (ready := self._entrance.ready(thread)) is not None:
                for side, (mine, numbers) in ready.items():
                    blocks[side].append(Block(mine, None, numbers % self._n == thread))
            return list(self._workers[thread].process(blocks["l"], blocks["r"], watermark))

        threads = sorted(self._workers)
        results = self._pool.run(process, threads, alone=alone)
        self.count([self._workers[thread].last for thread in threads])
        for thread in threads[self._n :]:
            if self._workers[thread].size.segments == 0:
                del self._workers[thread]
                self._entrance.gate.drop_reader(thread)
        return [batch for batches in results for batch in batches]

    def resize(self, layout: Any, n: int) -> Scale:
        """Deal rows to come to n threads; what is stored stays where it is, and is probed there until it expires."""
        del layout
        for thread in range(n):
            if thread not in self._workers:
                self._workers[thread] = Worker(self.plan, journal=False)
                self._entrance.gate.add_reader(thread)
        self._n = n
        return Scale(n)

    # Sizes and state

    @property
    def size(self) -> Size:
        """What all threads hold, and what waits at the gate."""
        whole = add_sizes([worker.size for worker in self._workers.values()])
        left, right = map(self._entrance.count_waiting, SIDES)
        return replace(whole, waiting_left=whole.waiting_left + left, waiting_right=whole.waiting_right + right)

    def to_state(self) -> State:
        """The workers, the counters, and what waits at the gate."""
        told: dict[str, Any] = {"watermark": self._watermark, "counter": self._entrance.counter, "workers": {}}
        kept: dict[str, bytes] = {}
        for thread, worker in self._workers.items():
            told["workers"][str(thread)] = worker.to_manifest().decode()
            kept |= {f"{thread}.{name}": entry for name, entry in worker.to_entries().items()}
        return told, kept | self._entrance.to_entries()

    def from_state(self, told: Mapping[str, Any], fetch: Fetch) -> None:
        """What waited at the gate enters it again."""
        self._entrance.counter = told["counter"]
        for name, manifest in told["workers"].items():
            if int(name) not in self._workers:
                self._entrance.gate.add_reader(int(name))
            found = partial(_fetch_of, fetch, name)
            self._workers[int(name)] = Worker.restore(self.plan, manifest.encode(), found, journal=False)
        self._watermark = told["watermark"]
        self._entrance.restore(fetch)


def _fetch_of(fetch: Fetch, worker: str, name: str) -> Any:
    return fetch(f"{worker}.{name}")
