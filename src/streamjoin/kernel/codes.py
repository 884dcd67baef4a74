"""Values as integers in the same order, so that one set of kernels serves every type.

Whole numbers are their own codes. A floating value's bits, read as an integer, already sort by magnitude; negative
ones are turned round. -0.0 and 0.0 share a code, and every NaN has the greatest one, as Spark orders them.

An interval test on codes is one subtraction and one unsigned comparison: ``unsigned(code - lower) <= width``.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[Any]
"""int32 or int64."""

_UNSIGNED = {np.dtype(np.int32): np.uint32, np.dtype(np.int64): np.uint64}


def encode(values: NDArray[Any]) -> Codes:
    """Codes of a column: int32 for what fits into 32 bits, int64 for the rest.

    >>> encode(np.array([np.nan, 1.5, -np.inf, -0.0, 0.0])).argsort(kind="stable").tolist()
    [2, 3, 4, 1, 0]
    """
    if values.dtype.kind == "f":
        bits = np.int32 if values.dtype.itemsize == 4 else np.int64
        codes = (values + values.dtype.type(0)).view(bits)  # adding 0.0 turns -0.0 into 0.0
        low = np.iinfo(bits).min
        codes = np.where(codes < 0, low - codes, codes)
        return np.where(np.isnan(values), np.iinfo(bits).max, codes)
    return values.astype(np.int64 if values.dtype.itemsize == 8 else np.int32, copy=False)


def widths(lower: Codes, upper: Codes) -> NDArray[Any]:
    """The unsigned widths of the intervals ``lower..upper``, which must not be empty."""
    unsigned = _UNSIGNED[lower.dtype]
    width: NDArray[Any] = upper.view(unsigned) - lower.view(unsigned)
    return width
