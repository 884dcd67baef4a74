"""LocalJoin: the join within one process.

    push -> read rows, fix W -> queue -> one step at a time: engine -> order -> unread results, or the callback
            (caller's thread)            (caller's thread if few rows and
                                          nobody runs, else the driver's)

What arrives while a step runs waits for the next step, which takes up all of it; each push keeps its own W.
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

import pyarrow as pa

from streamjoin.errors import StreamJoinError
from streamjoin.layout import Layout, choose_layout
from streamjoin.local.admission import Admission
from streamjoin.local.asked import Asked, check_schema
from streamjoin.local.engine import FEW
from streamjoin.local.gate import Gate
from streamjoin.local.handshake import Handshake
from streamjoin.local.intake import Pushed
from streamjoin.local.lean import LeanEngine
from streamjoin.local.pool import Pool
from streamjoin.local.row import Row, RowReader
from streamjoin.local.stats import Latency, Stats
from streamjoin.local.systems import build_engine
from streamjoin.operators.evaluate import physical
from streamjoin.operators.types import TIMESTAMP
from streamjoin.pane import Rows
from streamjoin.predicate import On
from streamjoin.spec.duration import Duration, microseconds
from streamjoin.spec.how import how_of
from streamjoin.spec.side import SIDES, Side, pair_of
from streamjoin.spec.window import Window
from streamjoin.sql.select import JOIN_TIME
from streamjoin.worker.expiry import ENDED

QUEUED_ROWS = 1 << 18
"""Rows that may wait for their step: beyond, a push waits."""

_GATE_OUT = ("results", "watermark")
"""The sources of the gate that puts results in order: the second brings none, and holds back what W has not passed."""

Callback = Callable[[pa.RecordBatch], None]


@dataclass(frozen=True)
class Step:
    """What one push brings: admitted rows of a side, the watermark they came under, and when they came."""

    side: Side | None
    rows: Rows | None
    watermark: int | None
    arrived: float

    @property
    def count(self) -> int:
        """How many rows."""
        return 0 if self.rows is None else len(self.rows)


class LocalJoin:
    """Join two streams that are pushed in this process, on any condition within a window; no Spark.

    :param on: SQL over ``l.`` and ``r.`` columns, a lambda over (l, r), or a list of column names to be equal.
    :param window: `within`, `between`, `tumbling` or `last`; None where `on` bounds the time between the rows.
    :param left: the Arrow schema of what `push_left` is given.
    :param right: likewise.
    :param time: the event-time columns: timestamps, or int64 of microseconds; one name if it is the same.
    :param delay: how far a row may come behind the latest one of its side and still count: one value, or a pair.
    :param how: as in `join`.
    :param select: as in `join`.
    :param layout: `Grid`, `Scale`, `Cell`, `Keyed`, `Handshake`, or "auto".
    :param workers: threads that run the cells, by default one a cell but no more than there are cores.
    :param ordered: results in the order of ``(join_time, t_l, t_r, ties)``, each once the watermark has passed it.
    :param timezone: of conditions that depend on one; only "UTC" is served.
    :param callback: is given each batch of results; without it they wait to be read.
    :param unread: so many results may wait; beyond, pushing raises.

    Each push is a micro-batch. Its watermark is the least over both sides of (latest time pushed before - delay), or
    what `advance` said if that is higher; rows before it are late, dropped and counted.

    >>> from streamjoin import LocalJoin, within
    >>> near = LocalJoin(
    ...     on="abs(l.price - r.ask) <= 0.5", window=within("5 seconds"), time="ts", delay="1 second",
    ...     left=pa.schema([("ts", pa.timestamp("us")), ("price", pa.float64())]),
    ...     right=pa.schema([("ts", pa.timestamp("us")), ("ask", pa.float64())]), select=["l.price", "r.ask"],
    ... )
    >>> with near:
    ...     near.push_left({"ts": datetime(2026, 1, 5, 9, 30), "price": 20.1})
    ...     near.push_right({"ts": [datetime(2026, 1, 5, 9, 30, 1)] * 2, "ask": [20.5, 21.5]})
    ...     near.read().to_pydict()
    {'price': [20.1], 'ask': [20.5], 'join_time': [datetime.datetime(2026, 1, 5, 9, 30, 1)]}
    """

    def __init__(
        self,
        *,
        on: On,
        window: Window | None = None,
        left: pa.Schema,
        right: pa.Schema,
        time: str | tuple[str, str],
        delay: Duration | tuple[Duration, Duration],
        how: str = "inner",
        select: Sequence[str] | None = None,
        layout: "Layout | Handshake | Literal['auto']" = "auto",
        workers: int | None = None,
        ordered: bool = False,
        timezone: str = "UTC",
        suffixes: tuple[str, str] = ("_l", "_r"),
        callback: Callback | None = None,
        unread: int = 10_000_000,
    ) -> None:
        self._arguments: dict[str, Any] = {
            key: value for key, value in locals().items() if key not in ("self", "callback", "__class__")
        }
        if window is not None and not isinstance(window, Window):
            raise StreamJoinError(f'window: got {window!r}; expected one such as within("15 minutes")')
        if layout != "auto" and not isinstance(layout, Layout | Handshake):
            raise StreamJoinError(f"layout: got {layout!r}; expected 'auto' or a layout such as Grid(2, 2)")
        _check_count("workers", workers)
        _check_count("unread", unread)
        asked = Asked(
            on=on,
            window=window,
            schemas={"l": check_schema(left, "l"), "r": check_schema(right, "r")},
            time=pair_of("time", time, "one name, or a pair such as ('ts', 'ts')", str),
            how=how_of(how),
            select=select,
            suffixes=pair_of("suffixes", suffixes, "a pair such as ('_l', '_r')", str, one=False),
            timezone=timezone,
            ordered=bool(ordered),
            layout=layout,
        )
        if callable(on):
            self._arguments["on"] = asked.text
        waits = pair_of("delay", delay, "one duration, or a pair: for left and right", Duration)
        cores = os.cpu_count() or 1
        self.layout = choose_layout(asked.plan, cores) if layout == "auto" else layout
        self._pool = Pool(workers or min(self.layout.cells, cores))
        self._asked, self._callback, self._unread = asked, callback, unread
        self._engine = build_engine(self.layout, asked.plan, self._pool)
        self._intakes = {side: asked.intake(side, self.layout) for side in SIDES}
        self._rows = self._find_row_readers()
        self._admission = Admission(
            {side: microseconds(wait, "delay") for side, wait in zip(SIDES, waits, strict=True)}
        )
        self._gate = Gate(JOIN_TIME, _GATE_OUT, by=asked.order) if asked.sorts else None
        self._latency = Latency()
        self._groups = asked.plan.how != "left_semi" or asked.plan.counts

        self._mutex = threading.Lock()
        self._lock = threading.Condition(self._mutex)  # whoever waits for results, room or rest
        self._work = threading.Condition(self._mutex)  # the driver: it is woken for work alone
        self._queue: deque[Step] = deque()
        self._queued = 0
        self._results: deque[pa.RecordBatch] = deque()
        self._unread_rows = self._delivered = self._steps = 0
        self._blocked = 0.0
        self._runner: threading.Thread | None = None  # who runs a step now
        self._driver: threading.Thread | None = None
        self._ended = self._closed = False
        self._error: BaseException | None = None

    # Verbs

    @property
    def schema(self) -> pa.Schema:
        """The schema of the results."""
        return self._asked.schema

    def push_left(self, rows: Pushed) -> None:
        """Rows of the left stream: an Arrow table or batch, a dict of columns, or a dict that is one row."""
        self._push("l", rows)

    def push_right(self, rows: Pushed) -> None:
        """Rows of the right stream."""
        self._push("r", rows)

    def advance(self, watermark: int | datetime) -> None:
        """No row before this time will be admitted any more: a time, or microseconds since the epoch.

        For streams that fall silent: what waits for the watermark comes out.
        """
        time = physical(watermark, TIMESTAMP) if isinstance(watermark, datetime) else watermark
        if not isinstance(time, int) or isinstance(time, bool):
            raise StreamJoinError(f"advance: got {watermark!r}; expected a datetime, or an int of microseconds")
        with self._lock:
            self._check_open()
            self._admission.advance(time)
            step = Step(None, None, self._admission.watermark, perf_counter())
            inline = self._enqueue(step)
        if inline:
            self._run(partial(self._join, [step]), step.arrived)

    def read(self) -> pa.Table:
        """All results of what was pushed so far that have not been read."""
        with self._lock:
            self._wait_idle()
            batches = list(self._results)
            self._results.clear()
            self._unread_rows = 0
        return pa.Table.from_batches(batches, self.schema)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Results as they come, until the input has ended (`flush`) or the join is closed."""
        while True:
            with self._lock:
                while not self._results and not self._is_over():
                    self._lock.wait()
                if not self._results:
                    self._check_failed()
                    return
                batch = self._results.popleft()
                self._unread_rows -= batch.num_rows
            yield batch

    def flush(self) -> None:
        """The input has ended: what waits for the watermark is decided. Returns when all results are there."""
        with self._lock:
            self._check_open()
            self._ended = True
            step = Step(None, None, ENDED, perf_counter())
            inline = self._enqueue(step)
        if inline:
            self._run(partial(self._join, [step]), step.arrived)
        with self._lock:
            self._wait_idle()

    def resize(self, n: int) -> None:
        """Go on with n workers, while it runs; for `Cell` and `Scale`."""
        _check_count("resize", n)
        with self._lock:
            self._wait_idle()
            self._check_open()
            self.layout = self._engine.resize(self.layout, n)
            self._arguments["layout"] = self.layout
            self._pool.resize(min(n, os.cpu_count() or 1))

    def stats(self) -> Stats:
        """What was pushed and found so far, what is held now, and how long results took."""
        with self._lock:
            while self._runner is not None and self._runner is not threading.current_thread():
                self._lock.wait()
            admission, size = self._admission, self._engine.size
            p50, p99, most = self._latency.milliseconds()
            return Stats(
                rows_left=admission.pushed["l"],
                rows_right=admission.pushed["r"],
                late_left=admission.late["l"],
                late_right=admission.late["r"],
                invalid_left=admission.invalid["l"],
                invalid_right=admission.invalid["r"],
                results=self._delivered,
                unread=self._unread_rows,
                queued=self._queued,
                blocked_seconds=self._blocked,
                steps=self._steps,
                watermark=admission.watermark,
                live_left=size.live_left,
                live_right=size.live_right,
                waiting_left=size.waiting_left,
                waiting_right=size.waiting_right,
                segments=size.segments,
                bytes=size.bytes,
                comparisons=self._engine.counted.comparisons,
                latency_p50=p50,
                latency_p99=p99,
                latency_max=most,
            )

    def save(self, directory: str | Path) -> None:
        """Write all that is needed to go on exactly from here, results that were not read among it."""
        from streamjoin.local.save import save

        with self._lock:
            self._wait_idle()
            told, kept = self._engine.to_state()
            held = [] if self._gate is None else self._gate.waiting
            told |= {"arguments": self._arguments, "admission": vars(self._admission)}
            told |= {"delivered": self._delivered, "ended": self._ended, "steps": self._steps}
            save(Path(directory), told, kept, {"unread": list(self._results), "waiting": held})

    @classmethod
    def restore(cls, directory: str | Path, *, callback: Callback | None = None) -> "LocalJoin":
        """The join that was saved there, as if it had never stopped; unread results are there to be read."""
        from streamjoin.local.save import load

        saved = load(Path(directory))
        join = cls(**saved.arguments, callback=callback)
        join._engine.from_state(saved.told, saved.fetch)
        for name, value in saved.told["admission"].items():
            setattr(join._admission, name, value)
        join._delivered, join._ended, join._steps = (saved.told[key] for key in ("delivered", "ended", "steps"))
        for batch in saved.batches("waiting"):
            assert join._gate is not None
            join._gate.add("results", batch)
        join._results.extend(saved.batches("unread"))
        join._unread_rows = sum(batch.num_rows for batch in join._results)
        return join

    def close(self) -> None:
        """End all threads, once the step that runs is over; what is queued is dropped, unread results can be read."""
        with self._lock:
            self._closed = True
            self._queue.clear()
            self._queued = 0
            self._lock.notify_all()
            self._work.notify_all()
            me = threading.current_thread()
            while self._runner is not None and self._runner is not me:
                self._lock.wait()
        if self._driver is not None and self._driver is not threading.current_thread():
            self._driver.join()
        self._engine.close()
        self._pool.close()

    def __enter__(self) -> "LocalJoin":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # From pushes to steps

    def _push(self, side: Side, pushed: Pushed) -> None:
        arrived = perf_counter()
        if self._rows is not None and type(pushed) is dict:
            row = self._rows[side].read(pushed)
            if row is not None and self._push_row(side, row, arrived):
                return
        taken = self._intakes[side].read(pushed)
        with self._lock:
            self._check_open()
            self._check_unread()
            self._wait_for_room()
            rows, watermark = self._admission.admit(side, taken)
            step = Step(side, rows, watermark, arrived)
            inline = self._enqueue(step)
        if inline:
            self._run(partial(self._join, [step]), step.arrived)

    def _find_row_readers(self) -> dict[Side, RowReader] | None:
        """What reads single rows of plain numbers, where the engine takes them."""
        if not isinstance(self._engine, LeanEngine) or not self._asked.is_prompt:
            return None
        left, right = (self._intakes[side].find_row_reader() for side in SIDES)
        return None if left is None or right is None else {"l": left, "r": right}

    def _push_row(self, side: Side, row: Row, arrived: float) -> bool:
        """The lean way of a single row, for when nobody runs; otherwise it goes the way of all others."""
        with self._mutex:
            self._check_open()
            self._check_unread()
            if self._runner is not None or self._queue:
                return False
            late, watermark = self._admission.admit_row(side, row.time)
            self._runner = threading.current_thread()
        assert isinstance(self._engine, LeanEngine)
        self._run(partial(self._engine.run_row, side, None if late else row, watermark), arrived)
        return True

    def _check_unread(self) -> None:
        if self._unread_rows > self._unread:
            raise StreamJoinError(
                f"push: {self._unread_rows:,} results wait to be read, and unread= allows {self._unread:,}; read them "
                "(read(), or iterate), give callback=, or allow more. Nothing of this push was taken"
            )

    def _enqueue(self, step: Step) -> bool:
        """Queue a step; True if the caller shall run it at once, since it is small and nobody runs."""
        if self._runner is None and not self._queue and step.count <= FEW:
            self._runner = threading.current_thread()
            return True
        self._queue.append(step)
        self._queued += step.count
        if self._driver is None:
            self._driver = threading.Thread(target=self._drive, name="streamjoin-driver", daemon=True)
            self._driver.start()
        self._work.notify()
        return False

    def _wait_for_room(self) -> None:
        if self._queued < QUEUED_ROWS or self._runner is threading.current_thread():
            return
        start = perf_counter()
        while self._queued >= QUEUED_ROWS and not self._closed and self._error is None:
            self._lock.wait()
        self._blocked += perf_counter() - start
        self._check_open()

    def _wait_idle(self) -> None:
        if self._runner is threading.current_thread():
            raise StreamJoinError("callback: a callback cannot wait for the step that calls it; read afterwards")
        while (self._runner is not None or self._queue) and self._error is None and not self._closed:
            self._lock.wait()
        self._check_failed()

    def _is_over(self) -> bool:
        """Whether no more results can come."""
        idle = self._runner is None and not self._queue
        return self._error is not None or (idle and (self._ended or self._closed))

    def _check_failed(self) -> None:
        if self._error is not None:
            raise StreamJoinError(f"the join failed and is closed: {self._error}") from self._error

    def _check_open(self) -> None:
        self._check_failed()
        if self._closed:
            raise StreamJoinError("the join is closed; nothing can be pushed any more")
        if self._ended:
            raise StreamJoinError("the join was flushed: its input has ended, nothing can be pushed any more")

    # Steps

    def _drive(self) -> None:
        """Run what is queued, all of it at once, until the join is closed."""
        while True:
            with self._lock:
                while not self._closed and (self._runner is not None or not self._queue):
                    self._work.wait()
                if self._closed:
                    return
                steps = self._take_steps()
                self._runner = threading.current_thread()
                self._lock.notify_all()
            try:
                self._run(partial(self._join, steps), steps[0].arrived, len(steps))
            except BaseException:  # noqa: BLE001  it is kept, and raised to who calls next
                return

    def _take_steps(self) -> list[Step]:
        """What is queued. A semi join takes one push at a time: the micro-batch says which match releases a row."""
        steps = [self._queue.popleft()]
        rows = steps[0].count
        while self._groups and self._queue and rows + self._queue[0].count <= self._engine.most_rows:
            steps.append(self._queue.popleft())
            rows += steps[-1].count
        self._queued -= rows
        return steps

    def _run(self, join: Callable[[], list[pa.RecordBatch]], since: float, steps: int = 1) -> None:
        """Run steps as one; the caller has made itself the runner."""
        try:
            self._deliver(join(), since)
        except BaseException as error:
            with self._lock:
                self._error, self._closed = error, True
                self._queue.clear()
            self._engine.close()
            self._pool.close()
            raise
        finally:
            with self._lock:
                self._runner = None
                self._steps += steps
                self._lock.notify_all()
                if self._queue or self._closed:
                    self._work.notify()

    def _join(self, steps: Sequence[Step]) -> list[pa.RecordBatch]:
        rows: dict[Side, Rows] = {}
        for side in SIDES:
            parts = [step.rows for step in steps if step.side == side and step.rows is not None and len(step.rows)]
            if parts:
                rows[side] = Rows.concat(parts)
        watermark = steps[-1].watermark
        if watermark == ENDED:
            found = self._engine.run(rows, steps[-2].watermark) if len(steps) > 1 else []
            found += self._engine.finish()
        else:
            found = self._engine.run(rows, watermark)
        return found if self._gate is None else self._put_in_order(found, watermark)

    def _put_in_order(self, found: Sequence[pa.RecordBatch], watermark: int | None) -> list[pa.RecordBatch]:
        """What the watermark has passed, in order; the rest waits."""
        assert self._gate is not None
        for batch in found:
            self._gate.add("results", batch)
        if watermark == ENDED:
            self._gate.close()
        elif watermark is not None:
            for source in _GATE_OUT:
                self._gate.advance(source, watermark)
        ready = []
        while (batch := self._gate.ready(0)) is not None:
            ready.append(batch)
        return ready

    def _deliver(self, found: Sequence[pa.RecordBatch], since: float) -> None:
        results = [self._asked.present(batch) for batch in found if batch.num_rows]
        if not results:
            return
        count = sum(batch.num_rows for batch in results)
        self._delivered += count
        if self._callback is None:
            with self._lock:
                self._results.extend(results)
                self._unread_rows += count
                self._lock.notify_all()
        else:
            for batch in results:
                self._callback(batch)
        if self._asked.is_prompt:
            self._latency.add(perf_counter() - since, count)


def _check_count(argument: str, value: object) -> None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
        raise StreamJoinError(f"{argument}: got {value!r}; expected a whole number, 1 or more")
