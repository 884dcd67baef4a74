"""The sorted index: build rows in the order of one dimension, for intervals without an end.

``l.x < r.a`` touches half of all buckets, but one range of the sorted rows, and every row in the range
matches: the work is proportional to the output.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamjoin.compile.ondisk import kernel
from streamjoin.kernel.codes import Codes
from streamjoin.kernel.pairs import Chunk


@dataclass(frozen=True)
class Ordered:
    """The codes of one dimension in order, and the rows they belong to."""

    codes: Codes
    row: NDArray[np.int32]

    @classmethod
    def build(cls, codes: Codes, row: NDArray[np.int32]) -> "Ordered":
        """Index the rows numbered `row` by their codes."""
        order = np.argsort(codes, kind="stable")
        return cls(codes[order], row[order])

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "Ordered":
        """The index from the arrays that `arrays` gave."""
        return cls(arrays["codes"], arrays["row"])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The index as named arrays."""
        return {"codes": self.codes, "row": self.row}

    def ranges(self, lower: Codes, upper: Codes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the rows of each probe's interval start and end."""
        return np.searchsorted(self.codes, lower, "left"), np.searchsorted(self.codes, upper, "right")

    def probe(self, start: NDArray[np.int64], end: NDArray[np.int64], chunk: Chunk, cursor: NDArray[np.int64]) -> int:
        """Fill `chunk` from the ranges; `cursor` (probe, row) ends at the number of probes."""
        return int(_fill(self.row, start, end, chunk.probe, chunk.build, cursor))


@kernel
def _fill(row: Any, start: Any, end: Any, probe: Any, build: Any, cursor: Any) -> int:
    found, capacity = 0, probe.size
    at = cursor[1]
    for i in range(cursor[0], start.size):
        first = max(start[i], at)
        last = min(end[i], first + capacity - found)
        for j in range(first, last):
            probe[found], build[found] = i, row[j]
            found += 1
        if last < end[i]:
            cursor[0], cursor[1] = i, last
            return found
        at = 0
    cursor[0] = start.size
    return found
