"""Rows stored once, probed by many: the engine of the systems that deal rows to cells.

A *stripe* holds rows of one side; a *cell* is one stripe of each side that meet. In a grid of 2 x 3 cells there are two
stripes of left rows and three of right rows, and a segment of a stripe is built, indexed and stored once for all cells
of its row or column (DP-Join, 4.4.2). A round has three steps, each shared out to the threads:

    1. stripes   number and index fresh rows
    2. cells     probe: nothing is written but the flags of matched rows
    3. stripes   expire, emit what is unmatched, store

Results come in the order of cells and stripes, whichever thread was first.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.local.engine import FEW, Engine, State
from streamjoin.local.pool import Pool
from streamjoin.match import Matcher
from streamjoin.pane import NO_TIME, Limit, Rows, Segment, gather
from streamjoin.plan import Block, Plan
from streamjoin.spec.side import OTHER, SIDES, Side
from streamjoin.worker import Counters, Size
from streamjoin.worker.output import Output
from streamjoin.worker.ranks import Arrived, Ready, split_rounds
from streamjoin.worker.round import Fresh, Round
from streamjoin.worker.store import Fetch, Store

Stripe = tuple[Side, int]


class Prepared(NamedTuple):
    """A stripe before it is probed: its fresh rows, what is stored, and what is expired once the round is over."""

    fresh: Fresh | None
    segments: tuple[Segment, ...]
    limit: Limit


Cell = tuple[int, int]
"""The stripes of left and right rows that meet in a cell."""


class Dealer(ABC):
    """Who meets whom: which stripes there are, in which cells they meet, and to which stripe a row goes."""

    stripes: dict[Side, int]
    cells: Sequence[Cell]

    @abstractmethod
    def deal(self, side: Side, block: Block, *, whole: bool) -> list[Block | None]:
        """A block for each stripe of a side.

        With `whole` every stripe is given all rows, so that it can count them, with masks of what they do there.
        """

    def to_state(self) -> Any:
        """The counters that rows are dealt by, as JSON can say them."""
        return None

    def from_state(self, state: Any) -> None:
        """Go on where another dealer stopped."""
        del state


def deal_to_homes(block: Block, homes: NDArray[np.int64], stripes: int, *, whole: bool) -> list[Block | None]:
    """Each row to one stripe, where it probes and is stored."""
    if whole:
        masks = (homes == stripe for stripe in range(stripes))
        return [replace(block, probes=mask, stores=mask) for mask in masks]
    if stripes == 1:
        return [block]
    positions = (np.flatnonzero(homes == stripe) for stripe in range(stripes))
    return [block.take(at) if len(at) else None for at in positions]


class Stripes(Engine):
    """The windows of both sides, dealt to stripes, and the cells that join them.

    With `holds` rows wait until the watermark has passed them, so that earlier ones come first; under a count window
    they always do.
    """

    def __init__(self, plan: Plan, dealer: Dealer, pool: Pool, *, holds: bool = False) -> None:
        super().__init__()
        self.plan, self.dealer, self.pool = plan, dealer, pool
        self._holds = holds or plan.counts
        self.output = Output(plan)
        self._stores: dict[Stripe, Store] = {
            (side, at): self._new_store(side) for side in SIDES for at in range(dealer.stripes[side])
        }
        self._lines = {side: self._new_store(side) for side in SIDES}  # rows that wait for their turn
        self._matchers = [self._new_matcher() for _ in dealer.cells]  # one a cell: it remembers what it was last asked
        self._watermark: int | None = None
        self._latest = NO_TIME

    def _new_matcher(self) -> Matcher:
        return Matcher(self.plan.predicate, self.plan.window, kernel=self.plan.kernel)

    def _new_store(self, side: Side) -> Store:
        return Store(self.plan, side, self._new_matcher(), None)

    def run(self, rows: Mapping[Side, Rows], watermark: int | None) -> list[pa.RecordBatch]:
        """Join admitted rows with what is stored and with each other, then expire what the watermark has passed."""
        arrived = {side: Block(rows[side]) if side in rows and len(rows[side]) else None for side in SIDES}
        for side, block in arrived.items():
            if block is not None:
                self._latest = max(self._latest, block.rows.zones.high.time or 0)
                if self._holds:
                    self._lines[side].waiting.add(block)
        found: list[pa.RecordBatch] = []
        if not self._holds:
            found = self._run_round({side: Ready(block) for side, block in arrived.items()}, watermark)
        elif watermark is not None:
            for until, ready in self._release(watermark):
                found += self._run_round(ready, until)
        self._watermark = watermark
        return list(gather(found, self.plan.block_rows, self.plan.block_bytes))

    def _release(self, watermark: int) -> Iterable[tuple[int, Arrived]]:
        """The rounds of what the watermark has passed."""
        if self.plan.counts:
            return split_rounds(self.plan.window, self._lines, watermark)
        return [(watermark, {side: Ready(self._lines[side].waiting.release(watermark)) for side in SIDES})]

    def _run_round(self, arrived: Arrived, watermark: int | None) -> list[pa.RecordBatch]:
        dealt = {
            (side, at): block
            for side in SIDES
            if (whole := arrived[side].block) is not None
            for at, block in enumerate(self.dealer.deal(side, whole, whole=self.plan.counts))
        }
        blocks = [each.block for each in arrived.values() if each.block is not None]
        alone = sum(map(len, blocks)) <= FEW

        def round_of(stores: Mapping[Side, Store], cell: int = 0, **more: Any) -> Round:
            rest = (self.output, stores, Counters(), watermark, self._watermark, self._latest)
            return Round(self.plan, self._matchers[cell], *rest, **more)

        def prepare(stripe: Stripe) -> Prepared:
            side, store = stripe[0], self._stores[stripe]
            block, meets = dealt.get(stripe), arrived[OTHER[side]].block is not None
            steps = round_of({side: store})
            evictors = arrived[OTHER[side]].evictors
            fresh = None if block is None else steps.prepare(side, block, evictors, meets=meets)
            if self.plan.counts:
                store.extend_ranks(arrived[side].evictors.stop)
            return Prepared(fresh, store.segments if meets else (), store.find_limit(watermark))

        stripes = list(self._stores)
        ready = dict(zip(stripes, self.pool.run(prepare, stripes, alone=alone), strict=True))

        def finish(stripe: Stripe) -> list[pa.RecordBatch]:
            side, (fresh, _, limit) = stripe[0], ready[stripe]
            steps = round_of({side: self._stores[stripe]})
            unmatched = list(steps.expire(side, fresh, limit, arrived[side].evictors))
            steps.store(side, fresh, limit)
            return unmatched

        found = self._probe(ready, round_of, alone=alone) if blocks else []
        for batches in self.pool.run(finish, stripes, alone=alone):
            found += batches
        for side in SIDES if self.plan.counts else ():
            self._lines[side].extend_ranks(arrived[side].evictors.stop)
        return found

    def _probe(self, ready: Mapping[Stripe, Prepared], round_of: Callable[..., Round], *, alone: bool) -> list[Any]:
        """The matches that all cells find."""

        def probe(cell: int) -> tuple[list[pa.RecordBatch], Counters]:
            own = self.stripes_of(cell)
            stores = {side: self._stores[stripe] for side, stripe in own.items()}
            steps = round_of(stores, cell, probed={side: ready[stripe].segments for side, stripe in own.items()})
            fresh = {side: mine for side, stripe in own.items() if (mine := ready[stripe].fresh) is not None}
            limits = {side: ready[stripe].limit for side, stripe in own.items()}
            return list(steps.counters.time_probe(steps.probe(fresh, limits))), steps.counters

        probed = self.pool.run(probe, range(len(self.dealer.cells)), alone=alone)
        self.count([counters for _, counters in probed])
        return [batch for batches, _ in probed for batch in batches]

    def stripes_of(self, cell: int) -> dict[Side, Stripe]:
        """The stripes that meet in a cell."""
        left, right = self.dealer.cells[cell]
        return {"l": ("l", left), "r": ("r", right)}

    # Sizes and state

    @property
    def size(self) -> Size:
        """What is stored now, each row once."""
        live = {side: sum(s.panes.live_rows for (of, _), s in self._stores.items() if of == side) for side in SIDES}
        undecided = {side: sum(s.undecided for (of, _), s in self._stores.items() if of == side) for side in SIDES}
        waiting = {side: len(self._lines[side].waiting) for side in SIDES}
        every = [*self._stores.values(), *self._lines.values()]
        return Size(
            *(live["l"], live["r"], waiting["l"], waiting["r"], sum(waiting.values()), undecided["l"], undecided["r"]),
            sum(len(store.panes) for store in every),
            sum(store.nbytes for store in every),
        )

    def to_state(self) -> State:
        """What goes on exactly from here: plain data, and bytes under names."""
        told: dict[str, Any] = {"watermark": self._watermark, "latest": self._latest, "dealer": self.dealer.to_state()}
        kept: dict[str, bytes] = {}
        for name, store in self._iter_stores():
            told[name] = store.to_manifest()
            kept |= {f"{name}.{entry}": content for entry, content in store.to_entries().items()}
        return told, kept

    def from_state(self, told: Mapping[str, Any], fetch: Fetch) -> None:
        """Become the engine that the state was taken of."""
        self._watermark, self._latest = told["watermark"], told["latest"]
        self.dealer.from_state(told["dealer"])
        for name, store in self._iter_stores():
            store.restore(told[name], self._watermark, lambda entry, of=name: fetch(f"{of}.{entry}"))  # type: ignore[misc]

    def _iter_stores(self) -> list[tuple[str, Store]]:
        stripes = [(f"{side}{at}", store) for (side, at), store in self._stores.items()]
        return [*stripes, *((f"{side}-line", store) for side, store in self._lines.items())]
