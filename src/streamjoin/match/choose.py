"""Which kernel serves a segment: the one place where that is decided, by estimated cost.

The costs are nanoseconds measured on one core (``benchmarks/micro/band_shapes.py``), for one probe row; building is
shared by the probes that a segment sees in its life, which are about as many as it has rows (both streams flow).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from streamjoin.kernel.nested import STRIP
from streamjoin.match.dimension import Dimension, TimeBand
from streamjoin.match.intervals import Array

Kernel = Literal["nested", "buckets", "ordered", "compiled"]
KERNELS: tuple[Kernel, ...] = ("nested", "buckets", "ordered", "compiled")

NESTED_PAIR, NESTED_LOOK, COMPILED_PAIR, CHECKED_PAIR = 0.1, 3.0, 0.5, 10.0
BUCKETS_START, BUCKETS_BUILD, BUCKETS_PROBE, BUCKETS_CANDIDATE = (
    80_000.0,
    20.0,
    60.0,
    2.5,
)  # a segment, a row, a probe, ...
ORDERED_BUILD, ORDERED_STEP, ORDERED_CANDIDATE = 100.0, 30.0, 3.0  # a step of the binary searches
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
    left = float(np.prod(share)) * rows * CHECKED_PAIR if checked else 0.0
    options: dict[Kernel, tuple[float, Choice]] = {
        # A strip that holds a match is looked at row by row.
        "nested": (
            rows * (NESTED_PAIR + NESTED_LOOK * min(1.0, STRIP * float(np.prod(share)))) + left,
            Choice("nested", best, second),
        ),
    }
    if checked and all(isinstance(dimension, TimeBand) for dimension in dimensions):
        options["compiled"] = (rows * COMPILED_PAIR, Choice("compiled", None, None))
    if bucketed:
        touched = float(np.prod([selectivity(dimensions[k], columns[k], buckets=True) for k in bucketed])) * rows
        x, y = (bucketed[0], bucketed[1]) if len(bucketed) == 2 else _alone(bucketed[0], dimensions)
        start = BUCKETS_START / (rows + 1)
        options["buckets"] = (
            start + BUCKETS_BUILD + BUCKETS_PROBE + BUCKETS_CANDIDATE * touched + left,
            Choice("buckets", x, y),
        )
    if best is not None:
        sorted_by = min(order, key=lambda k: share[k])
        options["ordered"] = (
            ORDERED_BUILD + ORDERED_STEP * math.log2(rows + 2) + ORDERED_CANDIDATE * share[sorted_by] * rows + left,
            Choice("ordered", sorted_by, None),
        )
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
