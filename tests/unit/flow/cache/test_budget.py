"""How large the cache grows, and what it costs once it is full."""

import os
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from streamjoin.flow.cache import CacheSpec, budget
from streamjoin.flow.cache import segments as cache
from streamjoin.flow.cache.budget import PART_OF_DISK
from streamjoin.pane import Segment
from tests.segments import stamped
from tests.unit.flow.cache.cells import cell, query, segments

SEGMENT = Segment("l1", stamped(range(1000)))
SIZE = SEGMENT.bound_size()


class Disk:
    """A disk with so many bytes for the cache and what is free; others may take some."""

    def __init__(self, spec: CacheSpec, size: int) -> None:
        self.spec, self.size = spec, size

    @property
    def used(self) -> int:
        return sum(path.stat().st_size for path in segments(self.spec))

    def statvfs(self, path: Path) -> Any:
        assert path == self.spec.root
        return SimpleNamespace(f_bavail=self.size - self.used, f_frsize=1)


@pytest.fixture
def spec(tmp_path: Path) -> CacheSpec:
    return CacheSpec(str(tmp_path / "cache"), None)


@pytest.fixture
def disk(spec: CacheSpec, monkeypatch: pytest.MonkeyPatch) -> Disk:
    disk = Disk(spec, 10 * PART_OF_DISK * SIZE)
    monkeypatch.setattr(budget.os, "statvfs", disk.statvfs)
    return disk


def fill(spec: CacheSpec, number: int, names: int, query: str) -> int:
    """Put so many segments into a cell, in one batch; how many found room."""
    own = cell(spec, query=query, number=number)
    return sum(own.put(Segment(f"l{name}", SEGMENT.rows)) is not None for name in range(names))


def test_all_cells_and_queries_together_take_a_quarter_of_the_disk(spec: CacheSpec, disk: Disk) -> None:
    for batch in range(3):  # the bound neither moves nor swings as files come
        for number, name in ((0, "one"), (1, "one"), (0, "other")):
            fill(spec, number, 4 * (batch + 1), query(name))
            assert disk.used <= disk.size // PART_OF_DISK
    assert disk.used > 0.9 * disk.size // PART_OF_DISK


def test_room_that_others_free_is_used_and_what_they_take_is_left_to_them(spec: CacheSpec, disk: Disk) -> None:
    assert fill(spec, 0, 20, query("q")) == 10
    disk.size //= 2
    assert fill(spec, 1, 1, query("q")) == 0
    disk.size *= 4
    assert fill(spec, 1, 1, query("q")) == 1


def test_a_full_disk_leaves_no_room(spec: CacheSpec, disk: Disk) -> None:
    disk.size = 0
    assert fill(spec, 0, 1, query("q")) == 0


def test_files_are_measured_again_only_where_something_changed(
    spec: CacheSpec, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        fill(spec, number, 1, query("q"))
    for directory in spec.root.glob("*/*/*"):
        os.utime(directory, ns=(1, 1))  # so that a change is seen, however soon it comes
    looked: list[str] = []
    measure = budget._measure
    monkeypatch.setattr(budget, "_measure", lambda directory: looked.append(str(directory)) or measure(directory))
    fill(spec, 0, 1, query("q"))
    assert len(looked) == 5
    looked.clear()
    fill(spec, 1, 1, query("q"))
    assert [Path(path).name for path in looked] == ["0"]


@pytest.mark.parametrize("share", [0, 1, 2])
def test_a_setting_gives_each_cell_an_equal_part_that_it_never_passes(tmp_path: Path, share: int) -> None:
    spec = CacheSpec(str(tmp_path / "cache"), 3 * share * SIZE)
    for number in range(3):
        own = cell(spec, number=number, cells=3)
        found = [own.put(Segment(f"l{name}", SEGMENT.rows)) for name in range(4)]
        assert sum(written is not None for written in found) == share
    assert sum(path.stat().st_size for path in segments(spec)) <= spec.most_bytes


def test_the_setting_counts_beside_what_older_batches_wrote(tmp_path: Path) -> None:
    spec = CacheSpec(str(tmp_path / "cache"), 2 * SIZE)
    for number in range(4):
        written = cell(spec).put(Segment(f"l{number}", SEGMENT.rows))
        assert (written is not None) == (number < 2)


def test_a_full_cache_warns_once_a_query_and_says_what_to_do(
    spec: CacheSpec, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        for name in ("one", "other"):
            fill(spec, 0, 20, query(name))
    assert len(caplog.records) == 2
    told = caplog.records[0].getMessage()
    for part in (f"{disk.size // PART_OF_DISK:,} bytes", str(spec.root), "'join'", "cache.maxBytes", "cache.directory"):
        assert part in told


def test_what_finds_no_room_is_neither_packed_nor_hashed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = CacheSpec(str(tmp_path / "cache"), 2 * SIZE)
    calls: Counter[str] = Counter()
    pack, read_digest = Segment.pack, cache.read_digest

    def counting_pack(segment: Segment) -> Any:
        calls["pack"] += 1
        return pack(segment)

    def counting_digest(buffer: Any) -> str:
        calls["read_digest"] += 1
        return read_digest(buffer)

    monkeypatch.setattr(Segment, "pack", counting_pack)
    monkeypatch.setattr(cache, "read_digest", counting_digest)
    known: dict[str, str] = {}
    for _ in range(10):  # batches, each of which holds the same segments, as the cell stores them
        own = cell(spec)
        for name in (f"l{number}" for number in range(5)):
            if name not in known and (written := own.put(Segment(name, SEGMENT.rows))):
                known[name] = written
    assert calls == {"pack": 2, "read_digest": 2}
