"""Joins that reduce, in one process: a worker for each cell, as on Spark (`worker.decide`).

    left rows  -> the one cell that the layout says      waits there until W has passed its last partner, probes once
    right rows -> every cell that has left rows for it   stored until no left row can meet them

Rows are routed by their hash, which puts matches of one time in order, too: so results depend neither on the layout nor
on what was run together. Admission has dropped late rows; a worker drops those before its last watermark, of which
there are none.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from streamjoin.layout import Grid, Layout, fit_plan
from streamjoin.local.engine import FEW, Engine, State, add_sizes
from streamjoin.local.pool import Pool
from streamjoin.pane import Rows
from streamjoin.plan import Block, Plan
from streamjoin.spec.side import SIDES, Side
from streamjoin.worker import Size, Worker
from streamjoin.worker.store import Fetch

Blocks = dict[Side, list[Block]]


class ReducingEngine(Engine):
    """The cells of a layout that keeps each left row in one of them."""

    def __init__(self, plan: Plan, layout: Layout, pool: Pool) -> None:
        super().__init__()
        self._plan = replace(fit_plan(layout, plan), lagging=SIDES)
        self._layout, self._pool = layout, pool
        self._route = layout.router(plan)
        self._workers = [Worker(self._plan, journal=False) for _ in range(layout.cells)]
        self._watermark: int | None = None

    def run(self, rows: Mapping[Side, Rows], watermark: int | None) -> list[pa.RecordBatch]:
        """Store right rows, reduce the left rows that the watermark decides, let the others wait."""
        arrived = self._deal(rows)
        still = watermark == self._watermark
        cells = [cell for cell in range(len(self._workers)) if arrived[cell] or not still]

        def process(cell: int) -> list[Any]:
            blocks = arrived[cell]
            return list(self._workers[cell].process(blocks.get("l", ()), blocks.get("r", ()), watermark))

        alone = 0 < sum(map(len, rows.values())) <= FEW
        found = self._pool.run(process, cells, alone=alone)
        self._watermark = watermark
        self.count([self._workers[cell].last for cell in cells])
        return [batch for batches in found for batch in batches]

    def _deal(self, rows: Mapping[Side, Rows]) -> list[Blocks]:
        """The rows of each cell."""
        dealt: list[Blocks] = [{} for _ in self._workers]
        for side, mine in rows.items():
            assert mine.route is not None
            for part in self._route(side, mine, mine.route):
                taken = mine if len(part.rows) == len(mine) else mine.take(part.rows)
                for copy in part.copies:
                    masks = (None if does else np.zeros(len(taken), np.bool_) for does in (copy.probes, copy.stores))
                    dealt[copy.cell].setdefault(side, []).append(Block(taken, *masks))
        return dealt

    # Sizes and state

    @property
    def size(self) -> Size:
        """What is stored now; a right row that all cells of a grid hold is one row."""
        sizes = [worker.size for worker in self._workers]
        whole = add_sizes(sizes)
        return replace(whole, live_right=sizes[0].live_right) if isinstance(self._layout, Grid) else whole

    def to_state(self) -> State:
        """The workers."""
        told = {"watermark": self._watermark, "workers": [w.to_manifest().decode() for w in self._workers]}
        entries = (
            (f"{cell}.{name}", entry)
            for cell, worker in enumerate(self._workers)
            for name, entry in worker.to_entries().items()
        )
        return told, dict(entries)

    def from_state(self, told: Mapping[str, Any], fetch: Fetch) -> None:
        """Become the engine that the state was taken of."""
        self._watermark = told["watermark"]
        self._workers = [
            Worker.restore(self._plan, manifest.encode(), partial(_fetch_of, fetch, cell), journal=False)
            for cell, manifest in enumerate(told["workers"])
        ]


def _fetch_of(fetch: Fetch, cell: int, name: str) -> Any:
    return fetch(f"{cell}.{name}")
