"""Two bands on values of many shapes: buckets in a dense and in a hashed table, the sorted index, the nested loop.

Clusters, Zipf(1.5), a range of 2^60, three values in all, few rows; with the memory of each index and what the matcher
would choose.
"""

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.bench import measure, report
from streamjoin import within
from streamjoin.kernel import buckets
from streamjoin.kernel.costs import KERNELS
from streamjoin.match import Matcher
from streamjoin.pane import KeyColumn, Rows, Segment
from streamjoin.predicate import Schema, parse

ROWS, PROBES, MATCHES = 100_000, 2_000, 4
SCHEMA = Schema({"ts": "timestamp", "x": "bigint", "y": "bigint"})
Values = Callable[[int, np.random.Generator], NDArray[np.int64]]
"""Both attributes of n rows, one a row of the array."""


@dataclass(frozen=True)
class Shape:
    """How the values of both attributes lie, and the band on them."""

    name: str
    values: Values
    band: int
    rows: int = ROWS


def uniform(rows: int) -> Values:
    """A range in which a probe with a band of 10 meets about `MATCHES` rows."""
    span = round(21 * math.sqrt(rows / MATCHES))
    return lambda n, rng: rng.integers(0, span, (2, n))


def clustered(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """A hundred clusters in a plane of a million by a million, the same for both sides."""
    centres = np.random.default_rng(7).integers(0, 10**6, (2, 100))
    return (centres[:, rng.integers(0, 100, n)] + rng.normal(0, 100, (2, n))).astype(np.int64)


def zipf(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Two values in five are 1, and a few are beyond a billion."""
    return np.minimum(rng.zipf(1.5, (2, n)), 2**60).astype(np.int64)


SHAPES = (
    Shape("uniform", uniform(ROWS), 10),
    Shape("clustered", clustered, 10),
    Shape("Zipf(1.5)", zipf, 1),
    Shape("over 2^60", lambda n, rng: rng.integers(0, 2**60, (2, n)), round(2**59 * math.sqrt(MATCHES / ROWS))),
    Shape("3 values", lambda n, rng: rng.integers(0, 3, (2, n)), 0),
    Shape("1,000 rows", uniform(1_000), 10, 1_000),
    Shape("100 rows", uniform(100), 10, 100),
)


def rows(shape: Shape, n: int, rng: np.random.Generator) -> Rows:
    """N rows at one time."""
    keys = tuple(KeyColumn(values) for values in shape.values(n, rng))
    return Rows(np.zeros(n, np.int64), keys, pa.record_batch([pa.array(np.arange(n))], ["id"]))


@contextmanager
def table(buckets_per_row: int) -> Iterator[None]:
    """Keep buckets in a dense table up to so many of them a row."""
    before = buckets.DENSE_BUCKETS_PER_ROW
    buckets.DENSE_BUCKETS_PER_ROW = buckets_per_row
    try:
        yield
    finally:
        buckets.DENSE_BUCKETS_PER_ROW = before


STRUCTURES = {
    "buckets, dense": ("buckets", 100),
    "buckets, hashed": ("buckets", -(10**6)),
    "sorted": ("ordered", 4),
    "nested loop": ("nested", 4),
}


def structure(index: Any) -> str:
    """What an index is."""
    kernel = KERNELS[int(index["kernel"][0])]
    if kernel == "buckets":
        return "buckets, hashed" if index["bits"][0] else "buckets, dense"
    return {"ordered": "sorted", "nested": "nested loop"}[kernel]


def measured(shape: Shape) -> list[list[object]]:
    """A line for each structure that can hold the shape."""
    rng = np.random.default_rng(1)
    build, probe = rows(shape, shape.rows, rng), rows(shape, PROBES, rng)
    on = parse(f"abs(l.x - r.x) <= {shape.band} AND abs(l.y - r.y) <= {shape.band}", SCHEMA, SCHEMA)
    segment = Segment("s", build)
    chosen = structure(Matcher(on, within("1 second")).prepare("r", segment).index)
    builds: dict[str, Callable[[], Segment]] = {}
    probes: dict[str, Callable[[], tuple[int, int]]] = {}
    indexed = {}
    for name, (kernel, cells) in STRUCTURES.items():
        matcher = Matcher(on, within("1 second"), kernel=kernel)

        def prepare(matcher: Matcher = matcher, cells: int = cells) -> Segment:
            with table(cells):
                return matcher.prepare("r", segment)

        def meet(matcher: Matcher = matcher, name: str = name) -> tuple[int, int]:
            found = list(matcher.pairs("l", probe, indexed[name]))
            return sum(len(pairs.probe) for pairs in found), sum(pairs.examined for pairs in found)

        indexed[name] = prepare()
        if structure(indexed[name].index) == name:
            builds[name], probes[name] = prepare, meet
    counts = {name: meet() for name, meet in probes.items()}
    assert len({found for found, _ in counts.values()}) == 1, counts
    build_seconds, probe_seconds = measure(builds, 5), measure(probes, 5)
    return [
        [
            shape.name,
            f"{name} *" if name == chosen else name,
            build_seconds[name] / shape.rows * 1e9,
            probe_seconds[name] / PROBES * 1e6,
            probe_seconds["nested loop"] / probe_seconds[name],
            counts[name][1] / PROBES,
            counts[name][0] / PROBES,
            sum(array.nbytes for array in indexed[name].index.values()) / shape.rows,
        ]
        for name in probes
    ]


def main() -> None:
    """All structures on all shapes."""
    report(
        "micro-band-shapes",
        f"Two bands on 64-bit values, {PROBES:,} probes against {ROWS:,} rows (or as said), one thread; * is what the "
        "matcher chooses. A dense table is left out where it would have more than 100 cells a row.",
        [
            "values",
            "structure",
            "build ns/row",
            "us/probe",
            "x nested",
            "examined/probe",
            "matches/probe",
            "index B/row",
        ],
        [line for shape in SHAPES for line in measured(shape)],
    )


if __name__ == "__main__":
    main()
