"""The papers' benchmark: whole rows, rates and windows of each side, and the exact hit rate of its condition.

R(x int, y float, z char(20)) and S(a int, b float, c double, d bool); x, y, a, b uniform in 1..10,000, a band of 10 on
both pairs (CellJoin 8.2; Handshake join 5.1; ScaleJoin VI; DP-Join 5). The papers say that one pair in 250,000 matches;
on whole and floating values with both ends it is one in 238,300.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import streamjoin as sj
from streamjoin.model.pairs import Sides
from streamjoin.model.selectivity import find_real_share, find_whole_share
from streamjoin.pane import KeyColumn, Rows
from streamjoin.predicate import Predicate, Schema, parse
from streamjoin.spec.side import Side
from streamjoin.spec.window import Between

R = Schema({"ts": "timestamp", "x": "int", "y": "float"})
S = Schema({"ts": "timestamp", "a": "int", "b": "float"})
ON = "l.x BETWEEN r.a - 10 AND r.a + 10 AND l.y BETWEEN r.b - 10 AND r.b + 10"
BAND, VALUES, SECOND = 10, 10_000, 1_000_000
CLOSED = find_whole_share(BAND, VALUES) * find_real_share(BAND, VALUES - 1)
"""The hit rate of `ON`: 4.196e-6."""

OPEN = find_whole_share(BAND - 1, VALUES) ** 2
"""The hit rate of the thesis' open bands on whole numbers, 3.607e-6, which it rounds to 3.6e-6."""

SCHEMAS: dict[Side, pa.Schema] = {
    "l": pa.schema([("ts", pa.int64()), ("x", pa.int32()), ("y", pa.float32()), ("z", pa.string())]),
    "r": pa.schema(
        [("ts", pa.int64()), ("a", pa.int32()), ("b", pa.float32()), ("c", pa.float64()), ("d", pa.bool_())]
    ),
}
TEXT = 20


@dataclass(frozen=True)
class Load:
    """Streams of so many rows per second, and the seconds that rows of each side stay."""

    rates: Sides
    windows: Sides
    seed: int = 1

    @classmethod
    def equal(cls, rate: float, window: float, seed: int = 1) -> "Load":
        """The same for both sides, as in most experiments."""
        return cls(Sides.equal(rate), Sides.equal(window), seed)

    @property
    def window(self) -> Between:
        """The window as a join is told it."""
        left, right = (f"{round(each * SECOND)} microseconds" for each in (self.windows.left, self.windows.right))
        return sj.within(left=left, right=right)

    def rate(self, side: Side) -> float:
        return self.rates.left if side == "l" else self.rates.right

    def draw(self, side: Side, number: int, start: float, seconds: float) -> pa.RecordBatch:
        """The rows of so many seconds from `start` on, evenly spread; the same for the same seed and number."""
        count = round(self.rate(side) * seconds)
        times = round(start * SECOND) + (np.arange(count) * seconds * SECOND / max(count, 1)).astype(np.int64)
        return draw(side, times, np.random.default_rng([self.seed, number, side == "l"]))

    def steps(self, seconds: float, step: float, start: float = 0.0) -> Iterator[dict[Side, pa.RecordBatch]]:
        """Rows of both sides, in micro-batches of `step` seconds."""
        for number in range(round(seconds / step)):
            at = start + number * step
            yield {side: self.draw(side, round(at * 1000), at, step) for side in SCHEMAS}


def draw(side: Side, times: NDArray[np.int64], rng: np.random.Generator) -> pa.RecordBatch:
    """Whole rows at these times."""
    count = len(times)
    first, second = values(count, rng)
    columns: list[object] = [pa.array(times), pa.array(first), pa.array(second)]
    if side == "l":
        columns.append(_draw_texts(count, rng))
    else:
        columns += [pa.array(rng.random(count)), pa.array(rng.random(count) < 0.5)]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMAS[side])


def _draw_texts(count: int, rng: np.random.Generator) -> pa.Array:
    letters = np.frombuffer(rng.bytes(count * TEXT), np.uint8) % 26 + ord("a")
    offsets = np.arange(count + 1, dtype=np.int32) * TEXT
    return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(letters))


def predicate() -> Predicate:
    """The condition, understood."""
    return parse(ON, R, S)


def values(n: int, rng: np.random.Generator) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The two join attributes of n rows."""
    return rng.integers(1, VALUES + 1, n, np.int32), rng.uniform(1, VALUES, n).astype(np.float32)


def rows(n: int, rng: np.random.Generator, first: int = 0, last: int = 0) -> Rows:
    """N rows, spread evenly from time `first` to `last`."""
    x, y = values(n, rng)
    time = np.linspace(first, last, n).astype(np.int64)
    payload = pa.record_batch([pa.array(np.arange(n))], ["id"])
    return Rows(time, (KeyColumn(x), KeyColumn(y)), payload)


def count_matches(left: pa.RecordBatch, right: pa.RecordBatch, window: Between) -> int:
    """The plain truth, by sorting and NumPy alone, for checks of what peers and systems found."""
    a = right.column("a").to_numpy()
    order = np.argsort(a, kind="stable")
    a, b, t = a[order], right.column("b").to_numpy()[order], right.column("ts").to_numpy()[order]
    x, y, at = (left.column(name).to_numpy() for name in ("x", "y", "ts"))
    first, last = np.searchsorted(a, x - BAND, "left"), np.searchsorted(a, x + BAND, "right")
    probes = np.repeat(np.arange(len(x)), last - first)
    builds = np.arange(len(probes)) - np.repeat(np.cumsum(last - first) - (last - first), last - first)
    builds += np.repeat(first, last - first)
    gap = t[builds] - at[probes]
    near = (b[builds] >= y[probes] - np.float32(BAND)) & (b[builds] <= y[probes] + np.float32(BAND))
    return int((near & (gap >= window.lower) & (gap <= window.upper)).sum())
