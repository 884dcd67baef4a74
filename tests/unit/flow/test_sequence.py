"""Runs that were sorted apart come out as one sequence, however many there are and wherever they lie."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamjoin.flow import sequence
from streamjoin.flow.sequence import Runs, sort_results
from streamjoin.flow.settle import pack_results

ORDER = ["join_time", "l0", "__tie_l"]
SCHEMA = pa.schema(
    {"s": pa.string(), "l0": pa.timestamp("us", tz="UTC"), "join_time": pa.int64(), "__tie_l": pa.int64()}
)
Row = tuple[str | None, int | None, int, int]
"""The time is part of the payload; that of an absent side is NULL, and comes first."""


PLAIN = pa.schema({"s": pa.string(), "l0": pa.int64(), "join_time": pa.int64()})


def results(rows: list[Row]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True) if rows else [()] * len(SCHEMA)
    arrays = [pa.array(values, type) for values, type in zip(columns, SCHEMA.types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


NUMBERS = st.integers(-2, 2)
ROWS = st.lists(st.tuples(st.sampled_from(["a", "b", None]), st.none() | NUMBERS, NUMBERS, NUMBERS), max_size=30)


@given(st.lists(ROWS, max_size=6), st.integers(1, 8), st.sampled_from([0, 200, 1 << 20]))
def test_merged_runs_are_sorted_by_keys_and_then_by_content(
    runs: list[list[Row]], slice_rows: int, most_bytes: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sequence, "SLICE_ROWS", slice_rows)
        patch.setattr(sequence, "_STRIDE", 1)
        patch.setattr(sequence, "MOST_BYTES", most_bytes)
        held = Runs(ORDER, 3)
        for rows in runs:
            held.add(pack_results(sort_results(results(rows), ORDER)))
        slices = list(held.merge())
        held.close()
    columns = pa.Table.from_batches(slices, SCHEMA.remove(3)).cast(PLAIN).columns
    found = list(zip(*(column.to_pylist() for column in columns), strict=True))

    def order_of(row: Row) -> tuple[object, ...]:
        text, time, join_time, tie = row
        return join_time, time is not None, time, tie, text is not None, text

    expected = sorted((row for rows in runs for row in rows), key=order_of)
    assert found == [row[:3] for row in expected]
    assert len(slices) <= 1 or max(batch.num_rows for batch in slices) < sum(batch.num_rows for batch in slices)


def test_equal_rows_have_ranks_of_their_own() -> None:
    from streamjoin.kernel.sort import find_places

    among = np.array([[1, 1, 1, 2], [0, 5, 5, 0]])
    assert find_places(np.array([[1, 1, 2], [5, 5, 0]]), among).tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="not among"):
        find_places(np.array([[3], [0]]), among)
