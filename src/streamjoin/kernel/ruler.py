"""Rulers: how the values along one axis are divided into buckets.

An index loses no match as long as the bucket of a value never decreases with the value, and is found in the same way
for stored values and for the ends of intervals. So a product with ``1 / width`` does instead of a division, and what
lies outside goes to the outermost buckets: infinities and NaN do not stretch the axis.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamjoin.compile.ondisk import kernel
from streamjoin.kernel.codes import unlock

Values = NDArray[Any]
BucketNumbers = NDArray[Any]
"""int32 or int64."""

OUTERMOST = 1 << 51
EXACT = -1


@dataclass(frozen=True)
class Ruler:
    """Buckets 0 to `last`, `per` of them to a unit from `origin` on; with `last` EXACT, a whole number is its bucket.

    >>> ruler = Ruler.over(np.array([3.0, np.nan, 9.0]), 2.0)
    >>> ruler.buckets(np.array([-np.inf, 4.9, 5.0, 9.0, np.inf, np.nan])).tolist()
    [0, 0, 1, 3, 3, 3]
    """

    origin: int | float
    per: float
    last: int

    @classmethod
    def over(cls, values: Values, width: float) -> "Ruler":
        """From the least to the greatest finite value, in buckets of this width."""
        least, most = _ends(values)
        least = float(least) if values.dtype.kind == "f" else least
        per = 1.0 / width
        steps = float(most - least) * per  # as `buckets` computes it; NaN goes to the outermost bucket there, too
        return cls(least, per, int(steps) if steps < OUTERMOST else OUTERMOST)

    @classmethod
    def from_arrays(cls, origin: Values, scale: Values) -> "Ruler":
        """The ruler from the arrays that `arrays` gave."""
        return cls(origin[0].item(), float(scale[0]), int(scale[1]))

    def arrays(self) -> dict[str, Values]:
        """The ruler as named arrays."""
        return {"origin": np.array([self.origin]), "scale": np.array([self.per, self.last], np.float64)}

    def buckets(self, values: Values, dtype: Any = np.int32) -> BucketNumbers:
        """The buckets of these values."""
        if self.last == EXACT:
            return values.astype(dtype, copy=False)
        numbers: BucketNumbers = np.empty(len(values), dtype)
        cut: Any = _number if values.dtype.kind == "f" else _number_whole
        cut(unlock(values), self.origin, self.per, float(self.last), numbers)
        return numbers


def _ends(values: Values) -> tuple[Any, Any]:
    if len(values) == 0:
        return 0, 0
    least, most = values.min().item(), values.max().item()
    if not np.isfinite(most - least if values.dtype.kind == "f" else 0):
        finite = values[np.isfinite(values)]
        least, most = (finite.min().item(), finite.max().item()) if len(finite) else (0.0, 0.0)
    return least, most


@kernel
def _number(values: Any, origin: float, per: float, last: float, buckets: Any) -> None:
    for j in range(values.size):
        steps = (np.float64(values[j]) - origin) * per
        steps = steps if steps < last else np.float64(last)  # NaN too
        buckets[j] = np.int64(max(steps, 0.0))


@kernel
def _number_whole(values: Any, origin: int, per: float, last: float, buckets: Any) -> None:
    for j in range(values.size):
        value: Any = max(np.int64(values[j]), np.int64(origin))
        distance = np.uint64(value) - np.uint64(np.int64(origin))  # may be beyond an int64
        buckets[j] = np.int64(min(np.float64(distance) * per, last))
