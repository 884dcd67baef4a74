"""Values as integers in the same order, so that one set of kernels serves every type.

Whole numbers are their own codes. A floating value's bits, read as an integer, already sort by magnitude; negative
ones are turned round. -0.0 and 0.0 share a code, and every NaN has the greatest one, as Spark orders them.

An interval test on codes is one subtraction and one unsigned comparison: ``unsigned(code - lower) <= width``.
"""

import ctypes
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from streamjoin.compile.ondisk import kernel

Codes = NDArray[Any]
"""int32 or int64."""

UNSIGNED = {np.dtype(np.int32): np.uint32, np.dtype(np.int64): np.uint64}


def encode(values: NDArray[Any]) -> Codes:
    """Codes of a column: int32 for what fits into 32 bits, int64 for the rest.

    >>> encode(np.array([np.nan, 1.5, -np.inf, -0.0, 0.0])).argsort(kind="stable").tolist()
    [2, 3, 4, 1, 0]
    """
    if values.dtype.kind == "f":
        bits = np.int32 if values.dtype.itemsize == 4 else np.int64
        values = unlock(np.ascontiguousarray(values))
        codes: Codes = np.empty(len(values), bits)
        _encode(values, values.view(bits), np.iinfo(bits).min, np.iinfo(bits).max, codes)
        return codes
    return values.astype(np.int64 if values.dtype.itemsize == 8 else np.int32, copy=False)


@kernel
def _encode(values: Any, bits: Any, low: int, high: int, codes: Any) -> None:
    for j in range(values.size):
        code = bits[j]
        code = low - code if code < 0 else np.int64(code)  # -0.0 becomes 0
        codes[j] = code if values[j] == values[j] else high


@njit(inline="always")
def inside(code: Any, lower: Any, width: Any) -> Any:
    """Whether a code lies in the interval of this unsigned width."""
    return type(width)(code - lower) <= width


def unlock(array: NDArray[Any]) -> NDArray[Any]:
    """The same memory without its read-only mark, for which Numba would compile every kernel once more.

    Kernels do not write to their inputs. The caller keeps `array` as long as it uses the view. Values with gaps between
    them are copied.
    """
    if not array.flags.c_contiguous or not array.size:
        return array.copy()
    if array.flags.writeable:
        return array
    memory: Any = (ctypes.c_byte * array.nbytes).from_address(array.ctypes.data)
    view: NDArray[Any] = np.frombuffer(memory, array.dtype).reshape(array.shape)
    return view


def widths(lower: Codes, upper: Codes) -> NDArray[Any]:
    """The unsigned widths of the intervals ``lower..upper``, which must not be empty."""
    unsigned = UNSIGNED[lower.dtype]
    width: NDArray[Any] = upper.view(unsigned) - lower.view(unsigned)
    return width
