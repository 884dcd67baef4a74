"""One process at a time makes a file."""

import fcntl
import logging
import threading
from pathlib import Path

import pytest

from streamjoin.compile import lock as locks
from streamjoin.compile.lock import alone


def test_nothing_is_locked_where_the_file_is_there(tmp_path: Path) -> None:
    with alone(tmp_path / "missing" / "lock", lambda: True):
        assert not list(tmp_path.iterdir())


def test_the_lock_goes_with_the_work(tmp_path: Path) -> None:
    with alone(tmp_path / "lock", lambda: False):
        assert [path.name for path in tmp_path.iterdir()] == ["lock"]
    assert not list(tmp_path.iterdir())


def test_a_failure_lets_the_next_one_try(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="broken"), alone(tmp_path / "lock", lambda: False):
        raise ValueError("broken")
    with alone(tmp_path / "lock", lambda: False):
        pass


def test_one_works_and_the_others_find_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    made, inside, most = tmp_path / "made", 0, 0
    work = []

    def make() -> None:
        nonlocal inside, most
        with alone(tmp_path / "lock", made.exists):
            if made.exists():
                return
            inside += 1
            most = max(most, inside)
            work.append(threading.get_ident())
            threading.Event().wait(0.2)  # the others have come by then
            made.touch()
            inside -= 1

    threads = [threading.Thread(target=make) for _ in range(8)]
    with caplog.at_level(logging.INFO, "streamjoin"):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert (len(work), most) == (1, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["made"]
    assert "waiting for another process" in caplog.text


def test_a_holder_that_is_stuck_is_not_waited_for_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """One that was stopped with Ctrl-Z, or hangs on another host."""
    monkeypatch.setattr(locks, "PATIENCE_SECONDS", 0.1)
    with (tmp_path / "lock").open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with alone(tmp_path / "lock", lambda: False):
            pass
    assert "compiling without it" in caplog.text
