"""Admission: each push is a micro-batch, and its watermark is fixed when it is pushed.

``W`` is the least over both sides of (latest time pushed before - delay), or what `advance` said if that is higher; it
never goes back. So which rows are late is a matter of the sequence of pushes alone, not of the threads' timing.
"""

from dataclasses import dataclass, field

import numpy as np

from streamjoin.local.intake import Taken
from streamjoin.pane import Rows
from streamjoin.spec.side import SIDES, Side


@dataclass
class Admission:
    """What has been pushed so far, as far as it decides who is late."""

    delays: dict[Side, int]
    watermark: int | None = None
    latest: dict[Side, int | None] = field(default_factory=lambda: dict.fromkeys(SIDES))
    pushed: dict[Side, int] = field(default_factory=lambda: dict.fromkeys(SIDES, 0))
    late: dict[Side, int] = field(default_factory=lambda: dict.fromkeys(SIDES, 0))
    invalid: dict[Side, int] = field(default_factory=lambda: dict.fromkeys(SIDES, 0))

    def admit(self, side: Side, taken: Taken) -> tuple[Rows, int | None]:
        """The rows of a push that are not late, and the watermark they come under."""
        before, rows = self.watermark, taken.rows
        self.pushed[side] += taken.count
        self.invalid[side] += taken.invalid
        if before is not None and len(rows):
            earliest = rows.zones.low.time
            if earliest is not None and earliest < before:
                kept = np.flatnonzero(rows.time >= before)
                self.late[side] += len(rows) - len(kept)
                rows = rows.take(kept)
        self._see(side, taken.latest)
        return rows, before

    def admit_row(self, side: Side, time: int) -> tuple[bool, int | None]:
        """Whether a single row is late, and the watermark it comes under."""
        before = self.watermark
        late = before is not None and time < before
        self.pushed[side] += 1
        self.late[side] += late
        self._see(side, time)
        return late, before

    def _see(self, side: Side, latest: int | None) -> None:
        """Take into account what a push brought, for the pushes after it."""
        seen = self.latest[side]
        if latest is not None and (seen is None or latest > seen):
            self.latest[side] = latest
        left, right = self.latest["l"], self.latest["r"]
        if left is not None and right is not None:
            self.advance(min(left - self.delays["l"], right - self.delays["r"]))

    def advance(self, watermark: int) -> None:
        """No row before this time is admitted any more."""
        self.watermark = watermark if self.watermark is None else max(self.watermark, watermark)
