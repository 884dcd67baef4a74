"""Where kernels write: a bounded buffer of pairs, and the filter for one more dimension."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamjoin.compile.ondisk import kernel
from streamjoin.kernel.codes import inside

Indices = NDArray[np.int32]


@dataclass
class Chunk:
    """Room for `capacity` pairs (probe row, build row); kernels fill it from the start and say how far."""

    capacity: int
    probe: Indices = field(init=False)
    build: Indices = field(init=False)

    def __post_init__(self) -> None:
        self.probe = np.empty(self.capacity, np.int32)
        self.build = np.empty(self.capacity, np.int32)


@kernel
def refine(probe: Indices, build: Indices, count: int, codes: Any, lower: Any, width: Any) -> int:
    """Keep the pairs whose build row lies in the probe row's interval on one more dimension."""
    kept = 0
    for k in range(count):
        p, b = probe[k], build[k]
        probe[kept], build[kept] = p, b
        kept += int(inside(codes[b], lower[p], width[p]))
    return kept
