"""Which kernel serves a segment: the one place where that is decided, by estimated cost.

The costs (``kernel/costs.py``) are of one probe row; building is shared by the probes that a segment sees in its life,
which are about as many as it has rows (both streams flow).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamjoin.kernel.costs import SHIPPED, Kernel
from streamjoin.match.dimension import Dimension, TimeBand
from streamjoin.match.intervals import Array

_SAMPLE = 256


@dataclass(frozen=True)
class Choice:
    """A kernel, and the dimensions it works on: at most two, by number."""

    kernel: Kernel
    x: int | None
    y: int | None


def choose(
    dimensions: Sequence[Dimension], columns: Sequence[Array], *, checked: bool = False, kernel: str = "auto"
) -> Choice:
    """The cheapest kernel for a segment with these columns; `kernel` forces one, where it applies, for tests.

    `checked` says that candidates go through compiled code as well.
    """
    rows = len(columns[0]) if columns else 0
    share = [selectivity(d, column) for d, column in zip(dimensions, columns, strict=True)]
    order = sorted(range(len(dimensions)), key=lambda k: (not dimensions[k].is_equality, share[k]))
    bucketed = [k for k in order if dimensions[k].width is not None and share[k] < 0.5][:2]
    if len(bucketed) == 2 and dimensions[bucketed[1]].is_equality:
        bucketed = bucketed[:1]  # a second equality has no neighbouring buckets; it is checked on the candidates
    best = order[0] if order else None
    second = order[1] if len(order) > 1 else best
    matches = float(np.prod(share)) * rows
    options: dict[Kernel, tuple[float, Choice]] = {}

    def offer(choice: Choice, candidates: float) -> None:
        options[choice.kernel] = SHIPPED.estimate(choice.kernel, rows, candidates, matches, checked=checked), choice

    offer(Choice("nested", best, second), rows)
    if checked and all(isinstance(dimension, TimeBand) for dimension in dimensions):
        offer(Choice("compiled", None, None), rows)
    if bucketed:
        touched = float(np.prod([selectivity(dimensions[k], columns[k], buckets=True) for k in bucketed])) * rows
        x, y = (bucketed[0], bucketed[1]) if len(bucketed) == 2 else _alone(bucketed[0], dimensions)
        offer(Choice("buckets", x, y), touched)
    if best is not None:
        sorted_by = min(order, key=lambda k: share[k])
        offer(Choice("ordered", sorted_by, None), share[sorted_by] * rows)
    if kernel != "auto" and kernel in options:
        return options[kernel][1]
    return min(options.values(), key=lambda option: option[0])[1]


def _alone(k: int, dimensions: Sequence[Dimension]) -> tuple[int | None, int | None]:
    """An equality is hashed along x, a band runs along y."""
    return (k, None) if dimensions[k].is_equality else (None, k)


def selectivity(dimension: Dimension, column: Array, *, buckets: bool = False) -> float:
    """The share of the other rows that an interval around a row holds, measured on a sample.

    With `buckets`: that the buckets hold which it touches, when they are as wide as it is.
    """
    sample = sample_values(column)
    if len(sample) < 2:
        return 1.0
    if dimension.width is None:
        return dimension.share
    half = dimension.width / 2
    if buckets and not dimension.is_equality:
        half += (dimension.width + (column.dtype.kind != "f")) / 2
    with np.errstate(over="ignore"):
        inside = np.searchsorted(sample, sample + half, "right") - np.searchsorted(sample, sample - half, "left")
    return float((inside.mean() - 1) / (len(sample) - 1))


def sample_values(column: Array) -> NDArray[np.float64]:
    """Finite values from all over a column, in order."""
    sample = column[:: max(1, len(column) // _SAMPLE)][:_SAMPLE].astype(np.float64)
    return np.sort(sample[np.isfinite(sample)])
