"""The driver of the three steps on blocks (Kang et al.; ScaleJoin, section II; CellJoin, section 3).

A batch of rows is admitted, then

1. probe: every row that probes here is compared with the live rows of the other side;
2. expire: rows that the watermark has passed are dropped, and emitted where they are unmatched and the join says so;
3. store: every row that is stored here stays for rows to come. The papers store before they expire; this way round a
   row that is expired as soon as it is there is never stored.

Within a batch the left rows probe the stored right rows of this batch too, the right rows only left rows of older
batches: each pair is found once. Count windows cannot say which rows are in a window before all rows up to a time are
here; there rows wait until the watermark has passed them, are put in order, and the later row of a pair probes the
earlier one. Where results come in order, rows wait too, so that no result of a batch goes before one of an earlier.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from streamjoin.errors import StreamJoinError
from streamjoin.match import Matcher
from streamjoin.pane import NO_TIME, Rows, Segment, gather
from streamjoin.plan import Block, Plan
from streamjoin.plan.reduction import Sliding
from streamjoin.spec.side import SIDES, Side
from streamjoin.worker.admit import admit, drop_late
from streamjoin.worker.counters import Counters, Size
from streamjoin.worker.decide import Decide
from streamjoin.worker.expiry import ENDED
from streamjoin.worker.journal import Journal
from streamjoin.worker.output import Found, Output
from streamjoin.worker.ranks import Arrived, Ready, split_rounds
from streamjoin.worker.round import Round
from streamjoin.worker.slide import Slide
from streamjoin.worker.store import Fetch, Store

Blocks = Block | Sequence[Block]


class Worker:
    """Joins what arrives in one cell.

    `process` and `finish` yield results as they are found; nothing happens before they are taken, and a batch is over
    when they are exhausted. Rows of a side that the plan shares with other workers come as `Undecided` between them,
    where they are unmatched here; no more than a block of them is held. Results come in no order, but none that comes
    after a batch under watermark W has a `join_time` before W: earlier ones are complete then. `last` counts what the
    last batch did. Without `journal` nothing is remembered for `take_new_segments` and `take_dropped_names`.

    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from streamjoin import within
    >>> from streamjoin.pane import KeyColumn, Rows
    >>> from streamjoin.predicate import Schema, parse
    >>> on = parse("abs(l.x - r.a) <= 10", Schema({"x": "int"}), Schema({"a": "int"}))
    >>> worker = Worker(Plan(on, within("1 second"), pa.schema([("x", pa.int32())]), pa.schema([("a", pa.int32())])))
    >>> def block(name, times, values):
    ...     column = np.array(values, np.int32)
    ...     return Block(Rows(np.array(times), (KeyColumn(column),), pa.record_batch({name: column})))
    >>> results = worker.process(block("x", [0, 500_000], [1, 100]), block("a", [200_000], [5]))
    >>> [row for result in results for row in result.to_pylist()]
    [{'x': 1, 'a': 5, 'join_time': 200000}]
    """

    def __init__(self, plan: Plan, *, journal: bool = True) -> None:
        self.plan = plan
        self.last = Counters()
        self._output = Output(plan)
        self._matcher = _analyze(plan).renew()
        self._journal = Journal() if journal else None
        self._stores: dict[Side, Store] = {side: Store(plan, side, self._matcher, self._journal) for side in SIDES}
        self._watermark: int | None = None
        self._latest = NO_TIME
        self._in_batch = False

    def process(
        self,
        left: Blocks = (),
        right: Blocks = (),
        watermark: int | None = None,
        tally: Mapping[Side, Sequence[Rows]] | None = None,
    ) -> Iterator[Found]:
        """Join the blocks of one micro-batch, which runs under this watermark.

        Under a count window all rows are to be counted: a worker that is not sent all of them is given, in every batch,
        a `tally` of each stream, time and hash of all its rows.
        """
        return self._run_batch({"l": left, "r": right}, watermark, tally or {})

    def finish(self) -> Iterator[Found]:
        """The input has ended: every row that waits, for a match or for its turn, is decided."""
        return self._run_batch({"l": (), "r": ()}, ENDED, {})

    # State

    @property
    def size(self) -> Size:
        """What is stored now."""
        left, right = (self._stores[side] for side in SIDES)
        return Size(
            left.panes.live_rows,
            right.panes.live_rows,
            len(left.waiting),
            len(right.waiting),
            left.waiting.first + right.waiting.first,
            left.undecided,
            right.undecided,
            len(left.panes) + len(right.panes),
            left.nbytes + right.nbytes,
        )

    def to_manifest(self) -> bytes:
        """What is to be stored anew after every batch: small, and in it the names of all that is stored besides."""
        self._require_batch_over()
        return json.dumps(
            {
                "watermark": self._watermark,
                "latest": self._latest,
                "sides": {side: store.to_manifest() for side, store in self._stores.items()},
            },
            separators=(",", ":"),
        ).encode()

    def take_new_segments(self) -> list[Segment]:
        """The segments to be stored since the last call: what arrived, each once, without index."""
        return self._get_journal().take_new()

    def take_changed_flags(self) -> dict[str, bytes]:
        """What else is to be stored since the last call, under these names: which rows are matched."""
        return {name: page for store in self._stores.values() for name, page in store.take_changed_flags().items()}

    def take_dropped_names(self) -> list[str]:
        """The names under which something was stored that is not needed any more since the last call."""
        return self._get_journal().take_dropped()

    def to_entries(self) -> dict[str, bytes]:
        """All that the manifest names, as it is now, for who keeps no journal."""
        self._require_batch_over()
        return {name: entry for store in self._stores.values() for name, entry in store.to_entries().items()}

    def list_segments(self) -> list[Segment]:
        """What can be probed now, indexed and merged, and what waits: for a cache, in which `restore` looks by name."""
        return [segment for store in self._stores.values() for segment in store.all_segments]

    @classmethod
    def restore(cls, plan: Plan, manifest: bytes, fetch: Fetch, *, journal: bool = True) -> "Worker":
        """The worker that a manifest was taken of, under the same plan: who keeps manifests sees to that.

        `fetch` gives what was stored under a name: bytes, a segment as it is, or None. Names of merged segments are
        asked for first; where there is nothing, they are made again of the segments that arrived.
        """
        told = json.loads(manifest)
        worker = cls(plan, journal=journal)
        worker._watermark, worker._latest = told["watermark"], told["latest"]
        for side, store in worker._stores.items():
            store.restore(told["sides"][side], worker._watermark, fetch)
        return worker

    def _get_journal(self) -> Journal:
        self._require_batch_over()
        if self._journal is None:
            raise StreamJoinError("worker: it keeps no journal; expected Worker(plan, journal=True)")
        return self._journal

    def _require_batch_over(self) -> None:
        if self._in_batch:
            raise StreamJoinError("worker: the last batch is not over; it failed, or not all of its results were taken")

    # One batch

    def _run_batch(
        self, blocks: Mapping[Side, Blocks], watermark: int | None, tally: Mapping[Side, Sequence[Rows]]
    ) -> Iterator[Found]:
        self._require_batch_over()
        if self._watermark is not None and (watermark is None or watermark < self._watermark):
            raise StreamJoinError(f"watermark: it went back from {self._watermark} to {watermark}")
        self._in_batch = True
        self.last = Counters()
        for side, rows in tally.items():
            self._count(side, rows, watermark)
        yield from gather(self._run_rounds(blocks, watermark), self.plan.block_rows, self.plan.block_bytes)
        self._watermark = watermark
        self._in_batch = False

    def _run_rounds(self, blocks: Mapping[Side, Blocks], watermark: int | None) -> Iterator[Found]:
        arrived = {side: self._admit(side, blocks[side], watermark) for side in SIDES}
        if isinstance(self.plan.reduction, Sliding):
            slide = Slide(self.plan, self._stores["r"], self.last, watermark, self._watermark)
            yield from slide.run(arrived["r"])
            return
        if self.plan.reduction is not None:
            yield from Decide(self.plan, self._matcher, self._output, self._stores, self.last, watermark).run(arrived)
            return
        rounds: Iterable[tuple[int | None, Arrived]] = [(watermark, {side: Ready(arrived[side]) for side in SIDES})]
        if self.plan.holds:
            rounds = self._hold(arrived, watermark)
        late = self.plan.lagging or self.plan.holds
        for until, rows in rounds:
            steps = Round(
                *(self.plan, self._matcher, self._output, self._stores, self.last),
                *(until, self._watermark if late else until, self._latest),
            )
            yield from steps.run(rows)

    def _admit(self, side: Side, blocks: Blocks, watermark: int | None) -> Block | None:
        late_before = self.find_late(side, watermark)
        admitted = admit(self.plan, side, [blocks] if isinstance(blocks, Block) else blocks, late_before)
        if side == "l":
            self.last.rows_left, self.last.late_left = admitted.rows, admitted.late
        else:
            self.last.rows_right, self.last.late_right = admitted.rows, admitted.late
        if admitted.block is not None:
            self._note_latest(admitted.block)
        return admitted.block

    def find_late(self, side: Side, watermark: int | None) -> int | None:
        """The time before which rows of a side are late."""
        return self._watermark if side in self.plan.lagging else watermark

    def _count(self, side: Side, rows: Sequence[Rows], watermark: int | None) -> None:
        """Take in the tally of a side."""
        late_before = self.find_late(side, watermark)
        admitted = [block for each in rows if len(block := drop_late(Block(each), late_before))]
        if admitted:
            self._note_latest(Block.concat(admitted))
        self._stores[side].count(admitted)

    def _note_latest(self, block: Block) -> None:
        if (latest := block.rows.zones.high.time) is not None:
            self._latest = max(self._latest, latest)

    def _hold(self, arrived: Mapping[Side, Block | None], watermark: int | None) -> Iterator[tuple[int, Arrived]]:
        """Let new rows wait, and take up those that waited long enough."""
        for side, block in arrived.items():
            if block is not None:
                self._stores[side].waiting.add(block)
        if watermark is None:
            return
        if self.plan.counts:
            yield from split_rounds(self.plan.window, self._stores, watermark)
        else:
            yield watermark, {side: Ready(self._stores[side].waiting.release(watermark)) for side in SIDES}


@lru_cache(maxsize=32)
def _analyze(plan: Plan) -> Matcher:
    """A matcher for a plan, once a process: a cell's worker is made anew in every batch."""
    return Matcher(plan.predicate, plan.window, kernel=plan.kernel)
