"""Functions that Numba compiles once on a machine: each result is a file that all processes share.

Numba's own cache keeps an index for each function, which two processes that compile at once can leave in disorder.
Here a file's name says all: function, a hash of the source, of the types and of what else machine code depends on.
"""

import contextlib
import functools
import hashlib
import logging
import os
import pickle
import pkgutil
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, time
from typing import Any

import numba
import numpy as np
from numba import njit
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.serialize import dumps
from numba.core.sigutils import normalize_signature

from streamjoin.compile.lock import alone
from streamjoin.compile.place import is_writable, places

log = logging.getLogger(__name__)

_FORMAT = "3"
"""To be raised when what is kept on disk is written in another way."""

_MOST = 1000
"""Files in a directory, of some 50 kB each: beyond, those that were not used for longest go."""

_DIGEST = 16
_OURS = re.compile(r".+-[0-9a-f]{32}\.\S+")
_LEFT_SECONDS = 3600


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function of a package with Numba; its source is that of the whole package, whose parts it may call."""
    package, _, module = function.__module__.rpartition(".")
    return compile_on_disk(function, f"{module}.{function.__name__}", functools.partial(read_sources, package))


def compile_on_disk(
    function: Callable[..., Any], name: str, source: Callable[[], str], signature: str = "", **options: Any
) -> Any:
    """Compile a function with Numba, for this signature or else for those that are met."""
    compiler: Any = njit
    dispatcher: Any = compiler(nogil=True, no_cfunc_wrapper=True, **options)(function)
    if dispatcher is function:  # NUMBA_DISABLE_JIT
        return function
    cache = CodeOnDisk(name, source)
    dispatcher._cache = cache
    dispatcher.compile = functools.partial(cache.compile_alone, dispatcher.compile)
    if signature:
        dispatcher.compile(signature)
        dispatcher.disable_compile()
    return dispatcher


class CodeOnDisk(_Cache):
    """The files of one function, as Numba's dispatcher asks for them."""

    def __init__(self, name: str, source: Callable[[], str]) -> None:
        self._name, self._source = name, source
        self._started = 0.0

    def compile_alone(self, compile_now: Callable[[Any], Any], signature: Any) -> Any:
        """Load or compile; while one process compiles, others that need the same wait.

        Numba's lock comes first: threads that took the two in different orders would wait for each other.
        """
        with global_compiler_lock, contextlib.ExitStack() as held:
            file, trusted = self.file_name(signature), places()
            if is_writable(trusted):
                with contextlib.suppress(OSError):  # no locks here: then some work may be done twice
                    lock = trusted[-1] / f"{file}.lock"
                    held.enter_context(alone(lock, lambda: any((place / file).exists() for place in trusted)))
            return compile_now(signature)

    def file_name(self, signature: Any) -> str:
        """The name of the file for this signature."""
        types = normalize_signature(signature)  # type: ignore[no-untyped-call]
        return f"{self._name}-{fingerprint(self._source(), str(types))}.code"

    @property
    def cache_path(self) -> str:
        """Where new files go."""
        trusted = places()
        return str(trusted[-1]) if is_writable(trusted) else ""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The code for this signature from disk; None where there is none, or none that is whole."""
        name = self.file_name(sig)
        for place in places():
            try:
                content = (place / name).read_bytes()
            except OSError:
                continue
            if digest(content[_DIGEST:]) == content[:_DIGEST]:
                with contextlib.suppress(OSError):  # another user's, to be read only
                    os.utime(place / name)
                target_context.refresh()
                try:
                    reduced = pickle.loads(content[_DIGEST:])
                    return CompileResult._rebuild(target_context, *reduced)  # type: ignore[no-untyped-call]
                except Exception:  # a pickle may raise anything, and there is a way out of all of it
                    log.debug("%s could not be loaded", place / name, exc_info=True)
        log.info("compiling %s", name)
        self._started = perf_counter()
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep new code."""
        log.debug("compiled %s in %.2f s", self.file_name(sig), perf_counter() - self._started)
        trusted = places()
        if is_writable(trusted) and not data.library.has_dynamic_globals:
            content = dumps(data._reduce())  # type: ignore[no-untyped-call]
            with contextlib.suppress(OSError):  # no room: others compile it again
                _write(trusted[-1] / self.file_name(sig), digest(content) + content)
                _prune(trusted[-1])

    def enable(self) -> None:
        """Always on."""

    def disable(self) -> None:
        """Always on."""

    def flush(self) -> None:
        """Files never become stale."""


def digest(content: bytes) -> bytes:
    """What stands before the content of a file."""
    return hashlib.blake2b(content, digest_size=_DIGEST).digest()


def _write(path: Path, content: bytes) -> None:
    """Under another name first: nobody sees half a file."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f"{path.stem}.", delete=False) as file:
        try:
            file.write(content)
            file.close()
            os.chmod(file.name, 0o644)  # noqa: PTH101 - others may read it, where they may read the directory
            os.replace(file.name, path)  # noqa: PTH105
        except OSError:
            os.unlink(file.name)  # noqa: PTH108
            raise


def _prune(directory: Path) -> None:
    """Delete what was not used for longest, and what a process left behind that was killed; no file but ours."""
    ours = [entry for entry in os.scandir(directory) if _OURS.fullmatch(entry.name)]
    code = sorted((e for e in ours if e.name.endswith(".code")), key=lambda e: e.stat().st_mtime_ns)
    gone = code[:-_MOST]
    if gone:  # marks say that all code of a join is there
        gone += [e for e in ours if e.name.endswith(".done")]
    gone += [e for e in ours if not e.name.endswith((".code", ".done")) and time() - e.stat().st_mtime > _LEFT_SECONDS]
    for entry in gone:
        Path(entry.path).unlink(missing_ok=True)


def fingerprint(*texts: str) -> str:
    """A name for machine code: changes with its source and with all that it depends on."""
    parts = (_FORMAT, sys.version, numba.__version__, np.__version__, *_processor(), *texts)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


@functools.cache
def _processor() -> tuple[str, ...]:
    """What Numba compiles for: triple, name and features of the processor, and how."""
    from numba.core.registry import cpu_target

    settings = (getattr(numba.config, name) for name in ("OPT", "BOUNDSCHECK", "DEBUGINFO_DEFAULT"))
    return tuple(map(str, (*cpu_target.target_context.codegen().magic_tuple(), *settings)))


@functools.cache
def read_sources(package: str) -> str:
    """The text of all modules of a package, wherever it was imported from: a directory or an archive."""
    texts = []
    for module in sorted(pkgutil.iter_modules(sys.modules[package].__path__), key=lambda module: module.name):
        spec = module.module_finder.find_spec(f"{package}.{module.name}", None)
        loader: Any = spec.loader if spec else None
        texts.append(f"{module.name}\n{loader.get_source(f'{package}.{module.name}')}")
    return "\n".join(texts)
