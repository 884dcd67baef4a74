"""A block from the bytes it arrives in to the bytes that go into state: CPU time of each step, in one worker.

Blocks come as the emitter sends them, one a side and batch; the right side probes a small window, so that what is
measured is the way of a block rather than the join. With `wide`, rows carry strings and a string key.
"""

import statistics
import sys
import time
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
import pyarrow as pa

from benchmarks.bench import report
from streamjoin import within
from streamjoin.pane import KeyColumn, Rows, Segment
from streamjoin.plan import Block, Plan
from streamjoin.predicate import Schema, parse
from streamjoin.worker import Worker

BATCHES, STEP = 60, 1_000_000
NARROW = pa.schema([("id", pa.int64())])
WIDE = pa.schema([("id", pa.int64()), ("name", pa.string()), ("note", pa.string())])


def rows(n: int, first: int, schema: pa.Schema, rng: np.random.Generator) -> Rows:
    """Rows of one second; two in a thousand match."""
    times = np.linspace(first, first + STEP, n, endpoint=False).astype(np.int64)
    columns = [pa.array(rng.integers(0, 2**40, n))]
    columns += [pa.array([f"{field.name} {number:030}" for number in range(n)]) for field in list(schema)[1:]]
    keys = (KeyColumn(rng.integers(0, 1_000 * n, n)),)
    return Rows(
        times, keys, pa.RecordBatch.from_arrays(columns, schema=schema), route=rng.integers(-(2**63), 2**63 - 1, n)
    )


def run(how: str, schema: pa.Schema, n: int) -> tuple[float, float, float, float]:
    """Microseconds a row, in the median batch: reading, joining, packing for state, packing for the cache."""
    rng = np.random.default_rng(1)
    key = Schema({"x": "bigint"})
    worker = Worker(Plan(parse("l.x = r.x", key, key), within("5 seconds"), schema, schema, how))
    taken: list[tuple[float, ...]] = []
    for batch in range(BATCHES):
        sent = [Segment("", rows(n, batch * STEP, schema, rng)).to_bytes() for _ in "lr"]
        clock = [time.process_time()]
        held = [Segment.from_bytes(data, "block").rows for data in sent]
        blocks = [Block(one) for one in held]
        clock.append(time.process_time())
        for _ in worker.process(*blocks, watermark=max(0, batch - 1) * STEP or None):
            pass
        clock.append(time.process_time())
        for segment in worker.take_new_segments():
            assert segment.to_bytes()
        clock.append(time.process_time())
        fresh = [segment for segment in worker.list_segments() if len(segment) == n]
        for segment in fresh[-2:]:
            assert segment.pack()
        clock.append(time.process_time())
        taken.append(tuple((b - a) / (2 * n) * 1e6 for a, b in pairwise(clock)))
    return tuple(statistics.median(step) for step in zip(*taken[10:], strict=True))


def main() -> None:
    """All kinds of rows and joins."""
    table = []
    for name, schema in (("narrow", NARROW), ("wide", WIDE)):
        for how in ("inner", "left"):
            for n in (1_000, 20_000):
                steps = run(how, schema, n)
                table.append([f"{name}, {how}", n, *steps, sum(steps[:3])])
    report(
        "micro-block-to-state",
        f"CPU microseconds a row, median of {BATCHES - 10} batches of one block a side, one thread.",
        ["rows", "rows a block", "read", "join", "pack for state", "pack for cache", "read to state"],
        table,
    )


if __name__ == "__main__":
    main()
