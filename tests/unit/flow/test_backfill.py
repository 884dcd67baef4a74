"""The batch join of records in order of time, in any layout, against the reference."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import streamjoin.worker
from streamjoin import Cell, Grid, Keyed, Scale, within
from streamjoin.flow import backfill
from streamjoin.flow.backfill import BLOCK_ROWS, ORDER, join_cells
from streamjoin.flow.cache import CacheSpec
from streamjoin.flow.emit import Sent, emit
from streamjoin.flow.settle import answer, settle, unpack_results
from streamjoin.layout import Layout, bound
from streamjoin.reference import Batch
from streamjoin.spec.how import HOWS, How
from tests.blocks import to_joined
from tests.properties.test_layouts import TIME_WINDOWS
from tests.properties.test_worker import expect, plan_of, plans
from tests.strategies import HISTORIES, multiset, us
from tests.unit.flow.runtime import Runtime, serving, to_job


@settings(max_examples=max(100, settings().max_examples))
@given(st.data())
def test_cells_that_stream_through_a_history_find_what_the_reference_finds(data: st.DataObject) -> None:
    how: How = data.draw(st.sampled_from(HOWS))
    plan, history = data.draw(plans(TIME_WINDOWS, how)), data.draw(HISTORIES)
    layout = data.draw(serving(plan))
    plan = bound(layout, plan)
    job = to_job(plan, layout, CacheSpec("", None))
    left, right = (
        sorted((row for row in rows if row["ts"] is not None), key=lambda row: row["ts"])
        for rows in (history.left, history.right)
    )
    sent = (record for record in Runtime(job).send(Batch(left, right)) if record.block is not None)
    records = sorted(sent, key=lambda record: [getattr(record, name) for name in ORDER])
    answers = [
        told for cell, found in join_cells(job, records) for part in found for told in answer(layout, cell, part)
    ]
    if plan.shared:
        answers.sort(key=lambda told: told[1:3])
        results = list(settle(layout, answers, in_order=True))
    else:
        results = [batch for told in answers for batch in unpack_results(told.block)]
    expected = expect(plan, [Batch(left, right)]).rows
    if how != "left_semi":
        assert multiset(to_joined(plan, results)) == multiset(expected), layout
    else:  # which match releases a row depends on the steps
        assert sorted(repr(j.left) for j in to_joined(plan, results)) == sorted(repr(j.left) for j in expected)


@pytest.mark.parametrize("layout", [Grid(2, 3), Scale(3), Cell(3), Keyed(3)], ids=str)
def test_every_pair_is_found_once_in_every_layout(layout: Layout) -> None:
    plan = plan_of("l.x = r.a", within(us(9)))
    job = to_job(plan, layout, CacheSpec("", None))
    left, right = ([{"ts": t, key: t % 5, other: 0.0} for t in range(40)] for key, other in (("x", "y"), ("a", "b")))
    sent = (record for record in Runtime(job).send(Batch(left, right)) if record.block is not None)
    records = sorted(sent, key=lambda record: [getattr(record, name) for name in ORDER])
    results = [batch for _, found in join_cells(job, records) for batch in found]
    assert multiset(to_joined(plan, results)) == multiset(expect(plan, [Batch(left, right)]).rows)


def test_a_cell_holds_a_window_and_not_the_history(monkeypatch: pytest.MonkeyPatch) -> None:
    #  A row each millisecond, in blocks of 1,000; a window of 2,000 rows a side, steps of 4,000.
    job = to_job(plan_of("l.x = r.a", within("2 seconds")), Grid(1, 1), CacheSpec("", None))
    history = 100_000
    held: list[streamjoin.worker.Size] = []

    class Watched(streamjoin.worker.Worker):
        def process(self, *arguments: Any) -> Iterator[pa.RecordBatch]:
            yield from super().process(*arguments)
            held.append(self.size)

    def records() -> Iterator[Sent]:
        for start in range(0, history, 1000):
            number = np.arange(start, start + 1000)
            x, time = (number % 50).astype("i4"), number * 1000
            rows = pa.table([time, x, number / 2, x, number, time, number * 31], names=list("abcdefg")).to_batches()
            for side in ("l", "r"):
                for group in emit(job, side, iter(rows), 1, BLOCK_ROWS):
                    yield from group

    monkeypatch.setattr(streamjoin.worker, "Worker", Watched)
    monkeypatch.setattr(backfill, "STEP_ROWS", 4000)
    found = sum(results.num_rows for _, of_step in join_cells(job, records()) for results in of_step)
    assert found == sum(history - abs(distance) for distance in range(-2000, 2001, 50))
    assert len(held) == 2 * history // 4000
    assert max(size.live_left + size.live_right for size in held) <= 2 * (2000 + 4000)
    assert max(size.bytes for size in held) < 2 * history * 32 / 5  # a row takes 32 bytes: time, key, payload
