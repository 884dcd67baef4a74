"""Arrow columns as key columns."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.operators.types import BOOLEAN, Type
from streamjoin.pane.key import KeyColumn

_MACHINE = (
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
    *(pa.float16(), pa.float32(), pa.float64(), pa.date32(), pa.date64()),
    *(pa.time32("s"), pa.time64("us"), pa.timestamp("us"), pa.duration("us")),
)
DTYPES = {type.id: np.dtype(f"{'f' if pa.types.is_floating(type) else 'i'}{type.bit_width // 8}") for type in _MACHINE}
"""By the id of an Arrow type: how its values lie in memory."""


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
    found = np.frombuffer(values.buffers()[1] or b"", DTYPES[values.type.id])
    return found[values.offset : values.offset + len(values)]


def _take_low_words(values: pa.Array) -> NDArray[np.int64]:
    """Decimals of at most 18 digits: the lower of their two words is the number, sign included."""
    words = np.frombuffer(values.buffers()[1] or b"", np.int64).reshape(-1, 2)
    return np.ascontiguousarray(words[values.offset : values.offset + len(values), 0])
