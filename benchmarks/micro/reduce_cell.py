"""What a match costs in a cell that reduces: CPU time of `aggregate` (count, avg, max) a match, beside the pairs alone.

Right rows fill a window; then left rows that are decided at once meet some 168 of them each, as the papers' rows do at
70,000 a second and 300 s. The pairs alone: the same rows probe as one block of an inner join; the pairs are forgotten.
"""

import math
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
import pyarrow as pa

from benchmarks.bench import Median, report
from benchmarks.papers.workload import predicate
from streamjoin import between
from streamjoin.match import Matcher
from streamjoin.pane import KeyColumn, Rows
from streamjoin.plan import Block, Plan
from streamjoin.plan.reduction import Aggregate, Aggregates, Taken
from streamjoin.worker import Worker

RIGHT, LEFT, MATCHES, PARTS, ROUNDS = 6_000_000, 300_000, 168, 30, 5
SPAN = 600_000_000
PAYLOAD = pa.schema([("b", pa.float32())])
COUNT_AVG_MAX = Aggregates(
    0,
    (
        Aggregate("count", (), pa.int64()),
        Aggregate("avg", (Taken("r", 0),), pa.float64()),
        Aggregate("max", (Taken("r", 0),), pa.float32()),
    ),
)
WINDOW = between(f"-{SPAN // 1_000_000} seconds", "0 seconds")


def create_rows(n: int, first: int, last: int, rng: np.random.Generator) -> Rows:
    """Rows from time `first` to `last`."""
    values = round(math.sqrt(21 * 20 * RIGHT / MATCHES))
    x, y = rng.integers(1, values + 1, n, np.int32), rng.uniform(1, values, n).astype(np.float32)
    times = np.linspace(first, last, n, endpoint=False).astype(np.int64)
    payload = pa.record_batch([pa.array(y)], schema=PAYLOAD)
    return Rows(times, (KeyColumn(x), KeyColumn(y)), payload, route=rng.integers(0, 2**62, n))


def fill(rng: np.random.Generator) -> Worker:
    """A worker whose right window is full."""
    worker = Worker(Plan(predicate(), WINDOW, PAYLOAD, PAYLOAD, how="left", reduction=COUNT_AVG_MAX))
    for part in range(PARTS):
        first, last = part * SPAN // PARTS, (part + 1) * SPAN // PARTS
        for _ in worker.process((), Block(create_rows(RIGHT // PARTS, first, last, rng)), watermark=0):
            pass
    return worker


def reduce(worker: Worker, left: Rows) -> int:
    """How many matches left rows have; they were stored, and are decided by the watermark that passes them."""
    results = worker.process((), (), watermark=int(left.time[0]) + 1)
    return sum(int(found.column(0).to_numpy().sum()) for found in results)


def find_pairs(worker: Worker, left: Rows) -> int:
    """How many pairs there are, found and forgotten; as in an inner join, all rows probe as one block."""
    matcher = Matcher(predicate(), WINDOW)
    segments = [segment for segment in worker.list_segments() if len(segment.rows) and segment.index]
    return sum(len(pairs.probe) for segment in segments for pairs in matcher.pairs("l", left, segment))


def main() -> None:
    """Nanoseconds a match, in turns."""
    rng = np.random.default_rng(1)
    worker = fill(rng)
    nanos: dict[str, list[float]] = {"aggregate": [], "pairs alone": []}
    for round_ in range(ROUNDS + 1):
        left = create_rows(LEFT, SPAN + round_, SPAN + round_, rng)
        for name, run in (("pairs alone", find_pairs), ("aggregate", reduce)):
            if run is reduce:
                list(worker.process(Block(left), (), watermark=SPAN + round_))
            start = time.process_time()
            matches = run(worker, left)
            if round_:
                nanos[name].append((time.process_time() - start) / matches * 1e9)
    medians = {name: Median.of(found) for name, found in nanos.items()}
    report(
        "micro-reduce-cell",
        f"{LEFT:,} decided left rows meet {MATCHES} of {RIGHT:,} right rows each, come in {PARTS} blocks; one thread.",
        ["", "ns/match"],
        [[name, median] for name, median in medians.items()],
    )


if __name__ == "__main__":
    main()
