"""The driver: what a batch does with rows, watermarks that it refuses, results in the size of a real batch."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from streamjoin import between, last, within
from streamjoin.errors import StreamJoinError
from streamjoin.pane import KeyColumn, Rows, no_columns
from streamjoin.plan import Block
from streamjoin.worker import Worker
from tests.strategies import us
from tests.unit.worker.joins import PAYLOAD_LEFT, PAYLOAD_RIGHT, left, pairs, plan_of, right


def test_rows_match_whichever_comes_first() -> None:
    #  left   1     4        9
    #  right     3     6
    #  =>     (1,3) (4,3) (4,6) (9,6)
    worker = Worker(plan_of(within(us(3))))
    found = pairs(worker.process(left((1, 0), (4, 0), (9, 0)), right((3, 0), (6, 0))))
    assert found == [(0, 100, 3), (1, 100, 4), (1, 101, 6), (2, 101, 9)]


def test_a_row_expires_after_its_last_possible_match_and_not_before() -> None:
    worker = Worker(plan_of(within(left=us(10), right=us(3)), "full"))
    list(worker.process(left((0, 1)), right((0, 2)), 0))
    sizes = {}
    for watermark in (3, 4, 10, 11):
        found = pairs(worker.process((), (), watermark))
        sizes[watermark] = (worker.size.live_left, worker.size.live_right, found)
    assert sizes == {3: (1, 1, []), 4: (1, 0, [(None, 100, 3)]), 10: (1, 0, []), 11: (0, 0, [(0, None, 10)])}


def test_rows_that_no_row_can_match_any_more_are_not_even_stored() -> None:
    #  left    2  4             match the right row at 6, which comes under watermark 5: they cannot come any more
    #  right         6
    worker = Worker(plan_of(between(us(2), us(4))))
    list(worker.process((), right((6, 0)), 5))
    assert worker.size.segments == 0
    list(worker.process((), right((7, 0)), 5))  # a left row at 5 may yet come
    assert (worker.size.segments, worker.size.live_right) == (1, 1)


def test_a_count_window_keeps_no_more_than_it_counts() -> None:
    worker = Worker(plan_of(last(left=3, right=2), on="true"))
    rows = [(t, 0) for t in range(100)]
    blocks = (Block(replace(block.rows, keys=())) for block in (left(*rows), right(*rows)))
    list(worker.process(*blocks))
    assert (worker.size.waiting_left, worker.size.live_left) == (100, 0)
    list(worker.process((), (), 90))
    assert (worker.size.waiting_left, worker.size.waiting_right) == (10, 10)
    assert (worker.size.live_left, worker.size.live_right) == (3, 2)
    assert sum(len(s) for s in worker.list_segments() if not s.name.startswith("w")) == 5


def test_the_latest_row_of_all_may_lie_in_another_cell() -> None:
    """When the input ends in a count window, a row without match is decided at the time of the latest row."""
    worker = Worker(plan_of(last(left=2, right=2), "left"))
    elsewhere = Rows(np.array([9]), (), no_columns(1), route=np.array([1]))
    here = replace(left((5, 0)).rows, route=np.array([2]))
    list(worker.process(Block(here), (), tally={"l": [here], "r": [elsewhere]}))
    assert pairs(worker.finish()) == [(0, None, 9)]


def test_a_batch_must_be_over_before_the_next_and_before_its_state_is_taken() -> None:
    worker = Worker(plan_of(block_rows=1))
    results = worker.process(left((0, 0), (0, 0)), right((0, 0)))
    next(results)
    for use in (
        worker.to_manifest,
        worker.take_new_segments,
        worker.take_dropped_names,
        lambda: list(worker.process()),
    ):
        with pytest.raises(StreamJoinError, match="not over"):
            use()
    list(results)
    assert worker.to_manifest()


def test_a_watermark_does_not_move_back() -> None:
    worker = Worker(plan_of())
    list(worker.process(watermark=5))
    list(worker.process(watermark=5))
    for back in (4, None):
        with pytest.raises(StreamJoinError, match=f"went back from 5 to {back}"):
            list(worker.process(watermark=back))
    assert worker.to_manifest()  # which a refused batch leaves as it is


def test_after_the_end_everything_is_late() -> None:
    worker = Worker(plan_of())
    list(worker.finish())
    assert pairs(worker.finish()) == []
    with pytest.raises(StreamJoinError, match="went back"):
        list(worker.process(left((0, 0)), (), 100))


def test_a_million_rows_a_side_in_one_block() -> None:
    count = 1_000_000
    order = np.random.default_rng(1).permutation(count)

    def whole(keys: np.ndarray, schema: pa.Schema) -> Block:
        payload = {"l": pa.array(keys), "r": pa.array(keys), "s": pa.nulls(count, pa.string())}
        columns = [payload[name] for name in schema.names]
        time = np.arange(count)
        batch = pa.RecordBatch.from_arrays(columns, schema=schema)
        return Block(Rows(time, (KeyColumn(keys.astype(np.int32)),), batch))

    worker = Worker(plan_of(within(us(count)), block_rows=50_000))
    found = 0
    for block in worker.process(whole(np.arange(count), PAYLOAD_LEFT), whole(order, PAYLOAD_RIGHT)):
        assert block.num_rows <= 50_000
        assert block["l"].equals(block["r"])
        found += block.num_rows
    assert found == count == worker.last.matches
    assert worker.last.comparisons == count * count
    assert worker.last.examined < 20 * count
