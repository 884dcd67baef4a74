import fcntl
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import NAMESPACE_OID, uuid5

import pytest

from streamjoin import StreamJoinError
from streamjoin.pane import Segment
from streamjoin.spark import budget, cache, cachedir
from streamjoin.spark.cache import CacheSpec, SegmentCache, remove
from tests.segments import everything, plain, stamped
from tests.spark.damage import DAMAGES, damage

SEGMENT = Segment("l1", everything())
PLENTY = 1 << 30


@pytest.fixture(autouse=True)
def fresh_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As in a Python worker that has not yet served any query."""
    for module, name in ((cache, "_verified"), (cache, "_warned"), (budget, "_sizes")):
        monkeypatch.setattr(module, name, {})
    monkeypatch.setattr(cachedir, "_locks", locks := {})
    yield
    for lock in locks.values():
        os.close(lock)


@pytest.fixture
def spec(tmp_path: Path) -> CacheSpec:
    return CacheSpec(str(tmp_path / "cache"), PLENTY)


def query(name: str) -> str:
    """The id of a query."""
    return str(uuid5(NAMESPACE_OID, name))


QUERY = query("query")


def cell(spec: CacheSpec, query: str = QUERY, join: str = "join", number: int = 0, cells: int = 1) -> SegmentCache:
    return SegmentCache(spec, query, join, number, cells)


def only_file(spec: CacheSpec) -> Path:
    [found] = [path for path in spec.root.glob("*/*/*/*") if path.is_file()]
    return found


def test_a_segment_comes_back_as_it_was_put(spec: CacheSpec) -> None:
    digest = cell(spec).put(SEGMENT)
    assert digest
    again = cell(spec)
    found = again.get("l1", digest)
    assert found
    assert plain(found.rows) == plain(SEGMENT.rows)
    again.check()
    again.close()
    assert plain(found.rows) == plain(SEGMENT.rows)  # still mapped


def test_a_segment_is_found_under_its_name_content_cell_join_and_query_alone(spec: CacheSpec) -> None:
    digest = cell(spec).put(SEGMENT)
    assert digest
    assert digest != cell(spec, query=query("other")).put(Segment("l1", stamped([1, 2])))
    assert cell(spec).get("l1", "0" * 16) is None
    assert cell(spec).get("l2", digest) is None
    assert cell(spec, query=query("another")).get("l1", digest) is None
    assert cell(spec, join="other").get("l1", digest) is None
    assert cell(spec, number=1).get("l1", digest) is None


@pytest.mark.parametrize("kind", [kind for kind in DAMAGES if kind != "swapped"])
@pytest.mark.parametrize("known", [True, False], ids=["verified before", "seen for the first time"])
def test_a_damaged_file_is_not_taken_and_goes(spec: CacheSpec, kind: str, known: bool) -> None:
    digest = cell(spec).put(SEGMENT)
    assert digest
    if known:
        assert cell(spec).get("l1", digest)
    time.sleep(0.02)  # a file system keeps time in steps
    assert damage(only_file(spec), kind, random.Random(1))
    after = cell(spec)
    assert after.get("l1", digest) is None
    assert not list(spec.root.glob("*/*/*/*"))
    assert cell(spec).put(SEGMENT) == digest
    assert cell(spec).get("l1", digest)


def test_another_segment_under_the_name_of_this_one_is_not_taken(spec: CacheSpec) -> None:
    digest = cell(spec).put(SEGMENT)
    assert digest
    Segment("l1", stamped([1, 2])).write(only_file(spec))
    assert cell(spec).get("l1", digest) is None


def test_a_directory_under_the_name_of_a_segment_is_not_taken(spec: CacheSpec) -> None:
    digest = cell(spec).put(SEGMENT)
    assert digest
    path = only_file(spec)
    path.unlink()
    path.mkdir()
    assert cell(spec).get("l1", digest) is None


def test_a_file_changed_while_it_is_in_use_fails_the_batch_once(spec: CacheSpec) -> None:
    digest = cell(spec).put(SEGMENT)
    assert digest
    batch = cell(spec)
    assert batch.get("l1", digest)
    time.sleep(0.02)
    assert damage(only_file(spec), "bit flipped", random.Random(1))
    with pytest.raises(StreamJoinError, match="was changed by somebody else while it was in use"):
        batch.check()
    batch.close()
    retry = cell(spec)
    assert retry.get("l1", digest) is None
    retry.check()


def test_a_file_deleted_while_it_is_in_use_does_no_harm(spec: CacheSpec) -> None:
    digest = cell(spec).put(SEGMENT)
    assert digest
    batch = cell(spec)
    found = batch.get("l1", digest)
    assert found
    only_file(spec).unlink()
    batch.check()
    assert plain(found.rows) == plain(SEGMENT.rows)
    batch.close()


def test_a_sweep_keeps_what_it_is_told_to_keep(spec: CacheSpec) -> None:
    own = cell(spec)
    digests = {name: own.put(Segment(name, stamped([1, 2]))) for name in ("l1", "l2", "r1")}
    other = cell(spec, number=1).put(SEGMENT)
    (only := next(spec.root.glob("*/*/0"))).joinpath(".l9~draft").write_bytes(b"of a process that was killed")
    own.sweep([("l2", digests["l2"] or "")])
    assert [path.name for path in only.iterdir()] == [f"l2~{digests['l2']}"]
    assert cell(spec, number=1).get("l1", other or "")


def test_without_a_place_to_write_nothing_is_cached_and_nothing_fails(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")
    nowhere = CacheSpec(str(tmp_path / "file"), PLENTY)
    own = cell(nowhere)
    assert own.put(SEGMENT) is None
    assert own.get("l1", "0" * 16) is None
    own.sweep([])
    own.check()


def test_a_removed_directory_is_made_anew_and_locked(spec: CacheSpec) -> None:
    cell(spec).put(SEGMENT)
    remove(spec, QUERY)
    assert not (spec.root / QUERY).exists()
    assert cell(spec).put(SEGMENT)
    with (spec.root / QUERY / "lock").open("rb") as lock, pytest.raises(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
