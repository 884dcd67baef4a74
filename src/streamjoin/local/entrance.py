"""Gate in: rows wait until the watermark has passed them, and come in one order that all readers share."""

import threading
from collections.abc import Hashable, Iterable, Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.local.gate import Gate
from streamjoin.pane import Rows, Segment
from streamjoin.spec.side import SIDES, Side
from streamjoin.worker.expiry import ENDED
from streamjoin.worker.store import Fetch

_SOURCES = (*SIDES, "watermark")
"""The last one brings no rows: it holds back what the watermark of the step has not passed."""

_TIME, _SIDE, _TIE, _ROW = "time", "side", "tie", "row"

Numbers = NDArray[np.int64]
Ready = dict[Side, tuple[Rows, Numbers]]
"""Rows of each side in order, with their numbers among all that were ever ready."""


class Entrance:
    """Holds rows; its gate has a ticket for each, in the order of (time, left before right, hash of the row)."""

    def __init__(self, readers: Iterable[Hashable]) -> None:
        self.gate = Gate(_TIME, _SOURCES, readers, by=(_SIDE, _TIE))
        self.counter = 0
        """How many rows were ever ready."""
        self._held: dict[Side, Rows] = {}
        self._tickets: dict[Side, Numbers] = {side: np.zeros(0, np.int64) for side in SIDES}  # ascending
        self._entered = dict.fromkeys(SIDES, 0)
        self._fetched: dict[tuple[int, int], Ready] = {}
        self._lock = threading.Lock()

    def enter(self, rows: Mapping[Side, Rows], watermark: int | None) -> None:
        """Rows come in, and the watermark comes to this time."""
        self._fetched.clear()
        for side, mine in rows.items():
            if len(mine):
                self.gate.add(side, self._to_tickets(side, mine))
        if watermark == ENDED:
            self.gate.close()
        elif watermark is not None:
            for source in _SOURCES:
                self.gate.advance(source, watermark)

    def ready(self, reader: Hashable) -> Ready | None:
        """The next ready rows that a reader has not seen; they are fetched once for all readers."""
        tickets = self.gate.ready(reader)
        if tickets is None:
            return None
        first = tickets[_SIDE][0].as_py(), tickets[_ROW][0].as_py()
        with self._lock:
            if first not in self._fetched:
                self._fetched[first] = self._fetch(tickets)
            return self._fetched[first]

    def count_waiting(self, side: Side) -> int:
        """How many rows of a side are not ready."""
        return len(self._tickets[side])

    def to_entries(self) -> dict[str, bytes]:
        """The rows that wait, as bytes under names."""
        return {f"held.{side}": Segment("", rows).to_bytes() for side, rows in self._held.items() if len(rows)}

    def restore(self, fetch: Fetch) -> None:
        """What waited enters again."""
        for side in SIDES:
            if (entry := fetch(f"held.{side}")) is not None:
                self.enter({side: Segment.from_bytes(entry, side).rows}, None)

    def _to_tickets(self, side: Side, rows: Rows) -> pa.RecordBatch:
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
        counted = self.counter + np.arange(len(of))
        self.counter += len(of)
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
