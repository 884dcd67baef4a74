"""A process that compiles ahead: what it does, and that it does no harm."""

import io
import logging
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from streamjoin.compile import ahead
from streamjoin.compile.lock import alone
from streamjoin.compile.modules import load

ENTRY = "@on_disk('int64()')\ndef entry():\n    return 5\n"


@pytest.fixture(autouse=True)
def _empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STREAMJOIN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(ahead, "_started", set())


def launched(started: ahead.Ahead | None) -> "subprocess.Popen[bytes]":
    assert started is not None
    while started.process is None:
        assert started.is_alive()
        time.sleep(0.01)
    return started.process


def finish(started: ahead.Ahead | None) -> int:
    process = launched(started)
    assert started is not None
    started.join(timeout=120)
    assert process.returncode is not None
    return process.returncode


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_it_says_what_it_does_and_is_silent_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with caplog.at_level(logging.INFO, "streamjoin"):
        assert finish(ahead.start(load, ENTRY, "entry", outline="one")) == 0
    first, second = terminal.getvalue().splitlines()
    assert first == "streamjoin: compiling this join's kernels, once on this machine ..."
    assert second.startswith("streamjoin: compiled 1 kernel in ")
    assert [f"streamjoin: {record.getMessage()}" for record in caplog.records] == [first, second]
    assert len(list(tmp_path.glob("*.code"))) == 1
    monkeypatch.setattr(ahead, "_started", set())  # as another program would find it
    assert ahead.start(load, ENTRY, "entry", outline="one") is None
    assert finish(ahead.start(load, ENTRY, "entry", outline="all of it is there")) == 0
    assert len(terminal.getvalue().splitlines()) == 2


def test_one_process_for_one_outline_and_one_at_a_time() -> None:
    first = ahead.start(time.sleep, 60, outline="one")
    assert ahead.start(time.sleep, 60, outline="one") is None
    process = launched(first)
    second = ahead.start(time.sleep, 0, outline="two")
    assert second is not None
    second.join(timeout=0.5)
    assert second.process is None  # it waits for its turn
    process.kill()
    assert finish(second) == 0


@pytest.mark.parametrize("harm", ["raises", "is killed"])
def test_one_that_fails_leaves_no_mark(tmp_path: Path, caplog: pytest.LogCaptureFixture, harm: str) -> None:
    with caplog.at_level(logging.INFO, "streamjoin"):
        started = ahead.start(*((os.kill, os.getpid()) if harm == "raises" else (time.sleep, 60)), outline=harm)
        if harm == "is killed":
            launched(started).kill()
        assert finish(started) != 0
    assert "ended early" in caplog.text
    assert not list(tmp_path.iterdir())
    assert load(ENTRY, "entry")() == 5


def test_one_killed_while_it_compiles_holds_up_nobody(tmp_path: Path) -> None:
    """Its lock ends with it, though the file stays: somebody else compiles."""
    lock = tmp_path / "lock"
    program = (
        "import sys, time\nfrom pathlib import Path\nfrom streamjoin.compile.lock import alone\n"
        "with alone(Path(sys.argv[1]), lambda: False):\n    print('in', flush=True)\n    time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(lock)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"in\n"
        holder.kill()
    assert lock.exists()
    with alone(lock, lambda: False):
        pass
    assert not lock.exists()


def test_it_ends_with_the_program_that_started_it(tmp_path: Path) -> None:
    program = (
        "import os, time\nfrom streamjoin.compile.ahead import start\nahead = start(time.sleep, 100, outline='long')\n"
        "while ahead.process is None: time.sleep(0.01)\n"
        "print(ahead.process.pid, flush=True)\nos.abort() if {abort} else None"
    )
    for abort in (True, False):
        run = subprocess.run(
            [sys.executable, "-c", program.format(abort=abort)], capture_output=True, text=True, timeout=60, check=False
        )
        pid = int(run.stdout)
        for _ in range(200):
            if not _runs(pid):
                break
            time.sleep(0.05)
        assert not _runs(pid), abort
        assert abort or run.returncode == 0
        assert not run.stderr


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0] != "Z"
    except OSError:
        return False


def test_nothing_is_started_without_the_compiler() -> None:
    program = "from streamjoin.compile.ahead import start; print(start(print, outline=''))"
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True)
    assert run.stdout == "None\n"
