"""The rows of one side that a worker stores: those that wait to be put in order, and those that can be probed."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamjoin.match import Matcher
from streamjoin.pane import Limit, Panes, Rows, Segment, SegmentError, no_columns
from streamjoin.plan import Block, Plan
from streamjoin.plan.reduction import Sliding
from streamjoin.spec.how import emits_unmatched
from streamjoin.spec.side import Side
from streamjoin.worker.expiry import find_limit, find_retention
from streamjoin.worker.flags import Flags
from streamjoin.worker.journal import Journal
from streamjoin.worker.waiting import Waiting

Fetch = Callable[[str], Any]
"""Gives what was stored under a name, a segment also as it is, or None where there is nothing."""
_NONE: NDArray[np.int64] = np.zeros(0, np.int64)


class Store:
    """One side of a worker.

    `ranked` rows of its stream were numbered: under a count window all that are ready, in the order that it counts;
    otherwise, where the side is preserved, all that arrived here, so that their flags can be found. `whole` of them
    were whole here, `unmatched` of those were emitted as unmatched. Rows before `limit` are expired. Names are "l17"
    for what can be probed, "wl17" for what waits, "tl17" for a tally, "fl0" for a page of flags; a row that waited is
    stored twice, first as it waits and then in its place.
    """

    def __init__(self, plan: Plan, side: Side, matcher: Matcher, journal: Journal | None) -> None:
        self.side = side
        self.waiting = Waiting(f"w{side}", len(plan.payload(side)), journal)
        self.tally = Waiting(f"t{side}", 0, journal)
        self.flags = Flags() if plan.flags(side) else None
        self.ranked = self.whole = self.unmatched = 0
        self.limit = Limit()
        slides = isinstance(plan.reduction, Sliding)
        never_probed = plan.reduction is not None and (side == "l" or slides)
        self.prepare = _leave if never_probed else partial(matcher.prepare, side)
        self._plan, self._journal = plan, journal
        decides_ties = plan.reduction is not None and side == "r" and not slides
        self._routes = decides_ties or plan.ordered
        self.panes = Panes(find_retention(plan.keeps, side), prepare=self.prepare, routes=self._routes)
        self._named = 0
        self._tallied = False

    # Rows that wait

    def count(self, tally: Sequence[Block]) -> None:
        """Note rows of the stream: this side is told of all of them."""
        self._tallied = True
        if tally:
            self.tally.add(Block.concat(tally))

    def release(self, watermark: int) -> tuple[Block | None, Rows | None]:
        """The rows that the watermark has passed; and all of their stream, where the worker is told of them."""
        tally = self.tally.release(watermark)
        rows = Rows(_NONE, (), no_columns(0), route=_NONE) if tally is None else tally.rows
        return self.waiting.release(watermark), rows if self._tallied else None

    # Rows that can be probed

    @property
    def segments(self) -> tuple[Segment, ...]:
        """What can be probed, indexed; some rows in it may be expired."""
        return self.panes.segments

    @property
    def all_segments(self) -> list[Segment]:
        """What can be probed, and what waits."""
        return [*self.segments, *self.waiting.segments, *self.tally.segments]

    def assign_ranks(self, block: Block) -> Block:
        """Give the rows the next ranks of their stream, which all go here."""
        start = self.ranked
        self.extend_ranks(start + len(block))
        self.whole += len(block)
        return replace(block, rows=block.rows.with_rank(start))

    def extend_ranks(self, ranked: int) -> None:
        """So many rows of the stream are numbered now."""
        if self.flags is not None:
            self._drop(self._name_page(page) for page in self.flags.drop(self._find_oldest(self.ranked)))
            self.flags.extend(ranked)
        self.ranked = ranked

    def _find_oldest(self, following: int) -> int:
        """The least rank of a stored row, or the one that comes next."""
        return min((rank for segment in self.segments if (rank := segment.low.rank) is not None), default=following)

    def create_segment(self, rows: Rows) -> Segment | None:
        """A new segment of rows, if there are any."""
        return Segment(self._next_name(), rows) if len(rows) else None

    def add(self, segment: Segment) -> None:
        """Add a segment to what can be probed."""
        if self._journal is not None:
            self._journal.add(segment)
        self._drop(self.panes.add(segment))

    def find_limit(self, watermark: int | None) -> Limit:
        """Which rows of this side are expired under a watermark."""
        return find_limit(self._plan.keeps, self.side, watermark, self.ranked, ordered=self._plan.ordered)

    def find_expired(self, now: Limit) -> Iterator[tuple[Rows, NDArray[np.int64]]]:
        """The stored rows that have expired since the last `expire`."""
        for segment in self.panes.segments:
            if not now.spares(segment.rows):
                expired = np.flatnonzero(now.is_expired(segment.rows) & self.limit.is_live(segment.rows))
                if len(expired):
                    yield segment.rows, expired

    def expire(self, now: Limit) -> None:
        """Drop what is expired."""
        self.limit = now
        self._drop(self.panes.expire(now.time, now.rank))

    # Sizes

    @property
    def undecided(self) -> int:
        """How many rows are unmatched so far, and will be emitted if they stay so, or wait to be reduced."""
        if self._plan.reduction is not None:
            return self.panes.live_rows if self.side == "l" and not isinstance(self._plan.reduction, Sliding) else 0
        if self.flags is None or not emits_unmatched(self._plan.how):
            return 0
        return self.whole - self.flags.count - self.unmatched

    @property
    def nbytes(self) -> int:
        """The bytes of all that is stored."""
        return self.panes.nbytes + self.waiting.nbytes + self.tally.nbytes

    # State

    def take_changed_flags(self) -> dict[str, bytes]:
        """The flags that have changed since the last call."""
        return {} if self.flags is None else {self._name_page(n): page for n, page in self.flags.take_changes().items()}

    def to_manifest(self) -> dict[str, Any]:
        """All but rows and flags, as JSON can say it."""
        return {
            "named": self._named,
            "ranked": self.ranked,
            "whole": self.whole,
            "unmatched": self.unmatched,
            "dropped": 0 if self.flags is None else self.flags.dropped,
            "panes": self.panes.to_manifest(),
            "waiting": self.waiting.to_manifest(),
            "tally": self.tally.to_manifest() if self._tallied else None,
            "flags": [] if self.flags is None else self.flags.pages,
        }

    def to_entries(self) -> dict[str, bytes]:
        """All that the manifest names, merged and indexed as it is now; the journal has no part in it."""
        entries = {segment.name: segment.to_bytes() for segment in self.all_segments}
        if self.flags is not None:
            entries |= {self._name_page(page): self.flags.pack_page(page) for page in self.flags.pages}
        return entries

    def restore(self, manifest: dict[str, Any], watermark: int | None, fetch: Fetch) -> None:
        """Become the store that the manifest was taken of."""
        self._named, self.ranked, self.whole, self.unmatched = (
            manifest[part] for part in ("named", "ranked", "whole", "unmatched")
        )
        self.limit = self.find_limit(watermark)
        must, may = partial(_fetch_segment, fetch), partial(_fetch_if_there, fetch)
        panes = manifest["panes"]
        self.panes = Panes.restore(panes, must, prepare=self.prepare, cached=may, routes=self._routes)
        self.waiting.restore(manifest["waiting"], watermark, must)
        if manifest["tally"] is not None:
            self._tallied = True
            self.tally.restore(manifest["tally"], watermark, must)
        if self.flags is not None:
            pages = ((page, bytes(_require(self._name_page(page), fetch))) for page in manifest["flags"])
            self.flags.dropped = manifest["dropped"]
            self.flags.load(self._find_oldest(self.ranked), self.ranked, pages)

    def _next_name(self) -> str:
        self._named += 1
        return f"{self.side}{self._named}"

    def _name_page(self, page: int) -> str:
        return f"f{self.side}{page}"

    def _drop(self, names: Iterable[str]) -> None:
        if self._journal is not None:
            for name in names:
                self._journal.drop(name)


def _leave(segment: Segment) -> Segment:
    """A segment that needs no index, because only its own rows probe."""
    return segment


def _fetch_if_there(fetch: Fetch, name: str) -> Segment | None:
    found = fetch(name)
    return found if found is None or isinstance(found, Segment) else Segment.from_bytes(found, name)


def _fetch_segment(fetch: Fetch, name: str) -> Segment:
    segment: Segment = _require(name, partial(_fetch_if_there, fetch))
    return segment


def _require(name: str, fetch: Fetch) -> Any:
    found = fetch(name)
    if found is None:
        raise SegmentError(name, "is not in state, although the manifest names it")
    return found
