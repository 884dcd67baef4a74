"""The one match that an as-of join takes of each left row, found as pairs come: no pair is held.

Where rows have many matches, only those nearby are looked at first: a row that has one there needs no other.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.kernel.codes import unlock
from streamjoin.kernel.reduce import keep_best
from streamjoin.match.pairs import Pairs
from streamjoin.pane import Rows
from streamjoin.plan.reduction import Pick
from streamjoin.spec.window import Between, Window

Positions = NDArray[np.int64]

FEW_MATCHES = 4.0
"""So many matches a row are looked at first: of rows that come at random then one in fifty has none."""
_WIDER = 16


class Best:
    """The match that `asof` takes of each probing row, found as pairs come."""

    def __init__(self, pick: Pick, probing: Rows) -> None:
        self._pick, self._time = pick, probing.time
        count = len(probing)
        directions = ("backward", "forward") if pick.direction == "nearest" else (pick.direction,)
        self._ends = {
            name: [np.zeros(count, np.int64), np.zeros(count, np.int64), np.full(count, -1), np.zeros(count, np.int64)]
            for name in directions
        }
        self._parts: list[Rows] = []

    def find_unmatched(self) -> NDArray[np.int32]:
        """The positions of rows that have no match yet."""
        unmatched = [part < 0 for _, _, part, _ in self._ends.values()]
        return np.flatnonzero(np.logical_and.reduce(unmatched)).astype(np.int32)

    def add(self, stored: Rows, pairs: Pairs, among: NDArray[np.int32]) -> None:
        """Take in pairs with stored rows of those probing rows whose positions are given."""
        if not len(pairs.probe):
            return
        if not self._parts or self._parts[-1] is not stored:
            self._parts.append(stored)
        route = np.zeros(len(stored), np.int64) if stored.route is None else unlock(stored.route)
        step = 0 if self._pick.exact else 1
        for direction, found in self._ends.items():
            latest = direction == "backward"
            at = self._time - step if latest else self._time + step
            keep_best(
                *(among[pairs.probe], pairs.build, unlock(stored.time), route, at),
                *(latest, len(self._parts) - 1, *found),
            )

    def find(self) -> tuple[list[Rows], Positions, Positions]:
        """Stored rows, and for each probing row the number of the part it matched, -1 for none, and the row in it."""
        if len(self._ends) == 1:
            (_, _, part, row), *_ = self._ends.values()
            return self._parts, part, row
        before, after = self._ends["backward"], self._ends["forward"]
        with np.errstate(over="ignore"):
            nearer = (self._time - before[0]) <= (after[0] - self._time)
        takes_before = (before[2] >= 0) & ((after[2] < 0) | nearer)
        part, row = (np.where(takes_before, before[at], after[at]) for at in (2, 3))
        return self._parts, part, row


def widen(window: Window, matches: float) -> list[Between]:
    """Narrower windows to look for the nearest match in, before the whole one in which a row has so many matches.

    >>> from streamjoin.spec.window import between
    >>> for each in widen(between("-1 minute", "0 seconds"), matches=1000):
    ...     print(each)
    between('-240 milliseconds', '0 seconds')
    between('-3 seconds -840 milliseconds', '0 seconds')
    """
    found: list[Between] = []
    if isinstance(window, Between):
        reach = max(abs(window.first), abs(window.last))
        near = max(1, round(reach * FEW_MATCHES / max(matches, FEW_MATCHES)))
        while near < reach // 2:
            first, last = max(window.first, -near), min(window.last, near)
            if first <= last:
                found.append(Between(first, last))
            near *= _WIDER
    return found


def take_across(parts: Sequence[Rows], part: Positions, row: Positions, schema: pa.Schema) -> list[pa.Array]:
    """Payload columns of rows that lie in several parts; NULL where a part is negative."""
    order = np.argsort(part, kind="stable")
    bounds = np.searchsorted(part[order], np.arange(len(parts) + 1))
    places = np.empty(len(part), np.int64)
    places[order[bounds[0] :]] = np.arange(len(part) - bounds[0])
    taken = [
        each.payload.take(pa.array(row[order[bounds[at] : bounds[at + 1]]]))
        for at, each in enumerate(parts)
        if bounds[at + 1] > bounds[at]
    ]
    indices = pa.array(places, mask=part < 0)
    return list(_take_columns(taken, indices, schema))


def _take_columns(taken: Sequence[pa.RecordBatch], indices: pa.Array, schema: pa.Schema) -> Iterator[pa.Array]:
    for at, each in enumerate(schema):
        if taken:
            yield pa.concat_arrays([batch.column(at) for batch in taken]).take(indices)
        else:
            yield pa.nulls(len(indices), each.type)
