"""Functions whose source is generated: a module's text becomes a compiled function, once per machine."""

import functools
import hashlib
import sys
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numba

from streamjoin.compile.ondisk import compile_on_disk

_LOADED: dict[tuple[str, bool], Callable[..., int]] = {}
_LOADING = threading.Lock()


def load(text: str, entry: str) -> Callable[..., int]:
    """The function `entry` of a module with this text, which the module compiles by ``@on_disk(signature, ...)``."""
    plain = bool(getattr(numba.config, "DISABLE_JIT", False))
    if (text, plain) not in _LOADED:
        with _LOADING:  # Numba compiles one function at a time anyway
            if (text, plain) not in _LOADED:
                _LOADED[text, plain] = _execute(text, entry)
    return _LOADED[text, plain]


def _execute(text: str, entry: str) -> Callable[..., int]:
    """Run a module's text: its function is compiled by Numba, or found on disk."""

    def on_disk(signature: str, **options: Any) -> Callable[[Any], Any]:
        return functools.partial(compile_on_disk, name=entry, source=lambda: text, signature=signature, **options)

    name = hashlib.sha256(text.encode()).hexdigest()[:32]
    module = ModuleType(f"_streamjoin_{entry}_{name}")
    module.__dict__["on_disk"] = on_disk
    sys.modules[module.__name__] = module  # machine code that is loaded looks for its module
    exec(compile(text, "<streamjoin>", "exec"), module.__dict__)
    function: Callable[..., int] = getattr(module, entry)
    return function
