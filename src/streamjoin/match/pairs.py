"""Pairs of rows, and the tests that candidates pass to become some."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamjoin.kernel.codes import encode, unlock, widths
from streamjoin.kernel.pairs import refine
from streamjoin.match.index import Candidates
from streamjoin.match.intervals import Array, Intervals
from streamjoin.pane import Segment


@dataclass(frozen=True)
class Pairs:
    """Matches: rows of the block, rows of the segment; and how many pairs were looked at to find them."""

    probe: NDArray[np.int32]
    build: NDArray[np.int32]
    examined: int


@dataclass(frozen=True)
class IntervalTest:
    """One more dimension that candidates must lie in the intervals of."""

    codes: Array
    lower: Array
    width: Array

    @classmethod
    def of(cls, k: int, column: Array, segment: Segment, asked: Intervals) -> "IntervalTest":
        """The test of dimension k of a segment's rows."""
        return cls(_codes(k, column, segment), unlock(asked.lower), widths(asked.lower, asked.upper))


def refine_all(found: Candidates, others: Sequence[IntervalTest], indices: NDArray[np.int32], probes: int) -> Pairs:
    """The candidates that pass all other tests; `indices` are the rows of the block that asked."""
    probe, build, examined = found
    count = len(probe)
    for test in others:
        count = refine(probe, build, count, test.codes, test.lower, test.width)
    kept = probe[:count].copy() if len(indices) == probes else indices[probe[:count]]
    return Pairs(kept, build[:count].copy(), examined)


def _codes(k: int, column: Array, segment: Segment) -> Array:
    codes = segment.index.get(f"codes{k}")
    return unlock(encode(column) if codes is None else codes)


def keep(found: Pairs, mask: NDArray[np.bool_]) -> Pairs:
    """Only the pairs that a mask lets through."""
    if mask.all():
        return found
    return Pairs(found.probe[mask], found.build[mask], found.examined)
