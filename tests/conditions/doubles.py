"""Doubles that tell two implementations of a function apart: special ones, powers of two, their neighbours, random."""

import math

import numpy as np
from numpy.typing import NDArray

_SPECIAL = [0.0, 1.0, 0.5, 2.0, 3.0, 0.25, 22.0, 709.78, 745.2, 1024.0, 1075.0, 5e-324, 2.0**-1022, 1.8e308, math.inf]
_LIMITS = [0.4375, 0.6875, 1.1875, 2.4375, 0.975, 0.34657, 1.0397, 38.8162, 710.4758600739439, 0.41422, 0.2929]
"""Where the functions go from one formula to the next."""


def doubles_of(count: int, seed: int) -> NDArray[np.float64]:
    """About so many doubles, in an order that the seed decides."""
    chance = np.random.default_rng(seed)
    edges = np.array([*_SPECIAL, *_LIMITS, *(2.0**k for k in range(-1074, 1024, 64))])
    beside = [(edges.view(np.int64) + step).view(np.float64) for step in (-1, 0, 1)]
    each = max(count // 5, 1)
    found = np.concatenate(
        [
            *beside,
            *(-some for some in beside),
            chance.integers(-(2**63), 2**63 - 1, each).view(np.float64),
            chance.normal(size=each) * 50,
            chance.uniform(-1, 1, each),
            chance.uniform(0.9, 1.1, each),
            np.exp(chance.uniform(-30, 30, each)),
        ]
    )
    chance.shuffle(found)
    return found
