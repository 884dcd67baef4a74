"""A join that runs in this process: what it is given, what it gives, and what is kept of it.

    push -> read rows, fix W -> driver: engine, then order -> unread results, or the callback

Each push keeps the watermark that it was admitted under, whenever it runs.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, Self

import pyarrow as pa

from streamjoin.errors import StreamJoinError
from streamjoin.layout import choose_layout
from streamjoin.local.admission import Admission
from streamjoin.local.asked import Asked, check_count
from streamjoin.local.driver import Callback, Driver
from streamjoin.local.gate import Gate
from streamjoin.local.intake import Pushed, Taken
from streamjoin.local.lean import LeanEngine
from streamjoin.local.pool import Pool
from streamjoin.local.row import Row, RowReader
from streamjoin.local.save import Saved, save
from streamjoin.local.stats import Stats, collect_stats
from streamjoin.local.step import GATE_OUT, Step, run_steps
from streamjoin.local.systems import build_engine
from streamjoin.operators.evaluate import physical
from streamjoin.operators.types import TIMESTAMP
from streamjoin.spec.duration import Duration, microseconds
from streamjoin.spec.side import SIDES, Side, pair_of
from streamjoin.sql.select import JOIN_TIME
from streamjoin.worker import Counters
from streamjoin.worker.expiry import ENDED

_NO_DELAY = (
    "delay: say how far a row may come behind the latest one of its side and still count, such as delay='10 seconds'; "
    "where rows come in order, delay='0 seconds'"
)


class RunningJoin:
    """A join that was asked for, and runs; `verb` and `arguments` are what it is made again from."""

    def __init__(self, asked: Asked, verb: str, arguments: dict[str, Any], callback: Callback | None) -> None:
        layout, workers, delay, unread = (arguments[key] for key in ("layout", "workers", "delay", "unread"))
        check_count("workers", workers)
        check_count("unread", unread, optional=False)
        if delay is None:
            raise StreamJoinError(_NO_DELAY)
        waits = pair_of("delay", delay, "one duration, or a pair: for left and right", Duration)
        cores = os.cpu_count() or 1
        self.layout = choose_layout(asked.plan, cores) if layout == "auto" else layout
        # The layout that "auto" chose is saved: another machine would choose by its own cores
        self._asked, self._verb, self._arguments = asked, verb, arguments | {"layout": self.layout}
        self._pool = Pool(self._count_threads())
        self._engine = build_engine(self.layout, asked.plan, self._pool, sorts=asked.sorts)
        self._intakes = {side: asked.intake(side, self.layout) for side in SIDES}
        self._rows = self._find_row_readers()
        self._admission = Admission(
            {side: microseconds(wait, "delay") for side, wait in zip(SIDES, waits, strict=True)}
        )
        self._gate = Gate(JOIN_TIME, GATE_OUT, by=asked.order) if asked.sorts else None
        # A semi join takes one push at a time: the micro-batch says which match releases a row
        groups = asked.plan.how != "left_semi" or asked.plan.counts
        most_rows = self._engine.most_rows if groups else None
        self._driver = Driver(self._join, callback, self._free, self._count_matches, most_rows=most_rows, unread=unread)

    def _count_threads(self) -> int:
        """The threads that run cells: as many as were asked for, else one a cell while there are cores."""
        return self._arguments["workers"] or min(self.layout.cells, os.cpu_count() or 1)

    def _count_matches(self) -> int:
        """The matches found so far that are results: an anti join's are not."""
        return 0 if self._asked.plan.how == "left_anti" else self._engine.counted.matches

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
        """Go on with n cells, while it runs; for `Cell` and `Scale`. `workers` stay as many as were asked for."""
        check_count("resize", n, optional=False)
        with self._driver.mutex:
            self._driver.wait_idle()
            self._driver.check_open()
            self.layout = self._engine.resize(self.layout, n)
            self._arguments["layout"] = self.layout
            self._pool.resize(self._count_threads())

    def stats(self) -> Stats:
        """What was pushed and found so far, what is held now, and how long results took."""
        driver = self._driver
        with driver.mutex:
            driver.wait_between_steps()
            return collect_stats(driver, self._admission, self._engine, prompt=self._asked.is_prompt)

    def save(self, directory: str | Path) -> None:
        """Write all that is needed to go on exactly from here, results that were not read among it."""
        driver = self._driver
        with driver.mutex:
            driver.wait_idle()
            told, kept = self._engine.to_state()
            held = [] if self._gate is None else self._gate.waiting
            told |= {"verb": self._verb, "arguments": self._arguments, "admission": vars(self._admission)}
            told |= {"delivered": driver.delivered, "ended": driver.ended, "steps": driver.steps}
            told["counted"] = asdict(self._engine.counted)
            save(Path(directory), told, kept, {"unread": list(driver.results), "waiting": held})

    def _go_on(self, saved: Saved) -> None:
        """Become the join that was saved."""
        self._engine.from_state(saved.told, saved.fetch)
        self._engine.counted = Counters(**saved.told["counted"])
        for name, value in saved.told["admission"].items():
            setattr(self._admission, name, value)
        driver = self._driver
        driver.delivered, driver.ended, driver.steps = (saved.told[key] for key in ("delivered", "ended", "steps"))
        driver.matches = self._count_matches()
        for batch in saved.batches("waiting"):
            assert self._gate is not None
            self._gate.add("results", batch)
        driver.results.extend(saved.batches("unread"))
        driver.unread = sum(batch.num_rows for batch in driver.results)

    def close(self) -> None:
        """End all threads, once the step that runs is over; what is queued is dropped, unread results can be read."""
        self._driver.close()

    def _free(self) -> None:
        self._engine.close()
        self._pool.close()

    def __enter__(self) -> Self:
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
