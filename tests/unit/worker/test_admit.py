"""What is admitted: rows that are not late, in blocks that fit the plan, each counted once."""

from dataclasses import replace

import numpy as np
import pytest

from streamjoin.errors import StreamJoinError
from streamjoin.plan import Block
from streamjoin.spec.how import How
from streamjoin.worker import Worker
from streamjoin.worker.admit import admit
from tests.blocks import send
from tests.unit.worker.joins import left, pairs, plan_of, right


def test_a_row_at_the_watermark_is_admitted_and_one_before_it_is_late() -> None:
    worker = Worker(plan_of())
    list(worker.process(left((5, 0)), (), 5))
    found = pairs(worker.process(left((6, 0), (7, 0)), right((6, 0), (7, 0), (8, 0)), 7))
    assert found == [(0, 101, 7), (0, 102, 8), (1, 101, 7), (1, 102, 8)]
    assert (worker.last.rows_left, worker.last.late_left) == (2, 1)
    assert (worker.last.rows_right, worker.last.late_right) == (3, 1)


def test_rows_and_late_rows_count_where_their_first_copy_is() -> None:
    blocks = [
        replace(left((6, 0), (7, 0), (8, 0)), first=np.array([True, True, False])),
        replace(left((5, 0), (9, 0)), first=np.zeros(2, np.bool_)),
        left((4, 0)),
    ]
    worker = Worker(plan_of())
    list(worker.process(blocks, (), 7))
    assert (worker.last.rows_left, worker.last.late_left) == (3, 2)
    assert worker.size.live_left == 3


def test_a_block_without_late_rows_is_admitted_as_it_is() -> None:
    block = send(left((7, 0), (8, 0)))
    admitted = admit(plan_of(), "l", [block], 7).block
    assert admitted is not None
    assert admitted.rows is block.rows
    assert admit(plan_of(), "l", [block], 9).block is None


BLOCK = left((0, 1), (1, 2))


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (Block(replace(BLOCK.rows, payload=right((0, 1), (1, 2)).rows.payload)), "payload"),
        (Block(replace(BLOCK.rows, keys=())), "0 key columns; the predicate has 1"),
    ],
)
def test_a_block_that_does_not_fit_the_plan_is_refused(block: Block, message: str) -> None:
    with pytest.raises(StreamJoinError, match=message):
        list(Worker(plan_of()).process(block))


@pytest.mark.parametrize("how", ["left", "full", "left_semi", "left_anti"])
def test_a_preserved_row_must_be_whole_in_one_worker(how: How) -> None:
    halves = replace(BLOCK, probes=np.array([True, False]))
    with pytest.raises(StreamJoinError, match="every left row to probe and to be stored in the same worker"):
        list(Worker(plan_of(how=how)).process(halves))
    whole = replace(halves, stores=np.array([True, False]))
    worker = Worker(plan_of(how="left"))
    assert pairs([*worker.process(whole), *worker.finish()]) == [(0, None, 10)]
