"""The cache's directory: nobody else's files are ever deleted, and nobody else's are taken for ours."""

import fcntl
import logging
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from streamjoin.flow.cache import CacheSpec, directory
from streamjoin.flow.cache.directory import ABANDONED_SECONDS, MARK, remove
from tests.unit.flow.cache.cells import PLENTY, QUERY, SEGMENT, cell, query

SOMEBODY = 54321
OLD, YOUNG = ABANDONED_SECONDS + 60, ABANDONED_SECONDS - 60
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")


def left_behind(directory: Path, age: float, lock: bytes = MARK) -> Path:
    """A directory with a segment and a lock that was last touched so long ago."""
    directory.mkdir(mode=0o700, parents=True)
    (directory / "l1~0").write_bytes(b"a segment, or somebody's data")
    (directory / "lock").write_bytes(lock)
    os.utime(directory / "lock", (time.time() - age, time.time() - age))
    return directory


# What goes


def test_what_was_abandoned_long_ago_is_removed_by_the_next_query(spec: CacheSpec) -> None:
    old = left_behind(spec.root / query("old"), OLD)
    recent = left_behind(spec.root / query("recent"), YOUNG)
    cell(spec)
    assert not old.exists()
    assert recent.exists()


def test_what_another_process_uses_stays_however_old(spec: CacheSpec) -> None:
    used = left_behind(spec.root / query("used"), 10 * OLD)
    program = f"""
import fcntl, sys
lock = open({str(used / "lock")!r}, "ab")
fcntl.flock(lock, fcntl.LOCK_SH)
print("locked", flush=True)
sys.stdin.read()
"""
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == b"locked\n"
        cell(spec, query=query("first"))
        assert used.exists()
        holder.kill()
    cell(spec, query=query("second"))
    assert not used.exists()


def is_locked(lock: Path) -> bool:
    with lock.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_a_process_that_serves_a_query_holds_its_lock(spec: CacheSpec) -> None:
    cell(spec)
    assert is_locked(spec.root / QUERY / "lock")


def test_a_query_that_goes_on_stays_young(spec: CacheSpec) -> None:
    cell(spec)
    lock = spec.root / QUERY / "lock"
    os.utime(lock, (0, 0))
    cell(spec)
    assert time.time() - lock.stat().st_mtime < 60


def test_a_removed_directory_is_made_anew_and_locked(spec: CacheSpec) -> None:
    cell(spec).put(SEGMENT)
    remove(spec.root, QUERY)
    assert not (spec.root / QUERY).exists()
    assert cell(spec).put(SEGMENT)
    assert is_locked(spec.root / QUERY / "lock")


def test_locks_of_queries_that_ended_are_closed(spec: CacheSpec) -> None:
    for number in range(20):
        cell(spec, query=query(str(number)))
        remove(spec.root, query(str(number)))
    cell(spec)
    assert list(directory._locks) == [spec.root / QUERY / "lock"]


def test_a_cache_that_was_lost_does_not_hinder_another(spec: CacheSpec, tmp_path: Path) -> None:
    lost = CacheSpec(str(tmp_path / "lost"), spec.most_bytes)
    cell(lost)
    Path(lost.directory).rename(tmp_path / "elsewhere")
    Path(lost.directory).write_text("not a directory")
    assert cell(lost).put(SEGMENT) is None
    assert cell(spec).put(SEGMENT)


def test_whoever_finds_it_can_read_what_it_is(spec: CacheSpec) -> None:
    cell(spec)
    told = (spec.root / "README").read_text()
    assert "To delete it is safe at any time" in told
    assert "spark.streamjoin.cache.directory" in told


# What stays


@pytest.mark.parametrize("name", ["models", query("theirs")])
def test_a_directory_beside_ours_stays_whatever_its_lock_is(spec: CacheSpec, name: str) -> None:
    beside = left_behind(Path(spec.directory) / name, OLD)
    cell(spec)
    assert (beside / "l1~0").exists()


@pytest.mark.parametrize(
    ("name", "lock"),
    [
        pytest.param("models", MARK, id="named otherwise"),
        pytest.param(query("theirs"), b"", id="an empty lock"),
        pytest.param(query("theirs"), b"pid 17", id="another lock"),
    ],
)
def test_a_directory_inside_ours_without_name_and_mark_stays(spec: CacheSpec, name: str, lock: bytes) -> None:
    inside = left_behind(spec.root / name, OLD, lock)
    cell(spec)
    if name == query("theirs"):
        remove(spec.root, name)
        assert cell(spec, query=name).put(SEGMENT) is None
    assert (inside / "l1~0").exists()
    assert (inside / "lock").read_bytes() == lock


def test_a_directory_without_lock_stays_and_is_not_used(spec: CacheSpec, caplog: pytest.LogCaptureFixture) -> None:
    mine = spec.root / QUERY / "mine"
    mine.mkdir(mode=0o700, parents=True)
    assert cell(spec).put(SEGMENT) is None
    assert "holds files that streamjoin did not write" in caplog.text
    remove(spec.root, QUERY)
    cell(spec, query=query("other"))
    assert [path.name for path in (spec.root / QUERY).iterdir()] == ["mine"]


@pytest.mark.parametrize("how", ["abandoned", "ended"])
def test_links_are_deleted_and_not_followed(spec: CacheSpec, tmp_path: Path, how: str) -> None:
    mine = left_behind(tmp_path / "mine", OLD)
    ours = left_behind(spec.root / query("old"), OLD)
    (ours / "link").symlink_to(mine)
    (ours / "join").mkdir()
    (ours / "join" / "link").symlink_to(mine)
    linked = spec.root / query("linked")
    linked.symlink_to(mine)
    for name in ("old", "linked"):
        remove(spec.root, query(name)) if how == "ended" else cell(spec)
    assert not ours.exists()
    assert linked.is_symlink()
    assert (mine / "l1~0").exists()


@pytest.mark.parametrize("name", ["", ".", "..", "../mine", "mine", "/etc", QUERY.upper(), f"{QUERY}/.."])
def test_only_what_bears_the_id_of_a_query_is_removed(spec: CacheSpec, name: str) -> None:
    cell(spec)
    mine = left_behind(spec.root / "mine", OLD)
    beside = left_behind(spec.root.parent / "mine", OLD)
    with pytest.raises(ValueError, match="query: expected the id of a streaming query"):
        remove(spec.root, name)
    assert mine.exists()
    assert beside.exists()
    assert (spec.root / QUERY).exists()


def test_an_interrupted_removal_leaves_the_mark(spec: CacheSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    cell(spec).put(SEGMENT)
    with monkeypatch.context() as patch:
        patch.setattr(directory.shutil, "rmtree", lambda *_, **__: None)  # as if somebody wrote there meanwhile
        remove(spec.root, QUERY)
    [left] = spec.root.glob(f"{QUERY}.*")
    os.utime(left / "lock", (0, 0))
    cell(spec, query=query("later"))
    assert not left.exists()


# Who may write


def test_the_directory_is_for_its_owner_alone(spec: CacheSpec) -> None:
    cell(spec)
    assert spec.root.stat().st_mode & 0o777 == 0o700


def test_a_directory_that_is_missing_is_made_for_its_owner_under_any_umask(tmp_path: Path) -> None:
    before = os.umask(0o002)
    try:
        assert cell(CacheSpec(str(tmp_path / "a" / "b"), PLENTY)).put(SEGMENT)
    finally:
        os.umask(before)


def test_a_directory_for_temporary_files_serves(spec: CacheSpec) -> None:
    Path(spec.directory).mkdir()
    Path(spec.directory).chmod(0o1777)
    assert cell(spec).put(SEGMENT)


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("open to all", "may be written to by others"),
        ("ours open to all", "may be written to by others"),
        pytest.param("another's", "belongs to another user", marks=as_root),
        pytest.param("another's link", "belongs to another user", marks=as_root),
    ],
)
def test_where_others_may_write_nothing_is_cached_and_one_warning_says_why(
    spec: CacheSpec, tmp_path: Path, caplog: pytest.LogCaptureFixture, case: str, reason: str
) -> None:
    digest = cell(spec).put(SEGMENT)
    assert digest
    directory = Path(spec.directory)
    match case:
        case "open to all":
            directory.chmod(0o777)
        case "ours open to all":
            spec.root.chmod(0o777)
        case "another's":
            os.chown(directory, SOMEBODY, SOMEBODY)
        case "another's link":
            directory.rename(tmp_path / "real")
            directory.symlink_to(tmp_path / "real")
            os.chown(directory, SOMEBODY, SOMEBODY, follow_symlinks=False)
    caplog.set_level(logging.WARNING)
    for _ in range(3):
        own = cell(spec)
        assert own.get("l1", digest) is None
        assert own.put(SEGMENT) is None
        own.sweep([])
        own.check()
        own.close()
    [record] = caplog.records
    assert reason in record.getMessage()
    assert "Set spark.streamjoin.cache.directory" in record.getMessage()


def test_a_query_that_starts_anew_while_its_directory_is_deleted_has_a_cache(
    spec: CacheSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end of a query is told late: another run with the same id may have begun."""
    assert cell(spec).put(SEGMENT)
    plain, digests = directory.shutil.rmtree, []

    def begin_anew(path: Path, **options: bool) -> None:
        digests.append(cell(spec).put(SEGMENT))
        plain(path, **options)

    monkeypatch.setattr(directory.shutil, "rmtree", begin_anew)
    remove(spec.root, QUERY)
    assert digests != [None]
    assert cell(spec).get("l1", digests[0])
    assert [path.name for path in spec.root.iterdir() if path.is_dir()] == [QUERY]


def test_a_lock_that_somebody_deleted_is_made_anew(spec: CacheSpec) -> None:
    assert cell(spec).put(SEGMENT)
    (spec.root / QUERY / "lock").unlink()
    assert cell(spec).put(SEGMENT)
    remove(spec.root, QUERY)
    assert not (spec.root / QUERY).exists()
