"""LocalJoin: the join within one process.

    push -> read rows, fix W -> driver: engine, then order -> unread results, or the callback

Each push keeps the watermark that it was admitted under, whenever it runs.
"""

import os
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

import pyarrow as pa

from streamjoin.errors import StreamJoinError
from streamjoin.layout import Layout, choose_layout
from streamjoin.local.admission import Admission
from streamjoin.local.asked import Asked, check_count, check_schema
from streamjoin.local.driver import Callback, Driver
from streamjoin.local.gate import Gate
from streamjoin.local.handshake import Handshake
from streamjoin.local.intake import Pushed, Taken
from streamjoin.local.lean import LeanEngine
from streamjoin.local.pool import Pool
from streamjoin.local.row import Row, RowReader
from streamjoin.local.save import load, save
from streamjoin.local.stats import Stats
from streamjoin.local.step import GATE_OUT, Step, run_steps
from streamjoin.local.systems import build_engine
from streamjoin.operators.evaluate import physical
from streamjoin.operators.types import TIMESTAMP
from streamjoin.predicate import On
from streamjoin.spec.duration import Duration, microseconds
from streamjoin.spec.how import how_of
from streamjoin.spec.side import SIDES, Side, pair_of
from streamjoin.spec.window import Window
from streamjoin.sql.select import JOIN_TIME
from streamjoin.worker.expiry import ENDED


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
        check_count("workers", workers)
        check_count("unread", unread)
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
        self._asked = asked
        self._engine = build_engine(self.layout, asked.plan, self._pool, sorts=asked.sorts)
        self._intakes = {side: asked.intake(side, self.layout) for side in SIDES}
        self._rows = self._find_row_readers()
        self._admission = Admission(
            {side: microseconds(wait, "delay") for side, wait in zip(SIDES, waits, strict=True)}
        )
        self._gate = Gate(JOIN_TIME, GATE_OUT, by=asked.order) if asked.sorts else None
        # A semi join takes one push at a time: the micro-batch says which match releases a row
        groups = asked.plan.how != "left_semi" or asked.plan.counts
        self._driver = Driver(
            self._join, callback, self._free, most_rows=self._engine.most_rows if groups else None, unread=unread
        )

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

        def admit() -> Step:
            self._admission.advance(time)
            return Step(None, None, self._admission.watermark, perf_counter())

        self._driver.submit(admit)

    def read(self) -> pa.Table:
        """All results of what was pushed so far that have not been read."""
        return pa.Table.from_batches(self._driver.read(), self.schema)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Results as they come, until the input has ended (`flush`) or the join is closed."""
        return self._driver.iterate()

    def flush(self) -> None:
        """The input has ended: what waits for the watermark is decided. Returns when all results are there."""
        self._driver.submit(lambda: Step(None, None, ENDED, perf_counter()), ends=True)
        with self._driver.mutex:
            self._driver.wait_idle()

    def resize(self, n: int) -> None:
        """Go on with n workers, while it runs; for `Cell` and `Scale`."""
        check_count("resize", n)
        with self._driver.mutex:
            self._driver.wait_idle()
            self._driver.check_open()
            self.layout = self._engine.resize(self.layout, n)
            self._arguments["layout"] = self.layout
            self._pool.resize(min(n, os.cpu_count() or 1))

    def stats(self) -> Stats:
        """What was pushed and found so far, what is held now, and how long results took."""
        driver = self._driver
        with driver.mutex:
            driver.wait_between_steps()
            admission, size = self._admission, self._engine.size
            p50, p99, most = driver.latency.milliseconds() if self._asked.is_prompt else (None, None, None)
            return Stats(
                rows_left=admission.pushed["l"],
                rows_right=admission.pushed["r"],
                late_left=admission.late["l"],
                late_right=admission.late["r"],
                invalid_left=admission.invalid["l"],
                invalid_right=admission.invalid["r"],
                results=driver.delivered,
                unread=driver.unread,
                queued=driver.queued,
                blocked_seconds=driver.blocked,
                steps=driver.steps,
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
        driver = self._driver
        with driver.mutex:
            driver.wait_idle()
            told, kept = self._engine.to_state()
            held = [] if self._gate is None else self._gate.waiting
            told |= {"arguments": self._arguments, "admission": vars(self._admission)}
            told |= {"delivered": driver.delivered, "ended": driver.ended, "steps": driver.steps}
            save(Path(directory), told, kept, {"unread": list(driver.results), "waiting": held})

    @classmethod
    def restore(cls, directory: str | Path, *, callback: Callback | None = None) -> "LocalJoin":
        """The join that was saved there, as if it had never stopped; unread results are there to be read."""
        saved = load(Path(directory))
        join = cls(**saved.arguments, callback=callback)
        join._engine.from_state(saved.told, saved.fetch)
        for name, value in saved.told["admission"].items():
            setattr(join._admission, name, value)
        driver = join._driver
        driver.delivered, driver.ended, driver.steps = (saved.told[key] for key in ("delivered", "ended", "steps"))
        for batch in saved.batches("waiting"):
            assert join._gate is not None
            join._gate.add("results", batch)
        driver.results.extend(saved.batches("unread"))
        driver.unread = sum(batch.num_rows for batch in driver.results)
        return join

    def close(self) -> None:
        """End all threads, once the step that runs is over; what is queued is dropped, unread results can be read."""
        self._driver.close()

    def _free(self) -> None:
        self._engine.close()
        self._pool.close()

    def __enter__(self) -> "LocalJoin":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Pushes

    def _push(self, side: Side, pushed: Pushed) -> None:
        arrived = perf_counter()
        if self._rows is not None and type(pushed) is dict:
            row = self._rows[side].read(pushed)
            if row is not None and self._push_row(side, row, arrived):
                return
        self._driver.submit(partial(self._admit, side, self._intakes[side].read(pushed), arrived), brings_rows=True)

    def _admit(self, side: Side, taken: Taken, arrived: float) -> Step:
        rows, watermark = self._admission.admit(side, taken)
        return Step(side, rows, watermark, arrived)

    def _find_row_readers(self) -> dict[Side, RowReader] | None:
        """What reads single rows of plain numbers, where the engine takes them."""
        if not isinstance(self._engine, LeanEngine) or not self._asked.is_prompt:
            return None
        left, right = (self._intakes[side].find_row_reader() for side in SIDES)
        return None if left is None or right is None else {"l": left, "r": right}

    def _push_row(self, side: Side, row: Row, arrived: float) -> bool:
        """The lean way of a single row, for when nobody runs; otherwise it goes the way of all others."""
        admitted = self._driver.claim(partial(self._admission.admit_row, side, row.time))
        if admitted is None:
            return False
        late, watermark = admitted
        self._driver.run(partial(self._join_row, side, None if late else row, watermark), arrived)
        return True

    def _join_row(self, side: Side, row: Row | None, watermark: int | None) -> list[pa.RecordBatch]:
        assert isinstance(self._engine, LeanEngine)
        return self._present(self._engine.run_row(side, row, watermark))

    def _join(self, steps: Sequence[Step]) -> list[pa.RecordBatch]:
        return self._present(run_steps(self._engine, self._gate, steps))

    def _present(self, found: Sequence[pa.RecordBatch]) -> list[pa.RecordBatch]:
        return [self._asked.present(batch) for batch in found if batch.num_rows]
