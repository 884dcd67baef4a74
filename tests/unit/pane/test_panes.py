"""Panes lose no live row, whatever arrives and expires, and stay short, small and cheap."""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streamjoin import StreamJoinError
from streamjoin.pane import Panes, Segment, SegmentError, held
from streamjoin.pane import panes as panes_module
from streamjoin.pane.zones import Zones
from tests.segments import stamped

SPAN = 160
"""The window in most tests; a pane is 10 long."""

Add = list[int]
"""Rows arrive at these times."""


@dataclass(frozen=True)
class Expire:
    time: int | None
    rank: int = 0


def parts_of(panes: Panes) -> list[str]:
    """The names of all segments that arrived and are still needed, in their order."""
    return [part for segment in panes.segments for part in segment.parts]


@dataclass
class Copies:
    """How many rows were copied to merge segments, and how many to leave expired ones behind."""

    merged: int = 0
    compacted: int = 0


@pytest.fixture(autouse=True)
def copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count what is copied, for the model that was made last."""
    merge = held.merge_held

    def count(group: Sequence[held.Held], limit: held.Limit, *, routes: bool) -> held.Held:
        merged = merge(group, limit, routes=routes)
        if len(group) > 1:
            Model.copies.merged += merged.rows
        else:
            Model.copies.compacted += merged.rows
        return merged

    monkeypatch.setattr(panes_module, "merge_held", count)


@dataclass
class Model:
    """Panes beside what they should hold: plain lists of (time, number) of each segment that arrived."""

    copies: ClassVar[Copies]
    panes: Panes
    rank: bool = False
    arrived: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    stored: dict[str, Segment] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)
    limit: tuple[float, int] = (-math.inf, 0)
    rows: int = 0
    newest: int = 0

    def __post_init__(self) -> None:
        Model.copies = Copies()

    def do(self, step: Add | Expire) -> None:
        if isinstance(step, Expire):
            time = -math.inf if step.time is None else step.time
            self.limit = max(self.limit[0], time), max(self.limit[1], step.rank)
            self.gone += self.panes.expire(step.time, step.rank)
            self.newest = 0
        else:
            segment = Segment(f"l{len(self.arrived)}", stamped(step, self.rows, rank=self.rank))
            self.arrived[segment.name] = [(t, self.rows + i) for i, t in enumerate(step)]
            self.stored[segment.name] = segment
            self.rows += len(step)
            self.newest = len(step)
            self.gone += self.panes.add(segment)

    def is_live(self, row: tuple[int, int]) -> bool:
        return row[0] >= self.limit[0] and (not self.rank or row[1] >= self.limit[1])

    def check(self) -> None:
        segments = self.panes.segments
        self._check_rows(segments)
        self._check_parts(segments)
        self.check_bounds()

    def _check_rows(self, segments: Iterable[Segment]) -> None:
        arrived = {row for rows in self.arrived.values() for row in rows}
        kept = [list(zip(s.rows.time.tolist(), s.rows.payload["id"].to_pylist(), strict=True)) for s in segments]
        assert len({row for rows in kept for row in rows}) == sum(map(len, kept))
        assert {row for rows in kept for row in rows} <= arrived
        assert {row for rows in kept for row in rows if self.is_live(row)} == set(filter(self.is_live, arrived))
        assert all(any(map(self.is_live, rows)) for rows in kept)
        assert [number for rows in kept for _, number in rows] == sorted(n for rows in kept for _, n in rows)
        for segment in segments:
            assert segment.rows.keys[0].values.tolist() == [t * 0.5 for t in segment.rows.time.tolist()]
            assert segment.rows.zones == Zones.of(segment.rows.time, segment.rows.keys, segment.rows.rank)
        assert self.panes.rows == sum(map(len, kept))
        assert self.panes.live_rows == sum(map(self.is_live, arrived))

    def _check_parts(self, segments: Iterable[Segment]) -> None:
        parts = parts_of(self.panes)
        assert parts == [part for segment in segments for part in segment.parts]
        assert sorted(parts + self.gone, key=lambda name: int(name[1:])) == list(self.arrived)  # each exactly once
        assert [int(part[1:]) for part in parts] == sorted(int(part[1:]) for part in parts)
        for segment in segments:
            whole = [row for part in segment.parts for row in self.arrived[part]]
            rows = [*zip(segment.rows.time.tolist(), segment.rows.payload["id"].to_pylist(), strict=True)]
            among = set(rows)
            assert [row for row in whole if row in among] == rows
            assert segment.name.split("@")[0] == "-".join(dict.fromkeys((segment.parts[0], segment.parts[-1])))
            assert ("@" in segment.name) == (len(rows) < len(whole))
        assert len({segment.name for segment in segments}) == len(self.panes)

    def check_bounds(self) -> None:
        n = max(1, self.rows)
        live = self.panes.live_rows
        assert len(self.panes) <= 2 * 16 + math.log2(n) + 3
        assert self.panes.rows <= 1.5 * live + self.newest
        width = 32 if self.rank else 24  # time, key, id, rank
        assert self.panes.nbytes <= (1.5 * live + self.newest) * width
        assert self.copies.merged <= n * (math.log2(n) + 2)
        # Two copies for each row left behind, or a little more: a 64th of the rows may be miscounted.
        assert self.copies.compacted <= 2.2 * (self.rows - live)


# Any sequence


times = st.integers(-50, 400)
blocks = st.lists(times, min_size=1, max_size=6) | st.builds(
    lambda t, n: [t + i // 4 for i in range(n)], times, st.integers(1, 60)
)
steps = st.lists(blocks | st.builds(Expire, times), max_size=60)


@given(steps, st.sampled_from([0, 16, SPAN, 10**6]))
@example([[0, 0, 0, 0, 0, 0], [1], [2], [3], Expire(1), [100], Expire(3)], SPAN)
@example([Expire(1), [0, 0, 1], [0]], SPAN)
def test_no_live_row_is_lost_and_no_bound_broken(steps: list[Add | Expire], span: int) -> None:
    model = Model(Panes(span))
    for step in steps:
        model.do(step)
        model.check()


@given(st.lists(st.integers(0, 5), min_size=1, max_size=80), st.data())
def test_rows_expire_by_rank_as_by_time(gaps: list[int], data: st.DataObject) -> None:
    model = Model(Panes(data.draw(st.sampled_from([0, SPAN]))), rank=True)
    now = 0
    for gap in gaps:
        model.do([now, now, now + gap][: data.draw(st.integers(1, 3))])
        now += gap
        if data.draw(st.booleans()):
            rank = data.draw(st.integers(0, model.rows))
            model.do(Expire(data.draw(st.none() | st.integers(0, now)), rank))
        model.check()


# Long streams


def in_order(rng: np.random.Generator) -> Iterator[Add | Expire]:
    """Blocks of 20 rows, 50 of them in a window."""
    for i in range(600):
        yield (np.arange(20) + 20 * i).tolist()
        yield Expire(20 * i - 1000)


def single_rows(rng: np.random.Generator) -> Iterator[Add | Expire]:
    for i in range(2000):
        yield [i]
        yield Expire(i - 1000)


def large_and_small(rng: np.random.Generator) -> Iterator[Add | Expire]:
    now = 0
    for _ in range(400):
        size = int(rng.choice([1, 2, 10, 300]))
        yield np.sort(rng.integers(now, now + 20, size)).tolist()
        now += 10
        yield Expire(now - 1000)


def disorder(rng: np.random.Generator) -> Iterator[Add | Expire]:
    """Rows come up to a tenth of a window late."""
    for i in range(600):
        yield (rng.integers(-100, 10, 10) + 10 * i).tolist()
        yield Expire(10 * i - 1100)


def anywhere_in_the_window(rng: np.random.Generator) -> Iterator[Add | Expire]:
    """Single rows from anywhere in the window: no two neighbours belong together."""
    for i in range(2000):
        yield [int(rng.integers(i - 1000, i + 1))]
        yield Expire(i - 1000)


def two_sources(rng: np.random.Generator) -> Iterator[Add | Expire]:
    """Two sources by turns, one half a window behind the other."""
    for i in range(600):
        yield [10 * i + k for k in range(10)]
        yield [10 * i - 500 + k for k in range(10)]
        yield Expire(10 * i - 1000)


def late_arrivals(rng: np.random.Generator) -> Iterator[Add | Expire]:
    """A stream in order; now and then a block, small or large, from the far end of the window."""
    for i in range(800):
        yield [10 * i + k for k in range(10)]
        if i % 50 == 10:
            yield [10 * i - 990] * int(rng.choice([1, 400]))
        yield Expire(10 * i - 1000)


def ahead_of_time(rng: np.random.Generator) -> Iterator[Add | Expire]:
    """A clock that runs ages ahead, once and then now and then."""
    for i in range(800):
        yield [10 * i + k for k in range(10)] + ([10**9] if i in (20, 300, 301, 500) else [])
        yield Expire(10 * i - 1000)


def bursts(rng: np.random.Generator) -> Iterator[Add | Expire]:
    """Most rows fall into few moments, and the window moves through them slowly."""
    for i in range(150):
        yield np.sort(rng.integers(100 * i, 100 * i + 60, 500 if i % 30 == 0 else 2)).tolist()
        for step in range(5):
            yield Expire(100 * i - 1000 + 20 * step)


def no_watermark(rng: np.random.Generator) -> Iterator[Add | Expire]:
    """Time runs on for a hundred windows before anything expires."""
    for i in range(2000):
        yield [50 * i, 50 * i + 20]
    for i in range(0, 2000, 10):
        yield Expire(50 * i)


def backwards(rng: np.random.Generator) -> Iterator[Add | Expire]:
    for i in range(1000, 0, -1):
        yield [10 * i, 10 * i + 1]
    for i in range(0, 1000, 7):
        yield Expire(10 * i)


def one_moment(rng: np.random.Generator) -> Iterator[Add | Expire]:
    for _ in range(2000):
        yield [5]
    yield Expire(5)
    yield Expire(6)


def gaps(rng: np.random.Generator) -> Iterator[Add | Expire]:
    """Silence of any length between blocks."""
    now = 0
    for _ in range(800):
        now += int(rng.pareto(0.5)) if rng.random() < 0.3 else 3
        yield [now, now + 1]
        yield Expire(now - 1000)


STREAMS = [
    in_order, single_rows, large_and_small, disorder, anywhere_in_the_window, two_sources, late_arrivals,
    ahead_of_time, bursts, no_watermark, backwards, one_moment, gaps,
]  # fmt: skip


@pytest.mark.parametrize("stream", STREAMS)
def test_long_streams_stay_within_bounds(stream: Callable[[np.random.Generator], Iterator[Add | Expire]]) -> None:
    model = Model(Panes(1000))
    for i, step in enumerate(stream(np.random.default_rng(7))):
        model.do(step)
        model.check() if i % 100 == 0 else model.check_bounds()
    model.check()
    model.do(Expire(2**63))
    assert (len(model.panes), model.panes.rows, model.panes.nbytes) == (0, 0, 0)
    assert sorted(model.gone) == sorted(model.arrived)


def test_a_stream_in_order_makes_basic_windows_and_is_never_copied_for_expiry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held, "_find_quantiles", None)  # zone maps and counts are enough
    model = Model(Panes(1600))
    most = 0
    for i in range(2000):
        model.do([4 * i + k for k in range(4)])
        model.do(Expire(4 * i - 1600))
        most = max(most, len(model.panes))
        for segment in model.panes.segments:
            assert segment.low.time is not None
            assert segment.high.time is not None
            assert segment.high.time - segment.low.time <= 1600 // 16
    assert model.copies.compacted == 0
    assert model.panes.rows <= model.panes.live_rows * (1 + 1 / 16)
    assert most <= 16 + 2 + math.log2(25)  # closed panes, the oldest of them in part; 25 blocks a pane
    assert model.copies.merged <= model.rows * (math.log2(25) + 1)


def test_a_wide_block_is_a_pane_of_its_own() -> None:
    #  front      0    100      300 302    |  a pane is 10 long
    #  blocks     l0   l1----------l1 l2
    model = Model(Panes(SPAN))
    for block in ([0], [100, 200, 300], [302]):
        model.do(block)
    assert [segment.parts for segment in model.panes.segments] == [("l0",), ("l1",), ("l2",)]


def test_a_late_block_joins_the_open_pane_and_does_not_part_its_neighbours() -> None:
    #  front    0  1  2  3       |  l2 comes 150 late
    #  blocks   l0 l1 l2 l3
    model = Model(Panes(SPAN))
    for block in ([150], [151], [1], [152]):
        model.do(block)
    assert [segment.parts for segment in model.panes.segments] == [("l0", "l1", "l2", "l3")]
    assert model.panes.expire(100) == []
    assert model.panes.live_rows == 3


def test_a_pane_that_begins_with_late_rows_is_as_long_as_others() -> None:
    #  front    161 170 | 172 175       |  l2 also brings a row that is 150 late
    #  blocks   l0  l1  | l2  l3
    model = Model(Panes(SPAN))
    for block in ([161], [170], [20, 172], [175]):
        model.do(block)
    assert [segment.parts for segment in model.panes.segments] == [("l0", "l1"), ("l2",), ("l3",)]
    model.do([176, 177])
    assert [segment.parts for segment in model.panes.segments] == [("l0", "l1"), ("l2", "l3", "l4")]


def test_panes_are_longer_where_watermarks_come_so_late_that_more_than_a_window_is_held() -> None:
    model = Model(Panes(100))
    most = 0
    for i in range(1500):
        model.do([4 * i + k for k in range(4)])
        model.do(Expire(4 * i - 1600))
        most = max(most, len(model.panes)) if i > 800 else 0
    assert most <= 16 + 2 + math.log2(25)
    assert model.copies.compacted == 0


# Expiry


def test_expired_rows_are_left_where_they_are_few_in_all() -> None:
    model = Model(Panes(SPAN))
    model.do([0] + [100] * 99)
    model.do([0, 0, 100])
    model.do(Expire(50))
    assert [len(segment) for segment in model.panes.segments] == [100, 3]
    assert model.copies.compacted == 0


def test_expired_rows_are_left_behind_where_they_are_many() -> None:
    model = Model(Panes(SPAN))
    model.do([0] + [100] * 63)
    model.do([0] * 50 + [100] * 10)
    model.do(Expire(50))
    assert [(segment.name, len(segment)) for segment in model.panes.segments] == [("l0", 64), ("l1@t50", 10)]
    assert model.copies.compacted == 10


class Untouchable:
    """Rows of which only the zone map may be looked at."""

    def __init__(self, zones: Zones) -> None:
        self.zones = zones

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"looked at {name} of rows that are gone")

    def __len__(self) -> int:
        raise AssertionError("counted rows that are gone")


def test_rows_that_go_are_not_looked_at() -> None:
    panes = Panes(SPAN)
    for i in range(40):
        panes.add(Segment(f"l{i}", stamped([5 * i + k for k in range(5)])))
    for segment in panes.segments:
        assert segment.high.time is not None
        if segment.high.time < 100:
            object.__setattr__(segment, "rows", Untouchable(segment.rows.zones))
    gone = panes.expire(100)
    assert len(gone) > 10
    assert panes.live_rows == 100


def test_names_that_are_gone_are_told_once() -> None:
    panes = Panes(SPAN)
    for i in range(4):
        panes.add(Segment(f"l{i}", stamped([100 * i])))
    assert panes.expire(None) == []
    assert panes.expire(150) == ["l0", "l1"]
    assert panes.expire(150) == []
    assert panes.expire(20) == []  # a limit does not move back
    assert panes.add(Segment("l4", stamped([149, 20]))) == ["l4"]
    assert panes.add(Segment("l5", stamped([]))) == ["l5"]
    assert panes.expire(2**63) == ["l2", "l3"]
    assert panes.add(Segment("l6", stamped([2**63 - 1]))) == ["l6"]


def test_a_negative_span_is_refused() -> None:
    with pytest.raises(StreamJoinError, match="span: expected microseconds, 0 or more; got -1"):
        Panes(-1)


# Indexes


def test_an_index_is_built_once_and_only_for_what_is_asked_for() -> None:
    built = []

    def prepare(segment: Segment) -> Segment:
        built.append(segment.name)
        return replace(segment, index={"order": np.argsort(segment.rows.time)})

    panes = Panes(SPAN, prepare=prepare)
    for i in range(3):
        panes.add(Segment(f"l{i}", stamped([i])))
    assert built == []
    assert [list(segment.index) for segment in panes.segments] == [["order"], ["order"]]
    assert built == ["l0-l1", "l2"]
    assert panes.segments[0] is panes.segments[0]
    panes.add(prepare(Segment("l3", stamped([100]))))
    built.clear()
    assert [list(segment.index) for segment in panes.segments] == [["order"]] * 2
    assert built == ["l0-l2"]  # the pane closed; l3 came with its index


def test_an_index_may_be_empty() -> None:
    built = []
    panes = Panes(SPAN, prepare=lambda segment: built.append(segment.name) or segment)  # type: ignore[func-returns-value]
    panes.add(Segment("l0", stamped([1])))
    assert panes.segments == panes.segments
    assert built == ["l0"]


# State


@given(steps, st.integers(0, 60), st.booleans())
def test_panes_are_restored_from_what_arrived(steps: list[Add | Expire], cut: int, use_cache: bool) -> None:
    model = Model(Panes(SPAN))
    for step in steps[:cut]:
        model.do(step)
    manifest = json.loads(json.dumps(model.panes.to_manifest()))
    merged = {segment.name: segment for segment in model.panes.segments}

    def fetch(name: str) -> Segment:
        assert name in parts_of(model.panes), "what was said to be gone is asked for"
        return Segment.from_bytes(model.stored[name].to_bytes(), name)

    again = Panes.restore(manifest, fetch, cached=merged.get if use_cache else None)
    for step in [None, *steps[cut:]]:
        if isinstance(step, Expire):
            assert again.expire(step.time, step.rank) == model.panes.expire(step.time, step.rank)
        elif step is not None:
            model.do(step)
            again.add(model.stored[f"l{len(model.arrived) - 1}"])
        assert [(s.name, s.parts, s.rows.zones) for s in again.segments] == [
            (s.name, s.parts, s.rows.zones) for s in model.panes.segments
        ]
        for mine, other in zip(again.segments, model.panes.segments, strict=True):
            assert mine.to_bytes() == other.to_bytes()
        assert again.to_manifest() == model.panes.to_manifest()


def test_a_manifest_does_not_grow_with_the_stream() -> None:
    model = Model(Panes(16_000))
    for i in range(4000):
        model.do([i, i])
        if i in (500, 3999):
            size = len(json.dumps(model.panes.to_manifest()))
            assert size < 220 * len(model.panes) + 200
    assert len(parts_of(model.panes)) == 4000


def test_a_cached_segment_saves_fetching_its_parts() -> None:
    model = Model(Panes(SPAN))
    for i in range(6):
        model.do([i])
    segments = {segment.name: segment for segment in model.panes.segments}
    fetched = []
    Panes.restore(
        model.panes.to_manifest(), lambda name: fetched.append(name) or model.stored[name], cached=segments.get
    )  # type: ignore[func-returns-value]
    assert list(segments) == ["l0-l3", "l4-l5"]
    assert fetched == []


def test_rows_that_do_not_fit_the_manifest_are_an_error() -> None:
    model = Model(Panes(SPAN))
    for i in range(3):
        model.do([i])
    other = {name: Segment(name, stamped([1, 2])) for name in model.stored}
    with pytest.raises(SegmentError, match=r"^segment l0-l1: has 4 rows; the manifest says 2$"):
        Panes.restore(model.panes.to_manifest(), other.__getitem__)
    with pytest.raises(SegmentError, match=r"^segment l0-l1: has 1 rows; the manifest says 2$"):
        Panes.restore(model.panes.to_manifest(), other.__getitem__, cached=lambda name: model.stored["l0"])


# Limits


@pytest.mark.parametrize("gap", [0.1, 5])
def test_what_is_too_large_is_not_merged(gap: float, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (held, panes_module):
        monkeypatch.setattr(module, "MOST_BYTES", 24 * 40)
    model = Model(Panes(16))
    for i in range(300):
        model.do([int(gap * i)] * 7)
        assert max(segment.nbytes for segment in model.panes.segments) <= 24 * 40
    model._check_rows(model.panes.segments)
    assert panes_module.MOST_CLOSED < len(model.panes) <= 300 * 7 / 20  # two neighbours are more than 40 rows
