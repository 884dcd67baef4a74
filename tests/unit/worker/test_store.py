"""State: each segment once, in the bytes it arrived in where it can be; flags when they change; a small manifest."""

import json
from dataclasses import replace

import numpy as np
import pytest

from streamjoin import last, within
from streamjoin.pane import Segment, SegmentError
from streamjoin.pane import segment as segment_module
from streamjoin.plan import Block
from streamjoin.spec.how import How
from streamjoin.spec.window import Window
from streamjoin.worker import Worker
from tests.blocks import StateStore, send
from tests.strategies import us
from tests.unit.worker.joins import left, pairs, plan_of, right


def test_state_is_written_once_and_flags_only_when_they_change() -> None:
    worker = Worker(plan_of(how="left"))
    list(worker.process(left((0, 1), (1, 2)), right((0, 3))))
    assert [segment.name for segment in worker.take_new_segments()] == ["l1", "r1"]
    assert worker.take_changed_flags() == {}
    list(worker.process((), right((2, 2))))
    assert [segment.name for segment in worker.take_new_segments()] == ["r2"]
    assert worker.take_changed_flags() == {"fl0": bytes([0b01000000])}
    list(worker.process((), right((3, 2))))
    worker.take_new_segments()
    assert worker.take_changed_flags() == {}
    assert worker.take_dropped_names() == []
    list(worker.process((), (), 100))
    assert sorted(worker.take_dropped_names()) == ["l1", "r1", "r2", "r3"]
    assert worker.take_new_segments() == []


def test_what_is_gone_before_it_was_written_is_not_mentioned() -> None:
    worker = Worker(plan_of())
    list(worker.process(left((0, 1)), (), 0))
    list(worker.process((), (), 100))
    assert worker.take_new_segments() == []
    assert worker.take_dropped_names() == []


def test_state_holds_no_index_and_the_cache_does() -> None:
    worker = Worker(plan_of())
    list(worker.process(left((0, 1)), right((0, 1))))
    assert all(not segment.index for segment in worker.take_new_segments())
    assert all(segment.index for segment in worker.list_segments())


def test_a_manifest_is_plain_and_does_not_grow_with_the_rows() -> None:
    sizes = []
    for rows in (1, 1000):
        worker = Worker(plan_of(how="full"))
        list(worker.process(left(*[(t, t) for t in range(rows)]), right((0, 0)), 0))
        manifest = worker.to_manifest()
        assert json.loads(manifest)["watermark"] == 0
        sizes.append(len(manifest))
    assert sizes[1] < sizes[0] + 50


@pytest.mark.parametrize("window", [within(us(10_000)), pytest.param(last(10_000), marks=pytest.mark.slow)])
def test_a_manifest_stays_small_however_many_batches_the_window_holds(window: Window) -> None:
    worker = Worker(plan_of(window, "full"))
    for t in range(800):
        list(worker.process(left((t, 0)), right((t, 1)), max(0, t - 100)))
        assert len(worker.to_manifest()) < 13_000  # a few segments for each sixteenth of the window


@pytest.mark.parametrize("window", [within(us(10)), last(3)])
def test_state_that_is_not_there_or_damaged_is_named(window: Window) -> None:
    worker = Worker(plan_of(window, "left"))
    list(worker.process(left((0, 1)), right((0, 1))))
    state = StateStore()
    state.save(worker)
    manifest, parts, name = state.manifest, state.entries, next(iter(state.entries))
    with pytest.raises(SegmentError, match=f"{name}: is not in state"):
        Worker.restore(worker.plan, manifest, {**parts, name: None}.get)
    with pytest.raises(SegmentError, match=name):
        Worker.restore(worker.plan, manifest, {**parts, name: parts[name][:-1]}.get)


def test_flags_that_are_not_there_are_named() -> None:
    worker = Worker(plan_of(how="left"))
    list(worker.process(left((0, 1)), right((0, 1))))
    state = StateStore()
    state.save(worker)
    manifest, parts = state.manifest, state.entries
    with pytest.raises(SegmentError, match="fl0: is not in state"):
        Worker.restore(worker.plan, manifest, {**parts, "fl0": None}.get)


def test_a_merged_segment_is_taken_from_the_cache_by_its_name() -> None:
    worker, stored = Worker(plan_of(within(us(1000)))), {}
    for t in range(10):
        list(worker.process(left((t, 0)), (), 0))
        stored |= {segment.name: segment.to_bytes() for segment in worker.take_new_segments()}
    merged = {segment.name: segment for segment in worker.list_segments() if len(segment.parts) > 1}
    assert merged
    asked: list[str] = []

    def fetch(name: str) -> Segment | bytes | None:
        asked.append(name)
        return merged.get(name) or stored.get(name)

    restored = Worker.restore(worker.plan, worker.to_manifest(), fetch)
    assert not {part for segment in merged.values() for part in segment.parts} & set(asked)
    assert len(pairs(restored.process((), right((5, 0)), 0))) == 10


# The way of a block into state


@pytest.mark.parametrize("window", [within(us(10)), last(3)], ids=["time", "count"])
@pytest.mark.parametrize("how", ["inner", "left"])
def test_a_whole_block_goes_into_state_as_the_bytes_it_arrived_in(how: How, window: Window) -> None:
    arrived = Segment("", replace(left((0, 1), (1, 2), text="word").rows, route=np.array([7, 8]))).to_bytes()
    worker = Worker(plan_of(window, how))
    list(worker.process(Block(Segment.from_bytes(arrived, "sent").rows)))
    (stored,) = worker.take_new_segments()
    packed = stored.to_bytes()
    if how == "inner" or window == last(3):
        assert packed is arrived
    else:  # ranks are in the directory
        assert body_of(packed) == body_of(arrived)
        assert Segment.from_bytes(packed, "l1").rows.rank.tolist() == [0, 1]
    assert Segment("", stored.rows.slice(0)).to_bytes() == packed


def body_of(container: bytes) -> bytes:
    """What comes after the header and the directory."""
    return container[64 + int.from_bytes(container[12:16], "little") :]


@pytest.mark.parametrize("how", ["inner", "left"])
def test_nothing_is_packed_for_a_whole_block(how: How, monkeypatch: pytest.MonkeyPatch) -> None:
    block = send(left((0, 1), (1, 2)))
    worker = Worker(plan_of(how=how))
    list(worker.process(block))
    monkeypatch.setattr(segment_module, "pack", None)
    assert [len(segment.to_bytes()) > 0 for segment in worker.take_new_segments()] == [True]


@pytest.mark.parametrize("how", ["inner", "left"])
@pytest.mark.parametrize(
    "blocks",
    [
        [left((0, 1), (5, 2))],  # one is late
        [replace(left((5, 1), (6, 2)), **dict.fromkeys(("probes", "stores"), np.array([True, False])))],
        [left((5, 1)), left((6, 2))],
    ],
    ids=["late", "masked", "merged"],
)
def test_what_is_late_masked_or_merged_is_packed_anew(how: How, blocks: list[Block]) -> None:
    sent = [send(replace(b, rows=replace(b.rows, route=np.arange(len(b))))) for b in blocks]
    worker = Worker(plan_of(how=how))
    list(worker.process(sent, (), 3))
    (stored,) = worker.take_new_segments()
    assert stored.rows.source is None
    found = Segment.from_bytes(stored.to_bytes(), "l1").rows
    assert found.route is not None
    assert len(found.route) == len(found.time) == len(stored)
