"""(d), (e) The worker in steady state: time per row as the window grows, and the state that it writes.

Blocks of 1,000 rows a side against windows of 10^4 to 10^7 rows a side. Values spread as the window grows, so that a
row always meets about four others. Every window runs for at least the length of a basic window, so that all merges are
in the mean.
"""

import math
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
import pyarrow as pa

from benchmarks.bench import Median, report
from benchmarks.papers.workload import predicate
from streamjoin import within
from streamjoin.pane import KeyColumn, Rows
from streamjoin.plan import Block, Plan
from streamjoin.worker import Worker

WINDOWS = (10_000, 100_000, 1_000_000, 10_000_000)
BLOCK, BATCHES, MATCHES = 1_000, 64, 4
SPAN = 900_000_000  # the window: 15 minutes
PAYLOAD = pa.schema([("id", pa.int64())])


def block(n: int, first: int, last: int, values: int, rng: np.random.Generator, *, probes: bool = True) -> Block:
    """Rows from time `first` to `last`."""
    x = rng.integers(1, values + 1, n, np.int32)
    y = rng.uniform(1, values, n).astype(np.float32)
    times = np.linspace(first, last, n, endpoint=False).astype(np.int64)
    payload = pa.record_batch([pa.array(rng.integers(0, 2**40, n))], schema=PAYLOAD)
    mask = None if probes else np.zeros(n, np.bool_)
    return Block(Rows(times, (KeyColumn(x), KeyColumn(y)), payload), probes=mask)


def filled(window: int, values: int, rng: np.random.Generator) -> Worker:
    """A worker whose windows are full."""
    worker = Worker(Plan(predicate(), within("15 minutes"), PAYLOAD, PAYLOAD))
    parts = max(16, window // 200_000)
    for part in range(parts):
        first, last = part * SPAN // parts, (part + 1) * SPAN // parts
        blocks = (block(window // parts, first, last, values, rng, probes=False) for _ in range(2))
        for _ in worker.process(*blocks, watermark=first):
            pass
    worker.take_new_segments()
    worker.take_dropped_names()
    return worker


def batches(worker: Worker, window: int, values: int, rng: np.random.Generator) -> Iterator[tuple[float, int, int]]:
    """Seconds, matches and state bytes of each batch."""
    step = SPAN * BLOCK // window
    for k in range(max(BATCHES, window // 16 // BLOCK)):
        first = SPAN + k * step
        left, right = (block(BLOCK, first, first + step, values, rng) for _ in range(2))
        start = time.process_time()
        matches = sum(found.num_rows for found in worker.process(left, right, watermark=first))
        seconds = time.process_time() - start
        written = sum(len(s.to_bytes()) for s in worker.take_new_segments()) + len(worker.to_manifest())
        written += sum(map(len, worker.take_changed_flags().values()))
        worker.take_dropped_names()
        yield seconds, matches, written


def main() -> None:
    """Time per row for each window, relative to the smallest."""
    table = []
    for window in WINDOWS:
        rng = np.random.default_rng(1)
        values = round(math.sqrt(21 * 20 * window / MATCHES))
        worker = filled(window, values, rng)
        measured = list(batches(worker, window, values, rng))
        micros = Median.of(seconds / (2 * BLOCK) * 1e6 for seconds, _, _ in measured)
        mean = statistics.fmean(seconds for seconds, _, _ in measured) / (2 * BLOCK) * 1e6
        matches = statistics.fmean(found for _, found, _ in measured) / BLOCK
        written = statistics.fmean(size for _, _, size in measured) / (2 * BLOCK)
        size = worker.size
        table.append([window, micros, mean, 0.0, matches, written, size.segments, size.bytes / 2**20])
    for row in table:
        row[3] = row[2] / table[0][2]
    report(
        "micro-worker-steady",
        f"Blocks of {BLOCK:,} rows a side, one thread, merging and expiry included.",
        [
            "rows a side",
            "us/row (median)",
            "us/row (mean)",
            "x smallest (mean)",
            "matches/row",
            "state B/row",
            "segments",
            "MiB",
        ],
        table,
    )


if __name__ == "__main__":
    main()
