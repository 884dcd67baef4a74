"""Results come in bounded blocks, with NULLs where a side has no part in them."""

from dataclasses import replace

import pyarrow as pa

from streamjoin import within
from streamjoin.pane import no_columns
from streamjoin.plan import Block, Plan
from streamjoin.predicate import parse
from streamjoin.spec.how import How
from streamjoin.worker import Worker
from tests.strategies import us
from tests.unit.worker.joins import LEFT, RIGHT, left, pairs, plan_of, right


def test_results_come_in_blocks_of_bounded_rows_and_bytes() -> None:
    many = [(0, 0)] * 300
    worker = Worker(plan_of(block_rows=1000, block_bytes=1 << 40))
    sizes = [block.num_rows for block in worker.process(left(*many), right(*many))]
    assert sum(sizes) == 90_000
    assert max(sizes) <= 1000
    assert len(sizes) <= 2 * 90

    worker = Worker(plan_of(block_bytes=100_000))
    blocks = list(worker.process(left(*many, text="x" * 1000), right(*many)))
    assert sum(block.num_rows for block in blocks) == 90_000
    assert max(block.nbytes for block in blocks) <= 110_000


def test_small_blocks_are_put_together() -> None:
    worker = Worker(plan_of(within(us(1000))))
    for t in range(40):
        list(worker.process(left((t, 0)), (), 0))
    assert len(worker.list_segments()) > 1
    assert [block.num_rows for block in worker.process((), right((40, 0)), 0)] == [40]


def test_an_absent_side_is_null_and_a_semi_join_has_none() -> None:
    (block,) = _unmatched("left")
    assert block.to_pylist() == [{"l": 0, "s": "", "r": None, "join_time": 11}]
    (block,) = _unmatched("left_anti")
    assert block.to_pylist() == [{"l": 0, "s": "", "join_time": 11}]
    (block,) = _unmatched("right")
    assert block.to_pylist() == [{"l": None, "s": None, "r": 100, "join_time": 11}]
    assert [field.type for field in block.schema] == [pa.int64(), pa.string(), pa.int64(), pa.int64()]


def _unmatched(how: How) -> list[pa.RecordBatch]:
    worker = Worker(plan_of(how=how))
    assert list(worker.process(left((1, 1)), right((1, 2)))) == []
    return list(worker.finish())


def test_results_may_carry_nothing_but_their_time() -> None:
    nothing = pa.schema([])
    worker = Worker(Plan(parse("l.x = r.a", LEFT, RIGHT), within(us(10)), nothing, nothing, "full"))
    blocks = (
        Block(replace(block.rows, payload=no_columns(2))) for block in (left((1, 1), (2, 2)), right((3, 1), (4, 3)))
    )
    results = [*worker.process(*blocks), *worker.finish()]
    assert sorted(row["join_time"] for block in results for row in block.to_pylist()) == [3, 12, 14]


def test_a_semi_row_comes_out_once_by_the_earliest_match_of_the_first_batch_that_has_one() -> None:
    worker = Worker(plan_of(how="left_semi"))
    assert pairs(worker.process(left((5, 0)), right((9, 0), (7, 0)))) == [(0, None, 7)]
    assert pairs(worker.process((), right((6, 0)))) == []
    worker = Worker(plan_of(how="left_semi"))
    list(worker.process(left((5, 0))))
    assert pairs(worker.process((), [right((9, 0)), right((8, 0))])) == [(0, None, 8)]
    assert pairs(worker.process((), right((6, 0)))) == []
