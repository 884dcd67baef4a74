"""Intervals from the values of probe rows, in one pass over them."""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from streamjoin.compile.ondisk import kernel
from streamjoin.kernel.codes import Codes, unlock

INT64_MIN, INT64_MAX = int(np.iinfo(np.int64).min), int(np.iinfo(np.int64).max)


def whole(f: NDArray[Any], lower: int | None, upper: int | None, dtype: Any) -> tuple[Codes, Codes, NDArray[np.bool_]]:
    """``[f + lower, f + upper]`` within the range of `dtype`, and whether anything is left of it; no sum can overflow.

    >>> [end.tolist() for end in whole(np.array([5, 2**62]), -3, None, np.dtype(np.int32))]
    [[2, 2147483647], [2147483647, 2147483647], [True, False]]
    """
    ends: list[Codes] = [np.empty(len(f), dtype) for _ in range(2)]
    asks = np.empty(len(f), np.bool_)
    by = [0 if bound is None else min(max(bound, INT64_MIN), INT64_MAX) for bound in (lower, upper)]
    limits = [int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)]
    _whole(unlock(f), lower is None, upper is None, by[0], by[1], limits[0], limits[1], ends[0], ends[1], asks)
    return ends[0], ends[1], asks


@njit(inline="always")
def _sum(f: Any, by: Any) -> Any:
    return min(max(f, INT64_MIN - min(by, 0)), INT64_MAX - max(by, 0)) + by


@kernel
def _whole(
    f: Any,
    no_lower: bool,
    no_upper: bool,
    lower: int,
    upper: int,
    least: int,
    most: int,
    lows: Any,
    highs: Any,
    asks: Any,
) -> None:
    first, last = INT64_MIN - min(upper, 0), INT64_MAX - max(lower, 0)  # beyond, an end that is needed does not exist
    for i in range(f.size):
        value = np.int64(f[i])
        low = INT64_MIN if no_lower else _sum(value, lower)
        high = INT64_MAX if no_upper else _sum(value, upper)
        asks[i] = (low <= high) & (low <= most) & (high >= least) & (value >= first) & (value <= last)
        lows[i], highs[i] = min(max(low, least), most), min(max(high, least), most)


@kernel
def widen(
    f: Any, has_lower: bool, lower: float, has_upper: bool, upper: float, relative: float, reach: float, absolute: float
) -> Any:
    """The intervals ``[f + lower, f + upper]``, wider by what rounding may have moved; open ends are infinite.

    Both the written condition's roundings (`relative`, `reach`, `absolute`) and those made right here are covered.
    The last says whether all of `f` is finite.
    """
    low, high = np.empty(f.size, np.float64), np.empty(f.size, np.float64)
    share = relative * 1.01 + 2.0**-50
    finite = True
    for i in range(f.size):
        value = np.float64(f[i])
        finite = finite and bool(abs(value) < np.inf)
        size = 2.0 * abs(value) + reach
        low[i] = value + lower - share * (size + abs(lower)) - absolute - 2.0**-1070 if has_lower else -np.inf
        high[i] = value + upper + share * (size + abs(upper)) + absolute + 2.0**-1070 if has_upper else np.inf
    return low, high, finite


def outward(low: NDArray[np.float64], high: NDArray[np.float64], dtype: Any) -> tuple[Codes, Codes]:
    """The codes of floating ends in the type of the build column, never further in; above infinity there is NaN.

    >>> ends = outward(np.array([-0.1, 0.1, 1e300]), np.array([0.1, np.inf, np.inf]), np.dtype(np.float32))
    >>> [end.tolist() for end in ends]
    [[-1036831949, 1036831948, 2139095039], [1036831949, 2147483647, 2147483647]]
    """
    bits: Any = np.int32 if dtype.itemsize == 4 else np.int64
    ends: list[Codes] = [np.empty(len(low), bits) for _ in range(2)]
    for wanted, towards, codes in zip((low, high), (-1, 1), ends, strict=True):
        with np.errstate(over="ignore"):
            rounded = wanted.astype(dtype, copy=False)
        _outward(wanted, rounded, rounded.view(bits), towards, int(np.iinfo(bits).min), int(np.iinfo(bits).max), codes)
    return ends[0], ends[1]


@kernel
def _outward(wanted: Any, rounded: Any, bits: Any, towards: int, least: int, most: int, codes: Any) -> None:
    for i in range(wanted.size):
        code = np.int64(bits[i])
        code = least - code if code < 0 else code
        code += towards * int(towards * (np.float64(rounded[i]) - wanted[i]) < 0.0)
        codes[i] = most if towards > 0 and wanted[i] == np.inf else code
