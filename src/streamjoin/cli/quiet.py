"""Spark without its chatter, and its failures in a sentence."""

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_OURS = re.compile(r"StreamJoinError: (.+?)(?: SQLSTATE: \w+)?(?:\n\s*\n|\n\tat |\n\nJVM|\Z)", re.DOTALL)
_CALLED = re.compile(r"An error occurred while calling ")
_CLASS = re.compile(r"^(?:[\w$]+\.)+[\w$]+(?:Exception|Error): ")


@contextmanager
def quiet(verbose: bool, *, keeps: bool = False) -> Iterator[Path | None]:
    """Whatever is started inside writes its standard error to a file, for as long as it lives.

    Spark's Java process inherits it, and with it the Python workers. Yields the file, which is deleted at
    the end unless somebody `keeps` it, or None where `verbose`.
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
        if not keeps:
            Path(name).unlink()


def reason(error: BaseException) -> str:
    """What went wrong, in one paragraph: our own sentence if there is one inside, else Spark's and its first cause."""
    text = str(error)
    if found := _OURS.search(text):
        return found[1].strip()
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("at ")]
    said = [line for line in lines if not _CALLED.match(line) and not line.startswith("...")]
    first = next((line for line in said if not line.startswith("Caused by: ")), type(error).__name__)
    causes = [_CLASS.sub("", line.removeprefix("Caused by: ")) for line in said if line.startswith("Caused by: ")]
    first = _CLASS.sub("", first.removeprefix(": "))
    return f"{first} ({causes[-1]})" if causes and causes[-1] not in first else first
