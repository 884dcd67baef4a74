"""Record batches put together within bounds."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from streamjoin.pane import gather


@given(st.lists(st.integers(0, 6)), st.integers(1, 8), st.integers(1, 60))
def test_batches_stay_within_both_bounds_and_none_is_split(sizes: list[int], rows: int, size: int) -> None:
    given = [pa.record_batch({"x": pa.array([at] * count, pa.int64())}) for at, count in enumerate(sizes)]
    found = list(gather(iter(given), rows, size))
    numbers = [x for batch in found for x in batch["x"].to_pylist()]
    assert numbers == [at for at, count in enumerate(sizes) for _ in range(count)]
    for batch in found:
        whole = len({*batch["x"].to_pylist()}) == 1
        assert whole or (batch.num_rows <= rows and batch.nbytes <= size)


def test_what_is_no_record_batch_is_handed_on() -> None:
    batch = pa.record_batch({"x": pa.array([1])})
    assert list(gather([batch, "a word", batch], 10, 100)) == ["a word", pa.concat_batches([batch, batch])]
