"""Ranges: relative bands, tolerances and ratios, indexed, beside our compiled nested loop on the same core.

100,000 probes against a window of 1 M rows, about 10 matches each, the index built once for them.
"""

import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
import pyarrow as pa

from benchmarks.bench import measure, report
from streamjoin import within
from streamjoin.match import Matcher
from streamjoin.operators.onesided import evaluate_column
from streamjoin.pane import Rows, Segment, key_column, no_columns
from streamjoin.predicate import Predicate, Schema, parse
from streamjoin.predicate.conjunct import Compiled, Range
from streamjoin.spec.side import OTHER, Side

WINDOW, PROBES, FEW, REPEAT = 1_000_000, 100_000, 400, 5
SCHEMA = Schema({"p": "double", "q": "double", "tol": "double"})
CONDITIONS = {
    "relative band": "abs(l.p - r.p) <= 0.00001 * r.p",
    "ratio": "l.p / r.p BETWEEN 0.99999D AND 1.00001D",
    "tolerance of a row": "abs(l.p - r.p) <= l.tol",
    "two columns as ends": "l.p >= r.q AND l.p <= r.p",
    "between two shares": "l.p BETWEEN 0.99999D * r.p AND 1.00001D * r.p",
    "several terms a side": "abs(l.p + l.tol - r.p - r.tol) <= 0.005D",
}


def draw(size: int, rng: np.random.Generator) -> pa.RecordBatch:
    """Prices, a lower one not far below each, and tolerances."""
    values = {"p": rng.uniform(1, 1000, size), "tol": rng.uniform(0, 0.01, size)}
    values["q"] = values["p"] - rng.uniform(0, 0.02, size)
    return pa.RecordBatch.from_pydict(values)


def rows(predicate: Predicate, side: Side, batch: pa.RecordBatch) -> Rows:
    """With the keys that a predicate asks for."""
    keys = (key_column(evaluate_column(key, batch), key.type) for key in predicate.keys(side))
    return Rows(np.zeros(len(batch), np.int64), tuple(keys), no_columns(len(batch)))


def without_index(predicate: Predicate) -> Predicate:
    """The same condition as compiled code alone."""
    compiled = (Compiled(c.check) for c in predicate.conjuncts if isinstance(c, Range) and c.check is not None)
    return replace(predicate, conjuncts=tuple(compiled))


def compare(name: str, probe: Side, rng: np.random.Generator) -> list[object]:
    predicate = parse(CONDITIONS[name], SCHEMA, SCHEMA)
    alone, other = without_index(predicate), OTHER[probe]
    window, probing = draw(WINDOW, rng), draw(PROBES, rng)
    segment, block = Segment("s", rows(predicate, other, window)), rows(predicate, probe, probing)
    indexed, nested = Matcher(predicate, within("1 minute")), Matcher(alone, within("1 minute"))
    few = rows(alone, probe, probing.slice(0, FEW))
    plain = nested.prepare(other, Segment("n", rows(alone, other, window)))

    def by_index() -> int:
        prepared = indexed.prepare(other, segment)
        return sum(len(pairs.probe) for pairs in indexed.pairs(probe, block, prepared))

    def by_loop() -> int:
        return sum(len(pairs.probe) for pairs in nested.pairs(probe, few, plain))

    prepared = indexed.prepare(other, segment)
    assert sum(len(pairs.probe) for pairs in indexed.pairs(probe, block.slice(0, FEW), prepared)) == by_loop()
    matches = by_index() / PROBES
    seconds = measure({"index": by_index, "loop": by_loop}, REPEAT)
    index, loop = seconds["index"] / PROBES * 1e6, seconds["loop"] / FEW * 1e6
    return [name, {"l": "left", "r": "right"}[probe], matches, index, loop, float(loop) / float(index)]


def main() -> None:
    rng = np.random.default_rng(1)
    table = [compare(name, probe, rng) for name in CONDITIONS for probe in ("l", "r")]
    report(
        "micro-range-index",
        f"{PROBES:,} probes (the nested loop: {FEW:,}) against {WINDOW:,} rows, one thread; the index is built once "
        "for them, which counts.",
        ["condition", "probes", "matches/probe", "index, us/probe", "compiled nested loop, us/probe", "faster by"],
        table,
    )


if __name__ == "__main__":
    main()
