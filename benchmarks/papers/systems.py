"""The product's systems under the papers' load: comparisons/s of the nested loop, sustained rates, latencies."""

import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import streamjoin as sj
from benchmarks.micro.nested_loop import compiled
from benchmarks.papers.workload import ON, SCHEMAS, SECOND, Load, count_matches, draw, values
from streamjoin.local.engine import Engine
from streamjoin.local.pool import Pool
from streamjoin.local.systems import build_engine
from streamjoin.spec.side import SIDES, Side

CORES = os.cpu_count() or 1
SYSTEMS: dict[str, Callable[[int], Any]] = {
    "Grid": lambda n: sj.Grid(1, n),
    "Scale": sj.Scale,
    "Cell": sj.Cell,
    "Handshake": sj.Handshake,
}
FILLS = 60
"""Pushes of each side that fill a window."""

DRAWN = 100_000
"""Rows of each side that are drawn before they are pushed, again and again at other times."""

FILLED_IN = 60
"""Seconds of event time in which windows of a given number of rows fill."""


def make(load: Load, layout: object, callback: Callable[[pa.RecordBatch], None], workers: int | None = None) -> Any:
    """The join of the papers' benchmark, as a user would write it."""
    return sj.LocalJoin(
        on=ON, window=load.window, left=SCHEMAS["l"], right=SCHEMAS["r"], time="ts", delay="0 seconds",
        layout=layout, workers=workers, callback=callback,
    )  # type: ignore[arg-type]  # fmt: skip


@dataclass
class Counter:
    """A callback that counts results."""

    found: int = 0

    def __call__(self, batch: pa.RecordBatch) -> None:
        self.found += batch.num_rows


@dataclass
class Nested:
    """A system with the nested loop for a kernel, as the papers' systems compare; rows go straight to its engine."""

    engine: Engine
    join: Any
    rate: int
    load: Load
    at: int = 0

    def push(self, count: int) -> int:
        """Some rows of both sides; the number of results."""
        rng = np.random.default_rng(self.at)
        times = (self.at + np.arange(count)) * SECOND // self.rate
        rows = {side: self.join._intakes[side].read(draw(side, times, rng)).rows for side in SIDES}
        found = self.engine.run(rows, int(times[0]))
        self.at += count
        return sum(batch.num_rows for batch in found)

    def fill(self, rows: int) -> None:
        while self.at < rows:
            self.push(rows // 20)


@contextmanager
def open_nested(layout: Any, threads: int, rows: int) -> Iterator[Nested]:
    """A system with windows of so many rows a side, empty at first."""
    load = Load.equal(rows // FILLED_IN, FILLED_IN)
    with make(load, layout, Counter()) as join, Pool(threads) as pool:
        engine = build_engine(layout, replace(join._asked.plan, kernel="nested"), pool)
        try:
            yield Nested(engine, join, rows // FILLED_IN, load)
        finally:
            engine.close()


def measure_comparisons(layout: Any, threads: int, rows: int, block: int, seconds: float) -> dict[str, Any]:
    """Comparisons/s on full windows, how uneven the workers' shares are, results for each comparison."""
    with open_nested(layout, threads, rows) as system:
        system.fill(rows)
        system.push(block)  # what waited at a gate is joined before the clock runs
        before, results, begun = list(system.engine.loads), 0, time.perf_counter()
        while time.perf_counter() - begun < seconds:
            results += system.push(block)
        spent = time.perf_counter() - begun
        loads = np.subtract(system.engine.loads, before)
        done = int(loads.sum())
        spread = float(100 * loads.std() / loads.mean())
        return {"per_s": done / spent, "spread": spread, "hit_rate": results / max(done, 1)}


def measure_pushed(layout: Any, threads: int, rows: int, block: int, seconds: float) -> float:
    """Comparisons/s of a join with the nested loop that is pushed blocks as fast as it takes them, on full windows.

    Blocks that arrive while a step runs share the next one. The time until all that was pushed is joined counts too;
    drawing values does not, they are drawn before.
    """
    rate, rng = rows // FILLED_IN, np.random.default_rng(0)
    load = Load.equal(rate, FILLED_IN)
    drawn = {side: draw(side, np.zeros(DRAWN, np.int64), rng) for side in SIDES}
    with make(load, layout, Counter(), threads) as join:
        join._engine = build_engine(layout, replace(join._asked.plan, kernel="nested"), join._pool)
        for each in load.steps(FILLED_IN, FILLED_IN / FILLS):
            join.push_right(each["r"])
            join.push_left(each["l"])
        join.read()
        before, at, begun = join.stats().comparisons, rows, time.perf_counter()
        while time.perf_counter() - begun < seconds:
            times = pa.array((at + np.arange(block)) * SECOND // rate)
            for side, push in (("l", join.push_left), ("r", join.push_right)):
                part = drawn[side].slice(at % (DRAWN - block), block)
                push(pa.RecordBatch.from_arrays([times, *part.columns[1:]], schema=part.schema))
            at += block
        join.read()
        spent = time.perf_counter() - begun
        return (join.stats().comparisons - before) / spent


def measure_c(threads: int, rows: int, block: int, seconds: float) -> float:
    """Comparisons/s of the loop in C, which only counts; each core has its part of the window."""
    count, rng = compiled([]), np.random.default_rng(0)
    a, b = values(rows, rng)
    parts = [(np.ascontiguousarray(a[n::threads]), np.ascontiguousarray(b[n::threads])) for n in range(threads)]
    x, y = values(block, rng)
    with ThreadPoolExecutor(threads) as pool:
        done, begun = 0, time.perf_counter()
        while time.perf_counter() - begun < seconds:
            list(pool.map(lambda part: count(x, y, *part), parts))
            done += block * rows
        return done / (time.perf_counter() - begun)


def measure_throughput(load: Load, layout: object, workers: int, seconds: float, block: int) -> dict[str, float]:
    """Rows/s per stream that a join takes once its windows are full; equal rates."""
    rate, window = load.rates.left, load.windows.left
    counter, rng = Counter(), np.random.default_rng(0)
    with make(load, layout, counter, workers) as join:
        for rows in load.steps(window, window / FILLS):
            join.push_right(rows["r"])
            join.push_left(rows["l"])
        join.read()
        compared, at, rows_done, found = join.stats().comparisons, round(window * rate), 0, counter.found
        begun = time.perf_counter()
        while time.perf_counter() - begun < seconds:
            times = ((at + np.arange(block)) * SECOND / rate).astype(np.int64)
            join.push_left(draw("l", times, rng))
            join.push_right(draw("r", times, rng))
            at, rows_done = at + block, rows_done + block
        join.read()
        spent = time.perf_counter() - begun
        compared = join.stats().comparisons - compared
    return {"rows_per_s": rows_done / spent, "comparisons_per_s": compared / spent, "results": counter.found - found}


def find_sustained(window: float, layout: object, workers: int, start: float, most: float, seconds: float) -> Any:
    """The largest rate, rows/s per stream, at which a join took rows at least as fast as they come; at most `most`."""
    rate, best = min(start, most), {"rate": 0.0, "comparisons_per_s": 0.0, "capped": False}
    for _ in range(3):
        got = measure_throughput(Load.equal(rate, window), layout, workers, seconds, 1000)
        if got["rows_per_s"] >= rate:
            best = {"rate": rate, "comparisons_per_s": 2 * window * rate**2, "capped": rate >= most}
        following = min(most, (rate * got["rows_per_s"]) ** 0.5 if got["rows_per_s"] < 9 * rate else 3 * rate)
        if following <= best["rate"] * 1.1:
            break
        rate = following
    return best


@dataclass
class Arrivals:
    """Rows of one side at their due times, in pushes of `block` rows, and when each was pushed."""

    side: Side
    rows: pa.RecordBatch
    block: int
    pushed: NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        self.times = self.rows.column("ts").to_numpy()
        self.pushed = np.full(len(self.times), np.nan)

    @classmethod
    def draw(cls, load: Load, side: Side, start: float, seconds: float, block: int) -> "Arrivals":
        """Evenly spread; right rows between two left ones, so that a result's time tells which row completed it."""
        rate, rng = load.rate(side), np.random.default_rng(side == "r")
        at = (np.arange(round(seconds * rate)) + (side == "r") / 2) / rate
        return cls(side, draw(side, round(start * SECOND) + (at * SECOND).astype(np.int64), rng), block)

    def list_pushes(self) -> list[tuple[int, int, Any]]:
        """When each push is due, in event time, its first row, and what is pushed."""
        singles = self.rows.to_pylist() if self.block == 1 else []
        starts = range(0, len(self.times), self.block)
        pushes = singles or [self.rows.slice(at, self.block) for at in starts]
        return [(int(self.times[at : at + self.block][-1]), at, push) for at, push in zip(starts, pushes, strict=True)]

    def find_pushed(self, times: NDArray[np.int64]) -> NDArray[np.float64]:
        """When the rows of these times were pushed; NaN where there is none."""
        at = np.searchsorted(self.times, times).clip(max=len(self.times) - 1)
        return np.where(self.times[at] == times, self.pushed[at], np.nan)


def measure_latency(load: Load, layout: object, seconds: float, block: int = 1) -> dict[str, float]:
    """Milliseconds from the arrival of a pair's later row to its result, of rows that come at their due times.

    A result's `join_time` is the time of its later row, which says when that row was pushed.
    """
    window = max(load.windows.left, load.windows.right)
    arrivals: dict[Side, Arrivals] = {side: Arrivals.draw(load, side, window, seconds, block) for side in SIDES}
    found: list[tuple[float, NDArray[np.int64]]] = []
    begun = 0.0

    def note(batch: pa.RecordBatch) -> None:
        if begun:
            found.append((time.perf_counter(), batch.column("join_time").cast(pa.int64()).to_numpy()))

    with make(load, layout, note) as join:
        push = {"l": join.push_left, "r": join.push_right}
        filling: dict[Side, list[pa.RecordBatch]] = {side: [] for side in SIDES}
        for rows in load.steps(window, window / FILLS):
            for side in reversed(SIDES):
                push[side](rows[side])
                filling[side].append(rows[side])
        join.read()
        due = sorted((at, side, first, rows) for side in SIDES for at, first, rows in arrivals[side].list_pushes())
        begun = time.perf_counter()
        for at, side, first, rows in due:
            when = begun + at / SECOND - window
            while (left := when - time.perf_counter()) > 0:
                time.sleep(max(left - 0.0002, 0))
            arrivals[side].pushed[first : first + block] = time.perf_counter()
            push[side](rows)
        join.read()
    return _describe(found, arrivals) | {"expected": _count_expected(load, filling, arrivals)}


def _describe(found: list[tuple[float, NDArray[np.int64]]], arrivals: Mapping[Side, Arrivals]) -> dict[str, float]:
    each = [at - np.fmax(*(one.find_pushed(times) for one in arrivals.values())) for at, times in found]
    late = 1000 * np.concatenate([np.zeros(0), *each])
    late = late[~np.isnan(late)]  # else of rows that filled the windows, and waited for their turn
    if not len(late):
        return {**dict.fromkeys(("mean", "p50", "p99", "most"), float("nan")), "results": 0}
    p50, p99 = np.quantile(late, (0.5, 0.99))
    most = float(late.max())
    return {"mean": float(late.mean()), "p50": float(p50), "p99": float(p99), "most": most, "results": len(late)}


def _count_expected(load: Load, filling: Mapping[Side, list[pa.RecordBatch]], arrivals: Mapping[Side, Arrivals]) -> int:
    """Results that a row which was timed has completed: left ones with all, right ones with those before."""
    held = {side: pa.Table.from_batches(each) for side, each in filling.items()}
    whole = pa.concat_tables([held["r"], pa.Table.from_batches([arrivals["r"].rows])]).combine_chunks()
    before = held["l"].combine_chunks().to_batches()[0]
    of_left = count_matches(arrivals["l"].rows, whole.to_batches()[0], load.window)
    return of_left + count_matches(before, arrivals["r"].rows, load.window)


def time_median(work: Callable[[], object], repetitions: int) -> float:
    """Median CPU seconds of a call, after one to warm up."""
    work()
    seconds = []
    for _ in range(repetitions):
        begun = time.process_time()
        work()
        seconds.append(time.process_time() - begun)
    return statistics.median(seconds)
