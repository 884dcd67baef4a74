"""ScaleJoin's ScaleGate (sections IV and V), for blocks of rows: many sources in, one order out, many readers.

    source a  --4--7-->  +---------------+
                         |   2 3 4 | 7   | ->  reader 0: 2 3 4
    source b  -2-3--5->  |     W=5 ^     | ->  reader 1: 2 3 4, whenever it asks
                         +---------------+

A row is *ready* (Definition 2) once its time lies before the least, over all sources, of (latest time - allowed
disorder). Ready rows come in the order of (time, columns named by `by`, source, place in its source), the same for all
interleavings of threads; every reader is given each of them once. Rows that all readers have passed are freed.

The paper's Algorithm 2 releases whatever is not its source's last row, and ties by insertion; rows of equal time then
depend on who was first. This is the definition, not the algorithm.

What gives up strictness is `idle_after`: a source that is silent for so many seconds holds nobody back, and what it
brings later from before the released time is late. While all sources are silent, what sources that have left brought
is released, and nothing beyond it.
"""

import threading
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.errors import StreamJoinError
from streamjoin.local.intake import read_time
from streamjoin.pane.order import argsort_columns, argsort_content, is_ready
from streamjoin.spec.duration import Duration, microseconds

NEVER = -(2**63)
_ENDED = 2**63

Times = NDArray[np.int64]


@dataclass
class _Block:
    """Rows of one source, as they were added."""

    rows: pa.RecordBatch
    times: Times


@dataclass
class _Source:
    disorder: int
    latest: int
    heard: float
    pending: list[_Block] = field(default_factory=list)
    ended: bool = False

    @property
    def reached(self) -> int:
        """No row before this time is to come, as far as the source keeps its word."""
        return self.latest - self.disorder if self.latest > NEVER else NEVER

    @property
    def end(self) -> int:
        """The first time after all rows that are pending."""
        return max((int(block.times.max()) + 1 for block in self.pending), default=NEVER)


class Gate:
    """Merges blocks of several sources into one order; threads may add and read at once.

    :param time: the column of event times: timestamps, or int64 of microseconds.
    :param sources: names, in the order in which rows of one time come; each may be mapped to its allowed disorder.
    :param readers: names of those who read, or how many there are.
    :param by: columns that decide among rows of one time, before sources do; NULL comes first.
    :param idle_after: seconds of silence after which a source holds nobody back; None: it always does.

    >>> gate = Gate("ts", ["a", "b"], readers=1)
    >>> gate.add("a", pa.record_batch({"ts": [4, 7]}))
    >>> gate.add("b", pa.record_batch({"ts": [2, 3, 5]}))
    >>> gate.ready(0).to_pydict()
    {'ts': [2, 3, 4]}
    """

    def __init__(
        self,
        time: str,
        sources: Iterable[Hashable] | dict[Hashable, Duration],
        readers: int | Iterable[Hashable] = 1,
        *,
        by: Sequence[str] = (),
        idle_after: float | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._time, self._by, self._idle_after, self._clock = time, tuple(by), idle_after, clock
        self._lock = threading.Condition()
        self._sources: dict[Hashable, _Source] = {}
        self._released = NEVER
        self._log: dict[int, pa.RecordBatch] = {}  # what is ready and not read by all, by number
        self._end = 0
        self._readers = dict.fromkeys(range(readers) if isinstance(readers, int) else readers, 0)
        self._closed = False
        self.late: dict[Hashable, int] = {}
        """Rows of each source that came from before the released time, and were dropped."""
        for source in sources:
            self.join(source, disorder=sources[source] if isinstance(sources, dict) else "0 seconds")

    @property
    def released(self) -> int | None:
        """Rows before this time are ready; None before there are any."""
        return None if self._released == NEVER else self._released

    # Sources

    def join(self, source: Hashable, *, since: int | None = None, disorder: Duration = "0 seconds") -> None:
        """A source comes in; it brings rows from the time `since` on, which must not be released already."""
        with self._lock:
            if source in self._sources:
                raise StreamJoinError(f"gate: there is a source {source!r} already")
            since = NEVER if since is None else since
            if since < self._released:
                raise StreamJoinError(
                    f"gate: source {source!r} begins at {'any time' if since == NEVER else since}, but rows before "
                    f"{self._released} are released; expected since={self._released} or later"
                )
            allowed = microseconds(disorder, "disorder")
            latest = since if since == NEVER else since + allowed
            self._sources[source] = _Source(allowed, latest, self._clock())
            self.late.setdefault(source, 0)

    def leave(self, source: Hashable) -> None:
        """A source brings nothing more, and holds nobody back."""
        with self._lock:
            self._find(source).ended = True
            self._lock.notify_all()

    def add(self, source: Hashable, block: pa.RecordBatch) -> None:
        """Rows of a source, in any order within its disorder; those from before the released time are dropped."""
        column = read_time(block, self._time)
        if column.null_count:
            raise StreamJoinError(f"gate: {self._time} of source {source!r} has NULL; expected a time in every row")
        times = np.asarray(column)
        with self._lock:
            found = self._find(source)
            if self._closed or found.ended:
                raise StreamJoinError(f"gate: source {source!r} has left, and adds nothing more")
            found.heard = self._clock()
            if len(times) == 0:
                return
            if times.min() < self._released:
                kept = times >= self._released
                self.late[source] += int(len(times) - np.count_nonzero(kept))
                block, times = block.filter(pa.array(kept)), times[kept]
            if len(times):
                found.pending.append(_Block(block, times))
                found.latest = max(found.latest, int(times.max()))
            self._lock.notify_all()

    def advance(self, source: Hashable, time: int) -> None:
        """A source without rows has come to this time: what it brings will not lie before."""
        with self._lock:
            found = self._find(source)
            found.latest = max(found.latest, time + found.disorder)
            found.heard = self._clock()
            self._lock.notify_all()

    def close(self) -> None:
        """All sources have ended: everything is ready."""
        with self._lock:
            self._closed = True
            self._lock.notify_all()

    def _find(self, source: Hashable) -> _Source:
        if source not in self._sources:
            raise StreamJoinError(f"gate: no source {source!r}; there are {', '.join(map(repr, self._sources))}")
        return self._sources[source]

    # Readers

    def add_reader(self, reader: Hashable) -> None:
        """Another reader, who sees what becomes ready from now on."""
        with self._lock:
            self._release()
            self._readers[reader] = self._end

    def drop_reader(self, reader: Hashable) -> None:
        """A reader reads no more."""
        with self._lock:
            self._readers.pop(reader, None)
            self._free()

    def ready(self, reader: Hashable, *, timeout: float = 0.0) -> pa.RecordBatch | None:
        """The next ready rows that this reader has not seen, in order; None if there are none after `timeout` seconds.

        After `close`, None says that there will be none any more.
        """
        until = self._clock() + timeout
        with self._lock:
            if reader not in self._readers:
                raise StreamJoinError(f"gate: no reader {reader!r}; there are {', '.join(map(repr, self._readers))}")
            while True:
                self._release()
                at = self._readers[reader]
                if at < self._end:
                    self._readers[reader] = at + 1
                    block = self._log[at]
                    self._free()
                    return block
                rest = until - self._clock()
                if self._closed or rest <= 0:
                    return None
                self._lock.wait(rest if self._idle_after is None else min(rest, self._idle_after))

    @property
    def held(self) -> int:
        """Rows that are held: not ready, or not yet seen by all readers."""
        with self._lock:
            pending = sum(len(block.times) for source in self._sources.values() for block in source.pending)
            return pending + int(sum(block.num_rows for block in self._log.values()))

    @property
    def waiting(self) -> list[pa.RecordBatch]:
        """The rows that are not ready, as they were added."""
        with self._lock:
            return [block.rows for source in self._sources.values() for block in source.pending]

    def _find_merge_time(self) -> int:
        """Definition 2's merge_ts, over the sources that have not left and are not idle."""
        sources = [] if self._closed else list(self._sources.values())
        present = [source for source in sources if not source.ended]
        if not present:
            return _ENDED
        now = self._clock()
        heard = [s for s in present if self._idle_after is None or now - s.heard < self._idle_after]
        if heard:
            return min(source.reached for source in heard)
        return max(source.end if source.ended else source.reached for source in sources)

    def _release(self) -> None:
        """Put what has become ready into the log."""
        merged = self._find_merge_time()
        if merged <= self._released:
            return
        self._released = merged
        ready: list[_Block] = []
        for source in self._sources.values():  # in the order in which they came in
            passed = [_cut(block, merged) for block in source.pending]
            source.pending = [rest for _, rest in passed if rest is not None]
            ready += [block for block, _ in passed if block is not None]
        self._sources = {name: s for name, s in self._sources.items() if not s.ended or s.pending}
        if ready:
            self._log[self._end] = _merge(ready, self._by)
            self._end += 1

    def _free(self) -> None:
        """Forget what all readers have passed."""
        passed = min(self._readers.values(), default=self._end)
        for number in [number for number in self._log if number < passed]:
            del self._log[number]


def _cut(block: _Block, before: int) -> tuple[_Block | None, _Block | None]:
    """The rows before a time, and the rest."""
    passed = is_ready(block.times, before)
    if passed.all():
        return block, None
    if not passed.any():
        return None, block
    return _filter(block, passed), _filter(block, ~passed)


def _filter(block: _Block, mask: NDArray[np.bool_]) -> _Block:
    return _Block(block.rows.filter(pa.array(mask)), block.times[mask])


def _merge(blocks: list[_Block], by: Sequence[str]) -> Any:
    """All rows in order; those that are equal in it stay as they are: by source, then by place."""
    times = np.concatenate([block.times for block in blocks])
    rows = blocks[0].rows if len(blocks) == 1 else pa.concat_batches([block.rows for block in blocks])
    order = argsort_content([times], [rows.column(name) for name in by]) if by else argsort_columns([times])
    if (order[1:] > order[:-1]).all():
        return rows
    return rows.take(pa.array(order))
