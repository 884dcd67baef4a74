"""Runs that were sorted apart come out as one sequence, however many there are and wherever they lie."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamjoin.flow import sequence
from streamjoin.flow.sequence import Runs, sort_results
from streamjoin.flow.settle import pack_results

ORDER = ["join_time", "__time_l", "__tie_l"]


def results(rows: list[tuple[str | None, int, int, int]]) -> pa.RecordBatch:
    texts, *keys = zip(*rows, strict=True) if rows else ((), (), (), ())
    columns = [pa.array(texts, pa.string()), *(pa.array(key, pa.int64()) for key in keys)]
    return pa.RecordBatch.from_arrays(columns, names=["s", *ORDER])


NUMBERS = st.integers(-2, 2)
ROWS = st.lists(st.tuples(st.sampled_from(["a", "b", None]), NUMBERS, NUMBERS, NUMBERS), max_size=30)


@given(st.lists(ROWS, max_size=6), st.integers(1, 8), st.sampled_from([0, 200, 1 << 20]))
def test_merged_runs_are_sorted_by_keys_and_then_by_content(
    runs: list[list[tuple[str | None, int, int, int]]], slice_rows: int, most_bytes: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sequence, "SLICE_ROWS", slice_rows)
        patch.setattr(sequence, "_STRIDE", 1)
        patch.setattr(sequence, "MOST_BYTES", most_bytes)
        held = Runs(ORDER)
        for rows in runs:
            held.add(pack_results(sort_results(results(rows), ORDER)))
        slices = list(held.merge())
        held.close()
    found = [tuple(row.values()) for batch in slices for row in batch.to_pylist()]
    expected = sorted((row for rows in runs for row in rows), key=lambda r: (*r[1:], r[0] is not None, r[0] or ""))
    assert found == [row[:2] for row in expected]
    assert len(slices) <= 1 or max(batch.num_rows for batch in slices) < sum(batch.num_rows for batch in slices)


def test_equal_rows_have_ranks_of_their_own() -> None:
    from streamjoin.kernel.sort import find_places

    among = np.array([[1, 1, 1, 2], [0, 5, 5, 0]])
    assert find_places(np.array([[1, 1, 2], [5, 5, 0]]), among).tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="not among"):
        find_places(np.array([[3], [0]]), among)
