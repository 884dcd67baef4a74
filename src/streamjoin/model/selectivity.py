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


Range = tuple[float, float]
"""The least and the greatest value, both included."""


def find_difference_share(
    lower: float | None, upper: float | None, left: Range, right: Range, *, whole: bool = False
) -> float:
    """The probability that ``lower <= x - y <= upper`` for x and y uniform over their ranges; None is no bound.

    The area, or for whole numbers the count, of the pairs that lie in the band, of all pairs.

    >>> find_difference_share(-0.5, 0.5, (0, 1), (0, 1)), find_difference_share(0, None, (0, 1), (0, 1))
    (0.75, 0.5)
    >>> find_difference_share(-10, 10, (1, 10_000), (1, 10_000), whole=True) == find_whole_share(10, 10_000)
    True
    """
    step = 1.0 if whole else 0.0
    sizes = left[1] - left[0] + step, right[1] - right[0] + step
    if min(sizes) <= 0:
        raise ValueError(f"an empty range: {left}, {right}")

    def below(bound: float) -> float:
        """Pairs whose difference is at most a bound, by how far each end of y's range reaches into x's."""
        at_end, at_start = right[1] + bound, right[0] + bound - step
        return (
            _triangle(at_end - left[0] + step, step)
            - _triangle(at_start - left[0] + step, step)
            - _triangle(at_end - left[1], step)
            + _triangle(at_start - left[1], step)
        )

    all_pairs = sizes[0] * sizes[1]
    most = all_pairs if upper is None else below(upper)
    least = 0.0 if lower is None else below(lower - step)
    return max(most - least, 0.0) / all_pairs


def _triangle(side: float, step: float) -> float:
    return side * (side + step) / 2 if side > 0 else 0.0
