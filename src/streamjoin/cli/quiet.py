"""Spark without its chatter, and its failures in a sentence."""

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_OURS = re.compile(r"StreamJoinError: (.+?)(?:\n\s*\n|\n\tat |\n\nJVM|\Z)", re.DOTALL)


@contextmanager
def quiet(verbose: bool) -> Iterator[Path | None]:
    """Whatever is started inside writes its standard error to a file, for as long as it lives.

    Spark's Java process inherits it, and with it the Python workers. Yields the file, or None where `verbose`.
    """
    if verbose:
        yield None
        return
    sys.stderr.flush()
    ours = os.dup(2)
    file, name = tempfile.mkstemp(prefix="streamjoin-", suffix=".log")
    os.dup2(file, 2)
    os.close(file)
    try:
        yield Path(name)
    finally:
        sys.stderr.flush()
        os.dup2(ours, 2)
        os.close(ours)


def reason(error: BaseException) -> str:
    """What went wrong, in one paragraph: our own sentence if there is one inside, else the first line of Spark's."""
    text = str(error)
    if found := _OURS.search(text):
        return found[1].strip()
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("at ")]
    return lines[0] if lines else type(error).__name__
