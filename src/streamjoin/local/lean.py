"""DP-Join's grid for joins on numbers: every stripe a ring with chains, so that a single row costs microseconds.

         stripes of r    ring 0   ring 1
                        +--------+--------+
    stripe of l, ring > | (0, 0) | (0, 1) |     a step: right rows probe the left rings, and enter their own; then
                        +--------+--------+     left rows probe the right rings, those rows included, and enter

What the chains let through, the matcher checks exactly. `local.grid` serves all other joins.
"""

from collections.abc import Mapping, Sequence
from itertools import count, takewhile
from typing import Any

import numpy as np
import pyarrow as pa

from streamjoin.layout import Grid
from streamjoin.local.engine import FEW, Engine, State
from streamjoin.local.pool import Pool
from streamjoin.local.ring import Axis, Held, Ring
from streamjoin.local.row import Row
from streamjoin.local.slots import Slots
from streamjoin.match import Matcher, Pairs
from streamjoin.pane import Rows, Segment, gather
from streamjoin.plan import Plan
from streamjoin.spec.side import OTHER, SIDES, Side
from streamjoin.spec.window import Between
from streamjoin.worker import Counters, Size
from streamjoin.worker.expiry import find_limit
from streamjoin.worker.output import Output
from streamjoin.worker.store import Fetch


class LeanEngine(Engine):
    """A grid of rings."""

    def __init__(self, plan: Plan, layout: Grid, axes: Sequence[Axis], pool: Pool) -> None:
        super().__init__()
        assert isinstance(plan.window, Between)
        self.plan, self._window, self._pool = plan, plan.window, pool
        self._output = Output(plan)
        self._rings = {
            side: [Ring(plan, side, axes) for _ in range(stripes)]
            for side, stripes in zip(SIDES, (layout.m, layout.n), strict=True)
        }
        self._matcher = Matcher(plan.predicate, plan.window)
        self._checks = bool(self._matcher.check or self._matcher.evaluated)
        self._next = dict.fromkeys(SIDES, 0)  # the stripe of the next row

    def run(self, rows: Mapping[Side, Rows], watermark: int | None) -> list[pa.RecordBatch]:
        """Right rows probe left rows of older steps, left rows also the right rows of this one."""
        found: list[pa.RecordBatch] = []
        for side in ("r", "l"):
            if side in rows and len(rows[side]):
                found += self._probe(side, rows[side])
                self._store(side, rows[side])
        self._expire(watermark)
        return found if len(found) < 2 else list(gather(found, self.plan.block_rows, self.plan.block_bytes))

    def run_row(self, side: Side, row: Row | None, watermark: int | None) -> list[pa.RecordBatch]:
        """A step of a single row, or of none."""
        found: list[pa.RecordBatch] = []
        if row is not None:
            rings = self._rings[side]
            turn = self._next[side]
            self._next[side] = (turn + 1) % len(rings)
            own = rings[turn]
            slot = own.add_row(row)
            asked, times = own.keys[slot : slot + 1], own.times[slot : slot + 1]
            for ring in self._rings[OTHER[side]]:
                self.counted.comparisons += len(ring)
                for probes, slots, looked in ring.find(asked, times, side, self._window):
                    self.counted.examined += looked
                    probes.fill(slot)
                    if (made := self._build(side, own.held, ring.held, probes, slots)) is not None:
                        self.counted.matches += made.num_rows
                        found.append(made)
        self._expire(watermark)
        return found

    def _expire(self, watermark: int | None) -> None:
        if watermark is not None:
            for side in SIDES:
                limit = find_limit(self._window, side, watermark, 0).time
                for ring in self._rings[side]:
                    ring.expire(limit)

    def _store(self, side: Side, rows: Rows) -> None:
        """Deal rows to stripes in turn."""
        rings = self._rings[side]
        if len(rings) == 1:
            rings[0].add(rows)
            return
        first, self._next[side] = self._next[side], (self._next[side] + len(rows)) % len(rings)
        if len(rows) == 1:
            rings[first].add(rows)
            return
        for at, ring in enumerate(rings):
            places = np.arange((at - first) % len(rings), len(rows), len(rings))
            if len(places):
                ring.add(rows.take(places))

    def _probe(self, side: Side, rows: Rows) -> list[pa.RecordBatch]:
        """A task for each cell: a ring of the other side, and as large a part of the rows as one stripe has."""
        rings = self._rings[OTHER[side]]
        asked = self._rings[side][0].to_asked(rows)
        mine = Held(rows.keys, rows.time, lambda at: rows.payload.take(pa.array(at)).columns)
        size = -(-len(rows) // len(self._rings[side]))

        def probe(task: tuple[Ring, int]) -> tuple[list[pa.RecordBatch], Counters]:
            ring, start = task
            part = slice(start, start + size)
            times = rows.time[part]
            counters = Counters(comparisons=len(times) * len(ring))
            results = []
            for probes, slots, looked in ring.find(asked[part], times, side, self._window):
                counters.examined += looked
                if (made := self._build(side, mine, ring.held, probes + start, slots)) is not None:
                    counters.matches += made.num_rows
                    results.append(made)
            return results, counters

        tasks = [(ring, start) for ring in rings if len(ring) for start in range(0, len(rows), size)]
        done = self._pool.run(probe, tasks, alone=len(rows) <= FEW)
        for _, counters in done:
            self.counted.comparisons += counters.comparisons
            self.counted.examined += counters.examined
            self.counted.matches += counters.matches
        return [batch for batches, _ in done for batch in batches]

    def _build(self, side: Side, mine: Held, theirs: Held, probes: Slots, slots: Slots) -> pa.RecordBatch | None:
        """Results of the candidates that pass the exact check."""
        if self._checks:
            pairs = self._matcher.check_pairs(side, mine, theirs, Pairs(probes, slots, 0))  # type: ignore[arg-type]
            probes, slots = pairs.probe, pairs.build  # type: ignore[assignment]
            if len(probes) == 0:
                return None
        taken = mine.take(probes), theirs.take(slots)
        left, right = taken if side == "l" else taken[::-1]
        return self._output.build([*left, *right], np.maximum(mine.time[probes], theirs.time[slots]), {})

    # Sizes and state

    @property
    def size(self) -> Size:
        """What the rings hold."""
        left, right = (sum(map(len, self._rings[side])) for side in SIDES)
        rings = [ring for side in SIDES for ring in self._rings[side]]
        return Size(left, right, 0, 0, 0, 0, 0, len(rings), sum(ring.nbytes for ring in rings))

    def to_state(self) -> State:
        """The rows of every ring, and whose turn it is."""
        kept = {
            f"{side}{at}.{piece}": Segment("", rows).to_bytes()
            for side in SIDES
            for at, ring in enumerate(self._rings[side])
            for piece, rows in enumerate(ring.to_rows())
        }
        return {"next": self._next}, kept

    def from_state(self, told: Mapping[str, Any], fetch: Fetch) -> None:
        """Every ring is filled again."""
        self._next = dict(told["next"])
        for side in SIDES:
            for at, ring in enumerate(self._rings[side]):
                names = (f"{side}{at}.{piece}" for piece in count())
                for name, entry in takewhile(lambda found: found[1] is not None, ((n, fetch(n)) for n in names)):
                    ring.add(Segment.from_bytes(entry, name).rows)
