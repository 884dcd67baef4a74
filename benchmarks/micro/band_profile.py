"""Where the time of `band_index.py` goes: each step of building the buckets and of probing them, by itself."""

import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np

from benchmarks.bench import measure, report
from benchmarks.papers.workload import predicate, rows
from streamjoin import within
from streamjoin.kernel import buckets
from streamjoin.kernel.pairs import Chunk
from streamjoin.match import Matcher, Pairs
from streamjoin.match.index import Index, choose_widths
from streamjoin.pane import Segment

WINDOW, PROBES = 1_000_000, 100_000


def main() -> None:
    """Milliseconds of each step; those of a part need not add up to it, since each finds its own data in the caches."""
    rng = np.random.default_rng(1)
    build, probe = rows(WINDOW, rng), rows(PROBES, rng)
    matcher, segment = Matcher(predicate(), within("15 minutes")), Segment("s", build)
    prepared = matcher.prepare("r", segment)
    index = Index(prepared.index)
    columns = [dimension.values("r", build) for dimension in matcher.dimensions]
    widths = choose_widths(index.axes, matcher.dimensions, columns)
    x, y = (buckets.Axis(columns[k], width) for k, width in zip(index.axes, widths, strict=True))
    row, everything = np.arange(WINDOW, dtype=np.int32), slice(0, WINDOW)
    x_ruler, y_ruler, bits = buckets._divide(x, y, WINDOW)
    bucket, place = np.empty(WINDOW, np.uint32), np.empty(WINDOW, np.uint32)
    buckets._number_buckets(x_ruler, y_ruler, bits, x.marks(everything), y.marks(everything), bucket)
    counts = np.zeros((x_ruler.last + 1) * (y_ruler.last + 1) + 2, np.int32)
    buckets._count(bucket, counts)
    starts = counts.copy()
    buckets.sum_up(starts)
    np.copyto(place, bucket)
    buckets._place(place, starts.copy())
    table = np.zeros(3 * WINDOW, np.int32)
    codes = x.codes(everything), y.codes(everything)

    def ask() -> object:
        matcher._last = None
        return matcher._ask("l", probe, columns)

    def pairs() -> int:
        matcher._last = None
        return sum(len(found.probe) for found in matcher.pairs("l", probe, prepared))

    asked, _ = matcher._ask("l", probe, columns)
    sides = [(asked[k].lower, asked[k].upper, asked[k].low, asked[k].high) for k in index.axes]
    built = buckets.Buckets.build(x, y, row)
    visits, wide = built.visits(sides[0], sides[1])
    assert len(wide) == 0

    def visit() -> None:
        chunk, cursor = Chunk(1 << 16), np.zeros(4, np.int64)
        while cursor[0] < len(visits):
            built.probe(visits, chunk, cursor)

    candidates = [Pairs(p.copy(), b.copy(), n) for p, b, n in index.candidates(asked, Chunk(1 << 16))]
    scratch, zeros = starts.copy(), np.zeros_like(counts)

    def from_start(at: np.ndarray, step: Callable[[], object]) -> Callable[[], None]:
        def run() -> None:
            np.copyto(scratch, at)
            step()

        return run

    def placed() -> None:
        np.copyto(place, bucket)
        buckets._place(place, scratch)

    steps: dict[str, Callable[[], object]] = {
        "**build**": lambda: matcher.prepare("r", segment),
        "least and greatest values": lambda: buckets._divide(x, y, WINDOW),
        "buckets": lambda: buckets._number_buckets(
            x_ruler, y_ruler, bits, x.marks(everything), y.marks(everything), place
        ),
        "count": from_start(zeros, lambda: buckets._count(bucket, scratch)),
        "sum": from_start(counts, lambda: buckets.sum_up(scratch)),
        "places": from_start(starts, placed),
        "codes": lambda: (x.codes(everything), y.codes(everything)),
        "scatter": lambda: buckets._scatter(*codes, row, np.empty(0, np.int32), place, table),
        "**probe**": pairs,
        "intervals": ask,
        "visits, in order": lambda: built.visits(sides[0], sides[1]),
        "look at candidates": visit,
        "exact check": lambda: [matcher._check_numbers("l", probe, build, found) for found in candidates],
    }
    seconds = measure(steps, 15)
    report(
        "micro-band-profile",
        f"Two bands, one build of {WINDOW:,} rows and {PROBES:,} probes, one thread: each step by itself.",
        ["step", "ms"],
        [[name, s * 1e3] for name, s in seconds.items()],
    )


if __name__ == "__main__":
    main()
