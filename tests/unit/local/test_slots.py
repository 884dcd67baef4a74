"""Columns of a ring give back what was put into them, wherever it lies."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamjoin.local.slots import can_hold, make_column

VALUES: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.int32(): st.integers(-5, 5),
    pa.float32(): st.floats(width=32),
    pa.timestamp("us", "UTC"): st.integers(0, 9),
    pa.bool_(): st.booleans(),
    pa.string(): st.text(max_size=2000),
    pa.large_string(): st.text(max_size=9),
    pa.binary(): st.binary(max_size=9),
    pa.large_binary(): st.binary(max_size=9),
}


@pytest.mark.parametrize("type", VALUES, ids=str)
@given(data=st.data())
def test_a_ring_gives_back_what_it_holds(type: pa.DataType, data: st.DataObject) -> None:
    #  rows  0 1 2 3 4 5 6 7 ...     slots of 4:  4 5 2 3     base 2: rows 0 and 1 were forgotten
    #  some of those that are held are taken out now and then: the others are put together
    column, size, base, rows = make_column(type, 4), 4, 0, []
    for values in data.draw(st.lists(st.lists(st.none() | VALUES[type], max_size=6), max_size=8)):
        base = data.draw(st.integers(base, len(rows)))
        while len(rows) + len(values) - base > size:
            live = np.arange(base, len(rows))
            column.move(2 * size, live & (size - 1), live & (2 * size - 1))
            size *= 2
        if data.draw(st.booleans()):
            kept = [at for at in range(base, len(rows)) if data.draw(st.booleans())]
            column.move(size, np.array(kept, np.int64) & (size - 1), np.arange(base, base + len(kept)) & (size - 1))
            rows[base:] = [rows[at] for at in kept]
        oldest = base & (size - 1) if base < len(rows) else None
        block = pa.array([None, *values], type).slice(1)
        if len(values) == 1 and values[0] is not None and "timestamp" not in str(type):
            [value] = values
            column.put_one(len(rows) & (size - 1), value.encode() if isinstance(value, str) else value, oldest)
        else:
            column.put(np.arange(len(rows), len(rows) + len(values)) & (size - 1), block, oldest)
        rows += block.to_pylist()
        found = column.take(np.arange(base, len(rows)) & (size - 1))
        found.validate(full=True)
        assert str(found.to_pylist()) == str(rows[base:])


@pytest.mark.parametrize("type", [pa.list_(pa.int8()), pa.decimal128(9), pa.null(), pa.string_view()], ids=str)
def test_other_types_are_not_held(type: pa.DataType) -> None:
    assert not can_hold(type)
