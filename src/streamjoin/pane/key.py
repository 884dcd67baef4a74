"""Key columns: what kernels compare."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Indices: TypeAlias = NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class KeyColumn:
    """One key column: machine numbers, with a mask where some are NULL.

    Booleans, integers and floats are themselves; dates are int32 days, timestamps and intervals int64 microseconds,
    decimals of up to 18 digits int64 unscaled. Values of any other type are int64 hashes of their content, and
    `exact` holds the values themselves, because equal hashes prove nothing.
    """

    values: NDArray[Any]
    valid: NDArray[np.bool_] | None = None
    exact: Any = None  # pa.Array

    def __post_init__(self) -> None:
        for part in (self.valid, self.exact):
            if part is not None and len(part) != len(self.values):
                raise ValueError(f"key column: {len(self.values)} values, but {len(part)} beside them")

    def take(self, indices: Indices) -> "KeyColumn":
        """The values at these positions."""
        return KeyColumn(
            self.values[indices],
            None if self.valid is None else self.valid[indices],
            None if self.exact is None else self.exact.take(pa.array(indices)),
        )

    def slice(self, offset: int, length: int) -> "KeyColumn":
        """So many values from `offset` on, without copying."""
        stop = offset + length
        return KeyColumn(
            self.values[offset:stop],
            None if self.valid is None else self.valid[offset:stop],
            None if self.exact is None else self.exact.slice(offset, length),
        )

    @classmethod
    def concat(cls, columns: Sequence["KeyColumn"]) -> "KeyColumn":
        """All values, one column after the other."""
        valid = exact = None
        if any(column.valid is not None for column in columns):
            valid = np.concatenate([np.ones(len(c.values), np.bool_) if c.valid is None else c.valid for c in columns])
        if any(column.exact is not None for column in columns):
            exact = pa.concat_arrays([column.exact for column in columns])
        return cls(_concat_arrays([column.values for column in columns]), valid, exact)


def _concat_arrays(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    if len({array.dtype for array in arrays}) > 1:  # NumPy would find a common type, and 2**53 + 1 would become 2**53
        raise ValueError(f"key column: types differ: {', '.join(sorted({str(array.dtype) for array in arrays}))}")
    return np.concatenate(arrays)
