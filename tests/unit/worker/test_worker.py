"""What a worker promises besides right results: bounded blocks, clear errors, small state, its own account."""

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pytest

from streamjoin import between, last, reference, within
from streamjoin.errors import StreamJoinError
from streamjoin.pane import KeyColumn, Segment, SegmentError, no_columns
from streamjoin.plan import Block, Plan
from streamjoin.predicate import Schema, parse
from streamjoin.spec.how import How
from streamjoin.spec.window import Window
from streamjoin.worker import Worker
from tests.strategies import us

LEFT = Schema({"ts": "timestamp", "x": "int", "s": "string"})
RIGHT = Schema({"ts": "timestamp", "a": "int", "s": "string"})
PAYLOAD_LEFT = pa.schema([("l", pa.int64()), ("s", pa.string())])
PAYLOAD_RIGHT = pa.schema([("r", pa.int64())])
TEN = within(us(10))


def plan_of(window: Window = TEN, how: How = "inner", on: str = "l.x = r.a", **options: Any) -> Plan:
    return Plan(parse(on, LEFT, RIGHT), window, PAYLOAD_LEFT, PAYLOAD_RIGHT, how, **options)


def left(*rows: tuple[int | None, int], text: str = "") -> Block:
    """Rows as (time, x), numbered from 0."""
    return _block(rows, {"l": range(len(rows)), "s": [text] * len(rows)}, PAYLOAD_LEFT)


def right(*rows: tuple[int | None, int]) -> Block:
    return _block(rows, {"r": range(100, 100 + len(rows))}, PAYLOAD_RIGHT)


def _block(rows: Iterable[tuple[int | None, int]], payload: dict[str, Any], schema: pa.Schema) -> Block:
    times, keys = zip(*rows, strict=True)
    return Block(
        np.array([t or 0 for t in times]),
        (KeyColumn(np.array(keys, np.int32)),),
        pa.RecordBatch.from_pydict({name: list(values) for name, values in payload.items()}, schema),
        valid=np.array([t is not None for t in times]),
    )


def pairs(blocks: Iterable[pa.RecordBatch]) -> list[tuple[int | None, int | None, int]]:
    """Results as (left, right, join time)."""
    return [
        (row["l"], row.get("r"), row["join_time"])
        for row in sorted((row for block in blocks for row in block.to_pylist()), key=repr)
    ]


def test_rows_meet_whichever_comes_first() -> None:
    #  left   1     4        9
    #  right     3     6
    #  =>     (1,3) (4,3) (4,6) (9,6)
    worker = Worker(plan_of(within(us(3))))
    found = pairs(worker.process(left((1, 0), (4, 0), (9, 0)), right((3, 0), (6, 0))))
    assert found == [(0, 100, 3), (1, 100, 4), (1, 101, 6), (2, 101, 9)]


def test_a_row_at_the_watermark_is_admitted_and_one_before_it_is_late() -> None:
    worker = Worker(plan_of())
    list(worker.process(left((5, 0)), (), 5))
    found = pairs(worker.process(left((6, 0), (7, 0)), right((6, 0), (7, 0), (None, 0), (None, 0)), 7))
    assert found == [(0, 101, 7), (1, 101, 7)]
    assert (worker.last.rows_left, worker.last.late_left) == (2, 1)
    assert (worker.last.rows_right, worker.last.late_right) == (4, 1)
    assert (worker.last.invalid, worker.total.invalid, worker.total.rows_left) == (2, 2, 3)


def test_a_row_leaves_when_its_last_chance_has_passed_and_not_before() -> None:
    worker = Worker(plan_of(within(left=us(10), right=us(3)), "full"))
    list(worker.process(left((0, 1)), right((0, 2)), 0))
    sizes = {}
    for watermark in (3, 4, 10, 11):
        found = pairs(worker.process((), (), watermark))
        sizes[watermark] = (worker.size.live_left, worker.size.live_right, found)
    assert sizes == {3: (1, 1, []), 4: (1, 0, [(None, 100, 3)]), 10: (1, 0, []), 11: (0, 0, [(0, None, 10)])}


def test_rows_that_can_meet_nobody_any_more_are_not_even_stored() -> None:
    #  left    2  4             meet the right row at 6, which comes under watermark 5: they cannot come any more
    #  right         6
    worker = Worker(plan_of(between(us(2), us(4))))
    list(worker.process((), right((6, 0)), 5))
    assert worker.size.segments == 0
    list(worker.process((), right((7, 0)), 5))  # a left row at 5 may yet come
    assert (worker.size.segments, worker.size.live_right) == (1, 1)


def test_a_count_window_keeps_no_more_than_it_counts() -> None:
    worker = Worker(plan_of(last(left=3, right=2), on="true"))
    rows = [(t, 0) for t in range(100)]
    blocks = (replace(block, keys=()) for block in (left(*rows), right(*rows)))
    list(worker.process(*blocks))
    assert (worker.size.waiting_left, worker.size.live_left) == (100, 0)
    list(worker.process((), (), 90))
    assert (worker.size.waiting_left, worker.size.waiting_right) == (10, 10)
    assert (worker.size.live_left, worker.size.live_right) == (3, 2)
    assert sum(map(len, worker.segments())) == 5


# Results


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
    assert len(worker.segments()) > 1
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
    blocks = (replace(block, payload=no_columns(2)) for block in (left((1, 1), (2, 2)), right((3, 1), (4, 3))))
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


# State


def test_state_is_written_once_and_flags_only_when_they_change() -> None:
    worker = Worker(plan_of(how="left"))
    list(worker.process(left((0, 1), (1, 2)), right((0, 3))))
    assert [segment.name for segment in worker.new_segments()] == ["l1", "r1"]
    assert worker.changed_flags() == {}
    list(worker.process((), right((2, 2))))
    assert [segment.name for segment in worker.new_segments()] == ["r2"]
    assert worker.changed_flags() == {"fl0": bytes([0b01000000])}
    list(worker.process((), right((3, 2))))
    worker.new_segments()
    assert worker.changed_flags() == {}
    assert worker.dropped_segments() == []
    list(worker.process((), (), 100))
    assert sorted(worker.dropped_segments()) == ["l1", "r1", "r2", "r3"]
    assert worker.new_segments() == []


def test_what_is_gone_before_it_was_written_is_not_mentioned() -> None:
    worker = Worker(plan_of())
    list(worker.process(left((0, 1)), (), 0))
    list(worker.process((), (), 100))
    assert worker.new_segments() == []
    assert worker.dropped_segments() == []


def test_state_holds_no_index_and_the_cache_does() -> None:
    worker = Worker(plan_of())
    list(worker.process(left((0, 1)), right((0, 1))))
    assert all(not segment.index for segment in worker.new_segments())
    assert all(segment.index for segment in worker.segments())


def test_a_manifest_is_plain_and_does_not_grow_with_the_rows() -> None:
    sizes = []
    for rows in (1, 1000):
        worker = Worker(plan_of(how="full"))
        list(worker.process(left(*[(t, t) for t in range(rows)]), right((0, 0)), 0))
        manifest = worker.manifest()
        assert json.loads(manifest)["watermark"] == 0
        sizes.append(len(manifest))
    assert sizes[1] < sizes[0] + 50


@pytest.mark.parametrize("window", [within(us(10_000)), pytest.param(last(10_000), marks=pytest.mark.slow)])
def test_a_manifest_stays_small_however_many_batches_the_window_holds(window: Window) -> None:
    worker = Worker(plan_of(window, "full"))
    for t in range(800):
        list(worker.process(left((t, 0)), right((t, 1)), max(0, t - 100)))
        assert len(worker.manifest()) < 13_000  # a few segments for each sixteenth of the window


@pytest.mark.parametrize("window", [within(us(10)), last(3)])
def test_state_that_is_not_there_or_damaged_is_named(window: Window) -> None:
    worker = Worker(plan_of(window, "left"))
    list(worker.process(left((0, 1)), right((0, 1))))
    (segment, *_) = worker.new_segments()
    manifest, parts = worker.state()
    with pytest.raises(SegmentError, match=f"{segment.name}: is not in state"):
        Worker.restore(worker.plan, manifest, {**parts, segment.name: None}.get)
    with pytest.raises(SegmentError, match=segment.name):
        Worker.restore(worker.plan, manifest, {**parts, segment.name: parts[segment.name][:-1]}.get)


def test_flags_that_are_not_there_are_named() -> None:
    worker = Worker(plan_of(how="left"))
    list(worker.process(left((0, 1)), right((0, 1))))
    manifest, parts = worker.state()
    with pytest.raises(SegmentError, match="fl0: is not in state"):
        Worker.restore(worker.plan, manifest, {**parts, "fl0": None}.get)


def test_a_merged_segment_is_taken_from_the_cache_by_its_name() -> None:
    worker, stored = Worker(plan_of(within(us(1000)))), {}
    for t in range(10):
        list(worker.process(left((t, 0)), (), 0))
        stored |= {segment.name: segment.to_bytes() for segment in worker.new_segments()}
    merged = {segment.name: segment for segment in worker.segments() if len(segment.parts) > 1}
    assert merged
    asked: list[str] = []

    def fetch(name: str) -> Segment | bytes | None:
        asked.append(name)
        return merged.get(name) or stored.get(name)

    restored = Worker.restore(worker.plan, worker.manifest(), fetch)
    assert not {part for segment in merged.values() for part in segment.parts} & set(asked)
    assert len(pairs(restored.process((), right((5, 0)), 0))) == 10


# Errors


def test_a_batch_must_be_over_before_the_next_and_before_its_state_is_taken() -> None:
    worker = Worker(plan_of(block_rows=1))
    results = worker.process(left((0, 0), (0, 0)), right((0, 0)))
    next(results)
    for use in (worker.manifest, worker.new_segments, worker.dropped_segments, lambda: list(worker.process())):
        with pytest.raises(StreamJoinError, match="not over"):
            use()
    list(results)
    assert worker.manifest()


def test_a_watermark_does_not_move_back() -> None:
    worker = Worker(plan_of())
    list(worker.process(watermark=5))
    list(worker.process(watermark=5))
    for back in (4, None):
        with pytest.raises(StreamJoinError, match=f"went back from 5 to {back}"):
            list(worker.process(watermark=back))
    assert worker.manifest()  # which a refused batch leaves as it is


def test_after_the_end_everything_is_late() -> None:
    worker = Worker(plan_of())
    list(worker.finish())
    assert pairs(worker.finish()) == []
    with pytest.raises(StreamJoinError, match="went back"):
        list(worker.process(left((0, 0)), (), 100))


def test_residual_conditions_are_left_to_the_caller_of_an_inner_join() -> None:
    on = "l.x = r.a AND l.s LIKE r.s"
    worker = Worker(plan_of(on=on))
    assert pairs(worker.process(left((0, 1)), right((0, 1)))) == [(0, 100, 0)]
    with pytest.raises(StreamJoinError, match="only Spark can evaluate"):
        plan_of(how="left", on=on)  # without `decided_by_worker`


def test_a_plan_names_what_it_cannot_be() -> None:
    with pytest.raises(StreamJoinError, match="how: got 'outer'; expected one of inner, left"):
        plan_of(how="outer")  # type: ignore[arg-type]
    assert get_args(How) == get_args(reference.How)


BLOCK = left((0, 1), (1, 2))


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (replace(BLOCK, payload=right((0, 1), (1, 2)).payload), "payload"),
        (replace(BLOCK, keys=()), "0 key columns; the predicate has 1"),
        (replace(BLOCK, keys=(KeyColumn(np.zeros(3, np.int32)),)), "key _l0 has 3 rows; time has 2"),
        (replace(BLOCK, valid=np.ones(1, np.bool_)), "valid has 1 rows; time has 2"),
        (replace(BLOCK, probes=np.ones(3, np.bool_)), "probes has 3 rows; time has 2"),
        (replace(BLOCK, payload=BLOCK.payload.slice(1)), "payload has 1 rows; time has 2"),
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


def test_a_million_rows_a_side_in_one_block() -> None:
    count = 1_000_000
    order = np.random.default_rng(1).permutation(count)

    def whole(keys: np.ndarray, schema: pa.Schema) -> Block:
        payload = {"l": pa.array(keys), "r": pa.array(keys), "s": pa.nulls(count, pa.string())}
        columns = [payload[name] for name in schema.names]
        time = np.arange(count)
        return Block(time, (KeyColumn(keys.astype(np.int32)),), pa.RecordBatch.from_arrays(columns, schema=schema))

    worker = Worker(plan_of(within(us(count)), block_rows=50_000))
    found = 0
    for block in worker.process(whole(np.arange(count), PAYLOAD_LEFT), whole(order, PAYLOAD_RIGHT)):
        assert block.num_rows <= 50_000
        assert block["l"].equals(block["r"])
        found += block.num_rows
    assert found == count == worker.total.matches
    assert worker.total.decided == count * count
    assert worker.total.examined < 20 * count


def test_seconds_are_those_of_the_worker_alone() -> None:
    worker = Worker(plan_of())
    list(worker.process(left((0, 0)), right((0, 0))))
    last_call = worker.last
    steps = [last_call.admit_seconds, last_call.probe_seconds, last_call.store_seconds, last_call.expire_seconds]
    assert all(seconds > 0 for seconds in steps)
    assert worker.total.probe_seconds == last_call.probe_seconds
    assert not any(name.endswith("seconds") for name in last_call.counts())
