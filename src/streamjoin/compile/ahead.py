"""A process that compiles what will be needed, while the program that will need it does something else.

It never stands in the way: it ends by itself, with the program, or after `PATIENCE` seconds, and when it fails, whoever
needs the code compiles it. What was compiled in this way leaves a mark on disk, and the next program starts no process.
"""

import atexit
import contextlib
import logging
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from time import perf_counter
from typing import Any, BinaryIO

import numba

from streamjoin.compile.ondisk import fingerprint
from streamjoin.compile.place import is_writable, places

log = logging.getLogger(__name__)

PATIENCE = 300
_CHILD = "STREAMJOIN_COMPILES_AHEAD"
_COMPILING, _DONE = "compiling", "done"
_started: set[str] = set()


def start(run: Callable[..., None], *arguments: Any, outline: str) -> "Ahead | None":
    """Call ``run(*arguments)`` in a process of its own, unless that was done for the same `outline`: None then.

    `run` must be a function of a module, and all arguments must be picklable.
    """
    mark, trusted = mark_of(outline), places()
    if getattr(numba.config, "DISABLE_JIT", False) or not is_writable(trusted):
        return None  # nothing to compile, or nowhere to keep it
    if not sys.executable or getattr(sys, "frozen", False) or _CHILD in os.environ:
        return None  # no Python to start, or one that would start another
    if mark in _started or any((place / mark).exists() for place in trusted):
        return None
    _started.add(mark)
    ahead = Ahead(pickle.dumps((run, arguments, mark)))
    ahead.start()
    return ahead


class Ahead(threading.Thread):
    """Starts the process when its turn has come, one at a time, and says what goes on.

    In the log, and on the terminal if there is one; nothing where nothing needs to be compiled.
    """

    _turn = threading.Lock()

    def __init__(self, work: bytes) -> None:
        super().__init__(name="streamjoin-compiles-ahead", daemon=True)
        self._work = work
        self.process: subprocess.Popen[bytes] | None = None

    def run(self) -> None:
        """Follow the process to its end."""
        with self._turn:
            try:
                self.process = _launch()
            except OSError as error:
                log.info("nothing is compiled ahead: %s", error)
                return
            atexit.register(self.process.kill)
            self._follow(self.process)
            atexit.unregister(self.process.kill)

    def _follow(self, process: "subprocess.Popen[bytes]") -> None:
        started, compiled, last = perf_counter(), 0, ""
        with contextlib.suppress(BrokenPipeError), process:  # which closes the pipes and waits
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(len(self._work).to_bytes(8, "big") + self._work)
            process.stdin.flush()  # and stays open: its end tells the process that this one has ended
            for line in process.stdout:
                last = line.decode().strip()
                if last == _COMPILING:
                    if not compiled:
                        _say("compiling this join's kernels, once on this machine ...")
                    compiled += 1
        if last != _DONE:
            log.info("compiling ahead ended early (%s): what is missing is compiled when needed", process.returncode)
        elif compiled:
            _say(f"compiled {compiled} kernel{'s' * (compiled > 1)} in {perf_counter() - started:.1f} s")


class CompileCounter(logging.Handler):
    """Counts what this process compiles from now on, and calls a function each time."""

    def __init__(self, call: Callable[[], None] = lambda: None) -> None:
        super().__init__(logging.INFO)
        self.count, self._call = 0, call
        compiler = logging.getLogger("streamjoin.compile")
        compiler.setLevel(logging.INFO)
        compiler.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """One more, if that is what the compiler says."""
        if record.msg.startswith(_COMPILING):
            self.count += 1
            self._call()


def mark_of(outline: str) -> str:
    """The name of the file that says that all of an outline is compiled."""
    return f"ahead-{fingerprint(outline)}.done"


def leave_mark(outline: str) -> None:
    """Say that all of an outline is compiled."""
    _touch(mark_of(outline))


def _touch(mark: str) -> None:
    trusted = places()
    if is_writable(trusted):
        (trusted[-1] / mark).touch()


def _launch() -> "subprocess.Popen[bytes]":
    """Start the process; it sees the modules that this one sees, and nothing from the directory it runs in."""
    command = [sys.executable, "-P", "-c", "from streamjoin.compile.ahead import main; main()"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path), _CHILD: "1"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(command, env=environment, **pipes)  # type: ignore[call-overload,no-any-return]


def _say(what: str) -> None:
    log.info(what)
    if sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules):
        print(f"streamjoin: {what}", file=sys.stderr, flush=True)  # noqa: T201


# In the process


def main() -> None:
    """Do what was sent, then leave the mark."""
    signal.alarm(PATIENCE)
    work = sys.stdin.buffer
    run, arguments, mark = pickle.loads(work.read(int.from_bytes(work.read(8), "big")))
    threading.Thread(target=_end_with, args=(work,), daemon=True).start()
    CompileCounter(lambda: _tell(_COMPILING))
    run(*arguments)
    _touch(mark)
    _tell(_DONE)
    os._exit(0)  # not held up by the thread that waits


def _end_with(pipe: BinaryIO) -> None:
    """End when the program that started this has ended."""
    pipe.read()
    os._exit(1)


def _tell(what: str) -> None:
    os.write(1, f"{what}\n".encode())
