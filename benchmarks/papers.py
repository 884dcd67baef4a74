"""The papers' benchmark: R(x int, y float) and S(a int, b float), uniform in 1..10,000, a band of 10 on both.

About one pair in 250,000 matches (CellJoin 8.2; Handshake join 5.1; ScaleJoin VI; DP-Join 5).
"""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.pane import KeyColumn, Rows
from streamjoin.predicate import Predicate, Schema, parse

R = Schema({"ts": "timestamp", "x": "int", "y": "float"})
S = Schema({"ts": "timestamp", "a": "int", "b": "float"})
ON = "l.x BETWEEN r.a - 10 AND r.a + 10 AND l.y BETWEEN r.b - 10 AND r.b + 10"
VALUES = 10_000


def predicate() -> Predicate:
    """The condition, understood."""
    return parse(ON, R, S)


def values(n: int, rng: np.random.Generator) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The two join attributes of n rows."""
    return rng.integers(1, VALUES + 1, n, np.int32), rng.uniform(1, VALUES, n).astype(np.float32)


def rows(n: int, rng: np.random.Generator, first: int = 0, last: int = 0) -> Rows:
    """N rows, spread evenly from time `first` to `last`."""
    x, y = values(n, rng)
    time = np.linspace(first, last, n).astype(np.int64)
    payload = pa.record_batch([pa.array(np.arange(n))], ["id"])
    return Rows(time, (KeyColumn(x), KeyColumn(y)), payload)
