import random
import time
from pathlib import Path
from typing import Any

import pytest

from streamjoin import StreamJoinError
from streamjoin.flow.cache import CacheSpec
from streamjoin.flow.cache import segments as cache
from streamjoin.pane import Segment
from tests.segments import plain, stamped, write
from tests.spark.damage import DAMAGES, damage
from tests.unit.flow.cache.cells import PLENTY, SEGMENT, cell, only_file, query, segments


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
    write(Segment("l1", stamped([1, 2])), only_file(spec))
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


def test_a_link_under_the_name_of_a_segment_is_not_followed(spec: CacheSpec, tmp_path: Path) -> None:
    digest = cell(spec).put(SEGMENT)
    assert digest
    path = only_file(spec)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert cell(spec).get("l1", digest) is None


def test_a_sweep_leaves_what_is_no_segment(spec: CacheSpec) -> None:
    cell(spec).put(SEGMENT)
    notes = only_file(spec).with_name("notes.txt")
    notes.write_text("mine")
    cell(spec).sweep([])
    assert segments(spec) == [notes]


def test_a_link_in_place_of_a_cell_s_directory_is_not_swept(
    spec: CacheSpec, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cell(spec)
    [directory] = spec.root.glob("*/*/0")
    (tmp_path / "mine").mkdir()
    mine = tmp_path / "mine" / "l1~mine"
    mine.write_text("mine")
    directory.rmdir()
    directory.symlink_to(mine.parent)
    linked = cell(spec)
    linked.sweep([])
    assert linked.put(SEGMENT) is None
    assert mine.exists()
    assert "is a link" in caplog.text


def test_what_a_process_remembers_of_verified_files_is_bounded(
    spec: CacheSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "MOST_VERIFIED", 100)
    old: list[tuple[str, str]] = []
    for batch in range(300):  # each by another process, as far as this one knows: what it deletes is not seen here
        own, now = cell(spec), []
        for number in range(10):
            name = f"l{10 * batch + number}"
            now.append((name, own.put(Segment(name, stamped([batch, number]))) or ""))
            assert own.get(*now[-1])
        for path in segments(spec):
            if path.name in {"~".join(entry) for entry in old}:
                path.unlink()
        own.close()
        old = now
    assert len(cache._verified) == 100
    assert all(str(path) in cache._verified for path in segments(spec))


def test_a_file_in_use_is_verified_once_however_many_others_come(
    spec: CacheSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "MOST_VERIFIED", 10)
    read = Segment.from_bytes
    verified: list[str] = []

    def counting(buffer: Any, name: str, *, verify: bool = True) -> Segment:
        verified.extend([name] if verify else [])
        return read(buffer, name, verify=verify)

    monkeypatch.setattr(Segment, "from_bytes", counting)
    steady = cell(spec).put(SEGMENT) or ""
    for number in range(2, 30):
        own = cell(spec)
        name = f"l{number}"
        assert own.get("l1", steady)
        assert own.get(name, own.put(Segment(name, stamped([number]))) or "")
        own.close()
    assert verified.count("l1") == 1
