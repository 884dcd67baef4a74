"""Which lines of the product histories run: slow, so for a few hundred of them."""

import importlib
import pkgutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from streamjoin import flow, worker

ROOMS = (flow, worker)
Line = tuple[str, int]


def all_lines() -> set[Line]:
    """The lines of functions in the rooms."""
    found: set[Line] = set()
    for room in ROOMS:
        for info in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            path = importlib.import_module(info.name).__file__
            assert path is not None
            module = compile(Path(path).read_text(), path, "exec")
            found |= {(path, line) for code in _functions(module) for _, _, line in code.co_lines() if line}
    return found


def _functions(code: CodeType) -> Iterator[CodeType]:
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            if inner.co_flags & 2:  # has locals of its own: a function, no class
                yield inner
            yield from _functions(inner)


@contextmanager
def traced(run: set[Line]) -> Iterator[None]:
    """Collect the lines that run meanwhile."""
    directories = tuple(str(Path(path)) for room in ROOMS for path in room.__path__)

    def line(frame: FrameType, event: str, _: Any) -> Any:
        run.add((frame.f_code.co_filename, frame.f_lineno))
        return line

    def call(frame: FrameType, event: str, _: Any) -> Any:
        return line(frame, event, _) if frame.f_code.co_filename.startswith(directories) else None

    sys.settrace(call)
    try:
        yield
    finally:
        sys.settrace(None)


def report(run: set[Line]) -> str:
    """By file, how many lines ran, and which did not."""
    lines, every = [], all_lines()
    for path in sorted({path for path, _ in every}):
        own = {line for each, line in every if each == path}
        missed = sorted(own - {line for each, line in run if each == path})
        name = "/".join(Path(path).parts[-2:])
        lines.append(
            f"{name:<28} {len(own) - len(missed):>4} of {len(own):<4} not: {', '.join(map(str, missed)) or '-'}"
        )
    ran = len(every & run)
    return "\n".join([*lines, f"{ran} of {len(every)} lines, {100 * ran / len(every):.1f} %"])
