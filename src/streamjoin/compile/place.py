"""Where compiled code lies: the one place that decides on directories, for kernels and conditions alike.

What is found there is run. So every directory is checked, the one that was asked for too: it and all above it belong
to this user or to root, and nobody else may write to it. One that can only be read, as in an image that root has
warmed, serves as far as it goes; what it lacks comes from, and goes to, the next.
"""

import contextlib
import functools
import logging
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from streamjoin.private import check_private, make_private

log = logging.getLogger(__name__)

VARIABLE = "STREAMJOIN_CACHE_DIR"


def places() -> list[Path]:
    """The directories to look in, in this order: up to the first that can be written to, where new code goes."""
    trusted: list[Path] = []
    refused: list[str] = []
    for directory in _candidates():
        try:
            place = _check(directory)
        except OSError as error:
            asked_for = directory == Path(os.environ.get(VARIABLE, ""))
            if asked_for or error.errno is None:  # of the usual ones that cannot be made, nothing is said
                refused.append(f"{directory}: {error.strerror}" if error.strerror else str(error))
            continue
        trusted.append(place)
        if os.access(place, os.W_OK):
            break
    for reason in refused:
        _warn(reason, str(trusted[-1]) if is_writable(trusted) else "")
    return trusted


def is_writable(trusted: list[Path]) -> bool:
    """Whether the last of these places can be written to."""
    return bool(trusted) and os.access(trusted[-1], os.W_OK)


def _check(directory: Path) -> Path:
    return check_private(directory) if directory.exists() else make_private(directory)


@functools.cache
def _warn(reason: str, instead: str) -> None:
    """Say once why a directory is not used."""
    where = f"kept in {instead}" if instead else "compiled by each process anew"
    log.warning("a directory for compiled code is not used: %s. Code is %s", reason, where)


def _candidates() -> Iterator[Path]:
    if asked_for := os.environ.get(VARIABLE):
        yield Path(asked_for)
    if home := os.environ.get("XDG_CACHE_HOME"):
        yield Path(home) / "streamjoin"
    else:
        with contextlib.suppress(RuntimeError):  # a user without a home
            yield Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "streamjoin"
    yield Path(tempfile.gettempdir()) / f"streamjoin-code-{os.geteuid()}"
