"""The window of one side: a short list of segments, kept short by merging and small by expiry.

CellJoin (section 4.1) cuts a window into *basic windows*: rows enter the newest, expired rows leave with the oldest as
a whole, and only there a probe must look at each row's time. The thesis (2.1.2) calls such disjoint pieces *panes*.
Here a pane is a stretch of the stream in which its latest time, the *front*, moves on by at most 1/16 of the window:

    arrived    l1 l2 l3 | l4 l5 l6 l7 | l8 l9 l10      front ->
    segments   l1-l3    | l4-l7       | l8-l9 l10
               closed panes: a segment each | the open pane: each segment at most half as large as the one before

Why 1/16: only the oldest pane holds expired rows, so 1/16 bounds what memory and time-checks are wasted, while a
probe visits 16 or so closed panes and log2(n) segments of the open one. Twice as many panes would save 3 % of memory
for nearly twice the segments. CellJoin's Eq. 3-4 weigh the same two costs, that of a basic window and that of its size.

In the open pane segments merge as in a binary counter: a row is copied at most log2(n) times, once more when its pane
closes, and once more if closed panes become too many. All of it is decided from zone maps and counts.

What comes out of order needs no place of its own: the front does not move back, so a late block, however old, joins
the pane that is open when it arrives and stays until that pane goes. Once expired rows are half as many as live ones,
the segments that are full of them are copied without them: some two copies for each of them.
Times that panes cannot part (a front far ahead of all other rows, many windows between two watermarks) cost such
copies, but break neither the bound on memory nor that on segments: more than 34 closed panes are merged by size alone.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from streamjoin.errors import StreamJoinError
from streamjoin.pane.held import MOST_BYTES, Held, add_sizes, group_by_halving, merge_held
from streamjoin.pane.limit import Limit
from streamjoin.pane.manifest import Cached, Fetch, from_note, to_note
from streamjoin.pane.segment import Segment

PANES = 16
"""A pane is this part of the window."""

MOST_CLOSED = 2 * PANES + 2
"""Two neighbouring panes are longer than 1/16 of the window: in a window there are no more than these."""

Prepare = Callable[[Segment], Segment]


class Panes:
    """The segments of one side's window.

    `span` is how long a row stays, in microseconds; 0 where no time says so, as under a count window. `prepare` builds
    a segment's index; it is called when the segments are first asked for, never for one that was merged meanwhile.
    `routes` says that merged segments keep the routing hashes of their rows.

    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from streamjoin.pane import Rows
    >>> panes = Panes(span=160)
    >>> for i in range(5):
    ...     rows = Rows(np.arange(4 * i, 4 * i + 4), (), pa.record_batch({"id": range(4)}))
    ...     _ = panes.add(Segment(f"l{i}", rows))
    >>> [segment.name for segment in panes.segments]
    ['l0-l1', 'l2-l3', 'l4']
    >>> panes.expire(9)
    ['l0', 'l1']
    """

    def __init__(self, span: int = 0, *, prepare: Prepare | None = None, routes: bool = False) -> None:
        if span < 0:
            raise StreamJoinError(f"span: expected microseconds, 0 or more; got {span}")
        self._span = span
        self._prepare = prepare
        self._routes = routes
        self._closed: list[Held] = []  # a segment each
        self._open: list[Held] = []  # the pane that rows arrive in
        self._limit = Limit()
        self._front: int | None = None

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The segments in the order in which they arrived, each with its index."""
        self._closed = [self._prepare_one(held) for held in self._closed]
        self._open = [self._prepare_one(held) for held in self._open]
        return tuple(held.segment for held in self._iter_held())

    def __len__(self) -> int:
        return len(self._closed) + len(self._open)

    @property
    def closed(self) -> int:
        """How many panes are closed; each is one segment, and they come before those of the open pane."""
        return len(self._closed)

    @property
    def rows(self) -> int:
        """How many rows are held, expired ones included whose segment has not gone yet."""
        return sum(held.rows for held in self._iter_held())

    @property
    def live_rows(self) -> int:
        """How many rows are not expired."""
        return sum(self._limit.count_live(held.segment.rows) for held in self._iter_held())

    @property
    def nbytes(self) -> int:
        """The bytes of rows and indexes."""
        return sum(held.segment.nbytes for held in self._iter_held())

    def add(self, segment: Segment) -> list[str]:
        """Take in a segment that arrived.

        Returns the names of segments that arrived and are not needed any longer: this one, if all its rows are expired.
        """
        self._compact()  # the newest segment may hold more expired rows than others: it is the newest no longer
        low, high = segment.low.time, segment.high.time
        if low is None or high is None:
            return [segment.name]
        since = low if self._front is None else max(low, self._front)
        until = high if self._front is None else max(high, self._front)
        newest = Held(segment, len(segment), segment.rows.nbytes, since, until)
        if newest.is_expired(self._limit):
            return [segment.name]
        self._front = until
        if self._open and (self._is_long(newest) or add_sizes([*self._open, newest]) > MOST_BYTES):
            self._close()
        self._open = self._merge(group_by_halving([*self._open, newest]))
        return []

    def expire(self, time: int | None, rank: int = 0) -> list[str]:
        """Drop rows before this time or before this rank; a limit never moves back.

        A segment stays as long as one of its rows is live, so a probe checks the time of each row. Returns
        the names of segments that arrived and are not needed any longer.
        """
        before = self._limit
        self._limit = Limit(before.time if time is None else max(before.time, int(time)), max(before.rank, int(rank)))
        gone = [part for held in self._iter_held() if held.is_expired(self._limit) for part in held.segment.parts]
        self._closed = [held for held in self._closed if not held.is_expired(self._limit)]
        self._open = [held for held in self._open if not held.is_expired(self._limit)]
        self._compact()
        return gone

    def to_manifest(self) -> dict[str, Any]:
        """Plain data, fit for JSON, from which `restore` makes the same list; its length does not depend on rows."""
        return {
            "span": self._span,
            "limit": [self._limit.time, self._limit.rank],
            "front": self._front,
            "closed": [to_note(held) for held in self._closed],
            "open": [to_note(held) for held in self._open],
        }

    @classmethod
    def restore(
        cls,
        manifest: dict[str, Any],
        fetch: Fetch,
        *,
        prepare: Prepare | None = None,
        cached: Cached | None = None,
        routes: bool = False,
    ) -> "Panes":
        """The list that a manifest was taken of.

        `fetch` gives a segment as it arrived, by name. `cached` may give a merged one, which saves fetching its parts.
        """
        panes = cls(manifest["span"], prepare=prepare, routes=routes)
        panes._limit = Limit(*manifest["limit"])
        panes._front = manifest["front"]
        panes._closed = [from_note(note, fetch, cached, routes=routes) for note in manifest["closed"]]
        panes._open = [from_note(note, fetch, cached, routes=routes) for note in manifest["open"]]
        return panes

    def _iter_held(self) -> Iterator[Held]:
        yield from self._closed
        yield from self._open

    def _is_long(self, newest: Held) -> bool:
        """Whether this segment would make the open pane too long.

        The window counts as long as what is held, where that is more: watermarks may come late.
        """
        oldest = max(self._limit.time, next(self._iter_held()).since)
        return newest.until - self._open[0].since > max(self._span, newest.until - oldest) // PANES

    def _close(self) -> None:
        self._closed += self._merge([self._open])
        self._open = []
        if len(self._closed) > MOST_CLOSED:
            self._closed = self._merge(group_by_halving(self._closed))

    def _merge(self, groups: Sequence[Sequence[Held]]) -> list[Held]:
        return [group[0] if len(group) == 1 else self._merge_group(group) for group in groups]

    def _merge_group(self, group: Sequence[Held]) -> Held:
        return merge_held(group, self._limit, routes=self._routes)

    def _compact(self) -> None:
        """Copy live rows away from expired ones where these are more than half as many.

        Cheap upper bound first: treat a segment with an expired row as fully expired. Usually that settles it.
        """
        if 3 * sum(held.rows for held in self._iter_held() if not self._limit.spares(held.segment.rows)) <= self.rows:
            return
        if 3 * sum(held.count_expired(self._limit) for held in self._iter_held()) <= self.rows:
            return
        self._closed = [self._compact_one(held) for held in self._closed]
        self._open = [self._compact_one(held) for held in self._open]

    def _compact_one(self, held: Held) -> Held:
        return held if 3 * held.count_expired(self._limit) <= held.rows else self._merge_group([held])

    def _prepare_one(self, held: Held) -> Held:
        if self._prepare is None or held.prepared or held.segment.index:
            return held
        return replace(held, segment=self._prepare(held.segment), prepared=True)
