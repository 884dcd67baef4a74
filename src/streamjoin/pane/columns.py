"""Arrow columns as key columns."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.operators.types import BOOLEAN, Type
from streamjoin.pane.key import KeyColumn


def key_column(values: pa.Array, type: Type, hashes: pa.Array | None = None) -> KeyColumn:
    """A key column of values as Spark hands them over; `hashes` of their content where they are no numbers.

    >>> from streamjoin.operators.types import decimal
    >>> from decimal import Decimal
    >>> key_column(pa.array([Decimal("1.25"), None]), decimal(10, 2)).values.tolist()[:1]
    [125]
    """
    valid = values.is_valid().to_numpy(zero_copy_only=False) if values.null_count else None
    if not type.is_machine:
        if hashes is None:
            raise ValueError(f"key column: {type} needs hashes")
        return KeyColumn(numbers(hashes), valid, values)
    if type == BOOLEAN:
        return KeyColumn(values.fill_null(False).to_numpy(zero_copy_only=False), valid)
    if type.is_decimal:
        return KeyColumn(_take_low_words(values), valid)
    return KeyColumn(numbers(values), valid)


def numbers(values: pa.Array) -> NDArray[Any]:
    """Numbers, dates, times and durations as they lie in memory, whatever stands under a NULL."""
    width = values.type.bit_width // 8
    dtype = np.dtype(f"{'f' if pa.types.is_floating(values.type) else 'i'}{width}")
    return np.frombuffer(values.buffers()[1] or b"", dtype)[values.offset : values.offset + len(values)]


def _take_low_words(values: pa.Array) -> NDArray[np.int64]:
    """Decimals of at most 18 digits: the lower of their two words is the number, sign included."""
    words = np.frombuffer(values.buffers()[1] or b"", np.int64).reshape(-1, 2)
    return np.ascontiguousarray(words[values.offset : values.offset + len(values), 0])
