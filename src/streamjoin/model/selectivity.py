"""The share of pairs that a band matches: the probability that two independent values are at most `band` apart.

Conditions on independent columns multiply. The papers' benchmark (whole numbers and floats from 1 to 10,000, bands of
10 with both ends) comes to 4.196e-6, not to the 4e-6 that CellJoin and ScaleJoin round it to.
"""

import numpy as np
from numpy.typing import NDArray


def find_whole_share(band: int, values: int) -> float:
    """For whole numbers, uniform over so many values: ((2b + 1) v - b (b + 1)) / v^2.

    >>> find_whole_share(10, 10_000)
    0.0020989
    """
    band = min(band, values - 1)
    return ((2 * band + 1) * values - band * (band + 1)) / values**2


def find_real_share(band: float, extent: float) -> float:
    """For real numbers, uniform over an interval: (2 b e - b^2) / e^2.

    >>> find_real_share(0.5, 1)
    0.75
    >>> f"{find_whole_share(10, 10_000) * find_real_share(10, 9_999):.4e}"
    '4.1961e-06'
    """
    band = min(band, extent)
    return (2 * band * extent - band**2) / extent**2


def find_listed_share(band: int, shares: NDArray[np.float64]) -> float:
    """For consecutive whole numbers of which each has a share of its own.

    >>> find_listed_share(1, np.array([0.5, 0.25, 0.25]))
    0.75
    """
    sums = np.concatenate(([0.0], np.cumsum(shares)))
    at = np.arange(len(shares))
    near = sums[np.minimum(at + band + 1, len(shares))] - sums[np.maximum(at - band, 0)]
    return float(shares @ near)


def list_zipf_shares(exponent: float, values: int) -> NDArray[np.float64]:
    """The shares of so many values in a Zipf distribution, the most frequent first; exponent 0 is uniform.

    >>> list_zipf_shares(1, 3).round(3).tolist()
    [0.545, 0.273, 0.182]
    """
    weights = np.arange(1, values + 1, dtype=np.float64) ** -exponent
    shares: NDArray[np.float64] = weights / weights.sum()
    return shares
