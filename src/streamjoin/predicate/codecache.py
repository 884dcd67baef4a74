"""Compiled modules kept on disk: compiled once per user and host, loaded by every later process.

A module's name is a hash of its text and of all that its machine code depends on, so an entry never changes and a
process that finds one only loads it. What Numba wrote is listed with checksums, last of all: an entry without its
list, or one that does not agree with it, counts as absent and is compiled anew. The list's time is that of the last
use: beyond `_MOST` entries, the one that was not used for longest goes.
"""

import atexit
import contextlib
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

from streamjoin.kernel.once import discard, fingerprint, once

_LOADED: dict[tuple[str, bool], Callable[..., int]] = {}
_LOADING = threading.Lock()
_NO_FILE = "<streamjoin>"
_MOST = 500  # entries, of some 60 kB each


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
    path = directory / f"{entry}_{fingerprint(text)}.py"
    return once(_lock_of(path), lambda: _kept(path, text, entry), lambda: _compiled(path, text, entry))


def _kept(path: Path, text: str, entry: str) -> Callable[..., int] | None:
    """What is on disk already; None where that is incomplete, damaged or not to be loaded."""
    if not _is_whole(path):
        return None
    try:
        with contextlib.suppress(OSError):  # another user's, to be read only
            os.utime(_list_of(path))
        return _executed(text, entry, str(path))
    except Exception:  # noqa: BLE001 - a pickle may raise anything, and there is a way out of all of it
        return None


def _compiled(path: Path, text: str, entry: str) -> Callable[..., int]:
    _remove(path)
    _write(path, text)
    function = _executed(text, entry, str(path))
    _write(_list_of(path), _listed(path))
    _prune(path.parent)
    return function


def _remove(path: Path) -> None:
    for file in (_list_of(path), path, *_machine_code(path)):
        file.unlink(missing_ok=True)


def _prune(directory: Path) -> None:
    """Let go of what was not used for longest."""
    with contextlib.suppress(OSError):  # another process does the same: there is less to do
        used = sorted(directory.glob("*.sums"), key=lambda file: file.stat().st_mtime_ns)
        for file in used[: max(len(used) - _MOST, 0)]:
            path = file.with_suffix(".py")
            discard(_lock_of(path), lambda path=path: _remove(path))  # type: ignore[misc]


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


def _machine_code(path: Path) -> list[Path]:
    """The files that Numba wrote for a module."""
    return sorted((path.parent / "__pycache__").glob(f"{path.stem}.*.nb[ic]"))


def _list_of(path: Path) -> Path:
    return path.with_suffix(".sums")


def _lock_of(path: Path) -> Path:
    return path.with_suffix(".lock")


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
    asked_for = [Path(given).absolute()] if given else []
    for directory in (*asked_for, *_usual_directories()):
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            continue
        if directory in asked_for or _is_ours(directory):
            yield directory
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
    yield Path(tempfile.gettempdir()) / f"streamjoin-code-{os.geteuid()}"


def _is_ours(directory: Path) -> bool:
    """Whether no other user can put code there: what is found there is run."""
    status = directory.stat()
    return status.st_uid == os.geteuid() and not status.st_mode & 0o022
