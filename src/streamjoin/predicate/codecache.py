"""Compiled modules kept on disk: compiled once per user and host, loaded by every later process.

A module's name is a hash of its text and of all that its machine code depends on, so an entry never changes and a
process that finds one only loads it. The first process to need it compiles under a lock on a file; the others wait,
then load. What Numba wrote is listed with checksums, last of all: an entry without its list, or one that does not
agree with it, counts as absent and is compiled anew.
"""

import atexit
import contextlib
import fcntl
import functools
import hashlib
import os
import shutil
import sys
import tempfile
import threading
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import numba
import numpy as np

_LOADED: dict[tuple[str, bool], Callable[..., int]] = {}
_LOADING = threading.Lock()
_NO_FILE = "<streamjoin>"
_VERSION = "1"
"""To be raised when entries are written in another way."""


def load(text: str, entry: str) -> Callable[..., int]:
    """The function `entry` of a module with this text, compiled."""
    plain = bool(getattr(numba.config, "DISABLE_JIT", False))
    if (text, plain) not in _LOADED:
        with _LOADING:  # Numba compiles one function at a time anyway
            if (text, plain) not in _LOADED:
                _LOADED[text, plain] = _executed(text, entry, _NO_FILE) if plain else _found(text, entry)
    return _LOADED[text, plain]


def _found(text: str, entry: str) -> Callable[..., int]:
    for directory in _directories():
        try:
            return _from(directory, text, entry)
        except OSError:
            continue  # no room, no rights, no locks: the next one
    return _executed(text.replace("cache=True", "cache=False"), entry, _NO_FILE)


def _from(directory: Path, text: str, entry: str) -> Callable[..., int]:
    name = f"{entry}_{_fingerprint(text)}"
    path = directory / f"{name}.py"
    with (directory / f"{name}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        if (function := _kept(path, text, entry)) is None:
            fcntl.flock(lock, fcntl.LOCK_EX)  # gives the shared lock up first, so another may have been here
            function = _kept(path, text, entry) or _compiled(path, text, entry)
    return function


def _kept(path: Path, text: str, entry: str) -> Callable[..., int] | None:
    """What is on disk already; None where that is incomplete, damaged or not to be loaded."""
    if not _is_whole(path):
        return None
    try:
        return _executed(text, entry, str(path))
    except Exception:  # noqa: BLE001 - a pickle may raise anything, and there is a way out of all of it
        return None


def _compiled(path: Path, text: str, entry: str) -> Callable[..., int]:
    for file in (_list_of(path), *_machine_code(path)):
        file.unlink(missing_ok=True)
    _write(path, text)
    function = _executed(text, entry, str(path))
    _write(_list_of(path), _listed(path))
    return function


def _executed(text: str, entry: str, file: str) -> Callable[..., int]:
    """Run a module's text as that of a file: its function is compiled by Numba, or found beside the file."""
    module = ModuleType(f"_streamjoin_{Path(file).stem}")
    module.__file__ = file
    sys.modules[module.__name__] = module  # machine code that is loaded looks for its module
    with _beside_the_source():
        exec(compile(text, file, "exec"), module.__dict__)
    function: Callable[..., int] = getattr(module, entry)
    return function


@contextlib.contextmanager
def _beside_the_source() -> Iterator[None]:
    """Numba keeps code in `__pycache__` beside the source, wherever the user wants that of other modules."""
    saved = {name: getattr(numba.config, name, "") for name in ("CACHE_DIR", "CACHE_LOCATOR_CLASSES")}
    try:
        for name in saved:
            setattr(numba.config, name, "")
        yield
    finally:
        for name, value in saved.items():
            setattr(numba.config, name, value)


def _fingerprint(text: str) -> str:
    parts = (_VERSION, text, sys.version, numba.__version__, np.__version__, *_processor())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


@functools.cache
def _processor() -> tuple[str, ...]:
    """What Numba compiles for: triple, name and features of the processor."""
    from numba.core.registry import cpu_target

    return tuple(map(str, cpu_target.target_context.codegen().magic_tuple()))


def _machine_code(path: Path) -> list[Path]:
    """The files that Numba wrote for a module."""
    return sorted((path.parent / "__pycache__").glob(f"{path.stem}.*.nb[ic]"))


def _list_of(path: Path) -> Path:
    return path.with_suffix(".sums")


def _listed(path: Path) -> str:
    return "".join(f"{file.name} {zlib.crc32(file.read_bytes()):08x}\n" for file in (path, *_machine_code(path)))


def _is_whole(path: Path) -> bool:
    try:
        return _list_of(path).read_text() == _listed(path)
    except OSError:
        return False


def _write(path: Path, text: str) -> None:
    """Under another name first: nobody sees half a file."""
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=f"{path.stem}.", delete=False) as file:
        file.write(text)
    Path(file.name).replace(path)


def _directories() -> Iterator[Path]:
    """Where modules may be kept, the best place first; each exists, and is this user's own unless it was asked for."""
    given = os.environ.get("STREAMJOIN_CACHE_DIR")
    for directory in (*([Path(given).absolute()] if given else []), *_usual_directories()):
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            continue
        if given or _is_ours(directory):
            yield directory
            given = None
    with contextlib.suppress(OSError):
        private = tempfile.mkdtemp(prefix="streamjoin-")
        atexit.register(shutil.rmtree, private, ignore_errors=True)
        yield Path(private)


def _usual_directories() -> Iterator[Path]:
    if home := os.environ.get("XDG_CACHE_HOME"):
        yield Path(home).absolute() / "streamjoin"
    else:
        with contextlib.suppress(RuntimeError):  # a user without a home
            yield Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "streamjoin"
    yield Path(tempfile.gettempdir()) / f"streamjoin-{os.geteuid()}"


def _is_ours(directory: Path) -> bool:
    """Whether no other user can put code there: what is found there is run."""
    status = directory.stat()
    return status.st_uid == os.geteuid() and not status.st_mode & 0o022
