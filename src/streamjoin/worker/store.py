"""The rows of one side that a worker keeps: those that wait to be put in order, and those that can be met."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamjoin.match import Matcher
from streamjoin.pane import Limit, Panes, Rows, Segment, SegmentError
from streamjoin.pane.manifest import names, runs
from streamjoin.pane.order import order
from streamjoin.plan import Plan
from streamjoin.spec.how import lets_out
from streamjoin.spec.side import Side
from streamjoin.worker.admit import Arrivals
from streamjoin.worker.expiry import horizon, stay
from streamjoin.worker.flags import Flags
from streamjoin.worker.journal import Journal

Fetch = Callable[[str], Any]
"""Gives what was stored under a name, a segment also as it is, or None where there is nothing."""
_WAITING = "w"


class Store:
    """One side of a worker.

    `ranked` rows of its stream were numbered: under a count window all that are ready, in the order that it counts;
    otherwise, where the side is preserved, all that arrived, so that their flags can be found. `alone` of them were
    let out because they met nobody. What lies before `horizon` was let go. Names are "l17" for what can be met, "wl17"
    for what waits, "fl0" for a page of flags; under a count window a row is stored twice, first as it waits and then in
    its place.
    """

    def __init__(self, plan: Plan, side: Side, matcher: Matcher, journal: Journal | None) -> None:
        self.side = side
        self.waiting: dict[str, Arrivals] = {}
        self.flags = Flags() if plan.preserves(side) else None
        self.ranked = self.alone = 0
        self.horizon = Limit()
        self.prepare = partial(matcher.prepare, side)
        self._plan, self._journal = plan, journal
        self._panes = Panes(stay(plan.window, side), prepare=self.prepare)
        self._named = {"": 0, _WAITING: 0}

    # Rows that wait, under count windows

    def wait(self, arrivals: Arrivals) -> None:
        """Keep rows until they are ready."""
        segment = Segment(self._name(_WAITING), arrivals.packed())
        self.waiting[segment.name] = arrivals
        if self._journal is not None:
            self._journal.add(segment)

    def release(self, watermark: int) -> Arrivals | None:
        """The rows that the watermark has passed, in order."""
        ready = []
        for name, arrivals in list(self.waiting.items()):
            passed = arrivals.time < watermark
            if passed.any():
                ready.append(arrivals.where(passed))
            if passed.all():
                del self.waiting[name]
                self._drop([name])
            else:
                self.waiting[name] = arrivals.where(~passed)
        if not ready:
            return None
        arrivals = Arrivals.concat(ready)
        return arrivals.take(order(arrivals.rows))

    # Rows that can be met

    @property
    def segments(self) -> tuple[Segment, ...]:
        """What can be met, indexed; some rows in it may be over."""
        return self._panes.segments

    def number(self, arrivals: Arrivals) -> Arrivals:
        """Give the rows the next ranks of their stream."""
        start, self.ranked = self.ranked, self.ranked + len(arrivals)
        if self.flags is not None:
            self._drop(self._flags_name(page) for page in self.flags.forget(self._oldest(start)))
            self.flags.extend(self.ranked)
        return replace(arrivals, rows=replace(arrivals.rows, rank=np.arange(start, self.ranked)))

    def _oldest(self, following: int) -> int:
        """The least rank of a kept row, or the one that comes next."""
        return min((rank for segment in self.segments if (rank := segment.low.rank) is not None), default=following)

    def segment(self, rows: Rows) -> Segment | None:
        """A new segment of rows, if there are any."""
        return Segment(self._name(), rows) if len(rows) else None

    def keep(self, segment: Segment) -> None:
        """Add a segment to what can be met."""
        if self._journal is not None:
            self._journal.add(segment)
        self._drop(self._panes.add(segment))

    def over(self, now: Limit) -> Iterator[tuple[Rows, NDArray[np.int64]]]:
        """The kept rows whose last chance has gone by since the last `expire`."""
        for segment in self._panes.segments:
            if not now.spares(segment):
                over = np.flatnonzero(now.over(segment.rows) & ~self.horizon.over(segment.rows))
                if len(over):
                    yield segment.rows, over

    def expire(self, now: Limit) -> None:
        """Let go of what is over."""
        self.horizon = now
        self._drop(self._panes.expire(now.time, now.rank))

    # Sizes

    @property
    def pieces(self) -> int:
        """How many segments can be met."""
        return len(self._panes)

    @property
    def undecided(self) -> int:
        """How many rows have met nobody so far, and will be let out if they never do."""
        if self.flags is None or not lets_out(self._plan.how):
            return 0
        return self.ranked - self.flags.count - self.alone

    @property
    def live(self) -> int:
        """How many rows can be met."""
        return self._panes.live_rows

    @property
    def nbytes(self) -> int:
        """The bytes of all that is kept."""
        return self._panes.nbytes + sum(arrivals.rows.nbytes for arrivals in self.waiting.values())

    # State

    def flags_changed(self) -> dict[str, bytes]:
        """The flags that have changed since the last call."""
        return {} if self.flags is None else {self._flags_name(n): page for n, page in self.flags.changes().items()}

    def contents(self) -> dict[str, bytes]:
        """All that is kept, as it is kept now."""
        contents = {segment.name: segment.to_bytes() for segment in self.segments}
        contents |= {name: Segment(name, arrivals.packed()).to_bytes() for name, arrivals in self.waiting.items()}
        if self.flags is not None:
            contents |= {self._flags_name(page): self.flags.page(page) for page in self.flags.pages}
        return contents

    def manifest(self) -> dict[str, Any]:
        """All but rows and flags, as JSON can say it."""
        return {
            "named": self._named,
            "ranked": self.ranked,
            "alone": self.alone,
            "forgotten": 0 if self.flags is None else self.flags.forgotten,
            "panes": self._panes.manifest(),
            "waiting": runs(list(self.waiting)),
            "flags": [] if self.flags is None else self.flags.pages,
        }

    def restore(self, manifest: dict[str, Any], watermark: int | None, fetch: Fetch) -> None:
        """Become the store that the manifest was taken of."""
        self._named, self.ranked, self.alone = (manifest[part] for part in ("named", "ranked", "alone"))
        self.horizon = horizon(self._plan.window, self.side, watermark, self.ranked)
        segment = partial(_segment, fetch)
        self._panes = Panes.restore(manifest["panes"], segment, prepare=self.prepare, cached=partial(_known, fetch))
        columns = len(self._plan.payload(self.side))
        for name in names(manifest["waiting"]):
            arrivals = Arrivals.unpacked(segment(name).rows, columns)
            self.waiting[name] = arrivals if watermark is None else arrivals.where(arrivals.time >= watermark)
        if self.flags is not None:
            pages = ((page, _given(fetch, self._flags_name(page))) for page in manifest["flags"])
            self.flags.forgotten = manifest["forgotten"]
            self.flags.load(self._oldest(self.ranked), self.ranked, pages)

    def _name(self, kind: str = "") -> str:
        """A new name; those of one kind are numbered, so that a manifest can name many of them in short."""
        self._named[kind] += 1
        return f"{kind}{self.side}{self._named[kind]}"

    def _flags_name(self, page: int) -> str:
        return f"f{self.side}{page}"

    def _drop(self, names: Iterable[str]) -> None:
        if self._journal is not None:
            for name in names:
                self._journal.drop(name)


def _known(fetch: Fetch, name: str) -> Segment | None:
    found = fetch(name)
    return found if found is None or isinstance(found, Segment) else Segment.from_bytes(found, name)


def _segment(fetch: Fetch, name: str) -> Segment:
    segment = _known(fetch, name)
    if segment is None:
        raise SegmentError(name, "is not in state, although the manifest names it")
    return segment


def _given(fetch: Fetch, name: str) -> bytes:
    found = fetch(name)
    if found is None:
        raise SegmentError(name, "is not in state, although the manifest names it")
    return bytes(found)
