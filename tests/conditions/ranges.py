"""Ranges: conditions of which every row has its own bounds, and what a matcher finds for them."""

from typing import Any

import numpy as np

from streamjoin import within
from streamjoin.match import Matcher
from streamjoin.operators.evaluate import evaluate
from streamjoin.operators.statements import dtype_of
from streamjoin.operators.types import Schema
from streamjoin.pane import KeyColumn, Rows, Segment, no_columns
from streamjoin.predicate import Predicate
from streamjoin.spec.side import Side

SCHEMA = Schema({"p": "double", "q": "double", "f": "float", "i": "int", "b": "bigint", "k": "int"})
RELATIVE = [
    "abs(l.p - r.p) <= 0.005 * r.p",
    "l.p BETWEEN 0.995 * r.p AND 1.005 * r.p",
    "r.p >= l.p * 0.9D AND 1.1D * l.p >= r.p",
    "l.p / r.p BETWEEN 0.995D AND 1.005D",
    "abs(l.p / r.p - 1) <= 0.005D",
    "abs(l.p - r.p) / r.p < 0.005D",
    "(l.p - r.p) / r.p BETWEEN -0.01D AND 0.01D",
    "abs(l.f - r.f) <= 0.01D * r.f",
    "abs(l.f - r.f) <= r.f * CAST('0.25' AS FLOAT)",
    "abs(l.i - r.i) <= 0.1D * l.i",
]
TOLERANCES = [
    "abs(l.p - r.p) <= l.q",
    "abs(l.i - r.i) <= l.k",
    "abs(l.i - r.b) < r.k + l.k",
    "l.i >= r.i AND l.i <= r.b",
    "l.p >= r.q AND r.p > l.p",
    "abs(2 * l.i - r.b) <= 0.5D * r.k",
    "l.k = r.k AND abs(l.p - r.p) <= 0.005 * r.p",
]
SUMS = [
    "abs(l.p + l.q - r.p - r.q) <= 1",
    "l.p - r.p + l.q - r.q BETWEEN -0.5D AND 0.5D",
    "abs(2 * l.p + l.q - 3 * r.p) <= l.k",
    "abs(l.p - r.p - r.q) <= 0.01D * l.p",
    "abs(l.i - r.i + l.k - r.k) <= 3",
    "abs(l.b - r.i + l.k - r.k) <= 3",
    "abs(l.f + l.k - r.f - r.q) < 0.25D",
]


def block(predicate: Predicate, side: Side, rows: list[dict[str, Any]]) -> Rows:
    """Rows with the keys of a condition."""

    def column(key: Any) -> KeyColumn:
        values = [evaluate(key, row, row) for row in rows]
        valid = np.array([value is not None for value in values], np.bool_)
        filled = np.array([0 if v is None else v for v in values], np.dtype(dtype_of(key.type)))
        return KeyColumn(filled, None if valid.all() else valid)

    return Rows(np.zeros(len(rows), np.int64), tuple(map(column, predicate.keys(side))), no_columns(len(rows)))


def find(predicate: Predicate, kernel: str, lefts: Any, rights: Any, probe: Side) -> list[tuple[int, int]]:
    """The pairs that a matcher finds, by their numbers."""
    matcher = Matcher(predicate, within("1 second"), kernel=kernel)
    blocks = {"l": block(predicate, "l", lefts), "r": block(predicate, "r", rights)}
    build: Side = "r" if probe == "l" else "l"
    segment = matcher.prepare(build, Segment("s", blocks[build]))
    found = [
        (int(p), int(b)) if probe == "l" else (int(b), int(p))
        for pairs in matcher.pairs(probe, blocks[probe], segment, chunk=7)
        for p, b in zip(pairs.probe, pairs.build, strict=True)
    ]
    return sorted(found)
