"""Which branches of the product histories run. Tracing is slow, so of many histories only some are traced.

A branch is a jump that goes one of two ways, as (file, line, line that follows); 0 stands for the end of the function.
Jumps within a line cannot be seen, and are left out.
"""

import dis
import importlib
import pkgutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from streamjoin import flow, pane, worker
from streamjoin.spark import processor

ROOMS = (flow, worker, pane)
MODULES = (processor,)
"""Beside the rooms: on Spark all that a cell's state goes through."""

Branch = tuple[str, int, int]
END = 0


def all_branches() -> set[Branch]:
    """The branches of functions in the rooms."""
    found: set[Branch] = set()
    for path in _list_files():
        for code in _functions(compile(Path(path).read_text(), path, "exec")):
            found |= {(path, *branch) for branch in _branches(code)}
    return found


def _list_files() -> Iterator[str]:
    infos = [info for room in ROOMS for info in pkgutil.walk_packages(room.__path__, f"{room.__name__}.")]
    for module in (*(importlib.import_module(info.name) for info in infos), *MODULES):
        assert module.__file__ is not None
        yield module.__file__


def _functions(code: CodeType) -> Iterator[CodeType]:
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            if inner.co_flags & 2:  # has locals of its own: a function, no class
                yield inner
            yield from _functions(inner)


def _branches(code: CodeType) -> Iterator[tuple[int, int]]:
    steps = list(dis.get_instructions(code))
    lines = {offset: line for start, stop, line in code.co_lines() for offset in range(start, stop, 2)}
    place = {step.offset: at for at, step in enumerate(steps)}
    for at, step in enumerate(steps[:-1]):
        if "_IF_" in step.opname or step.opname == "FOR_ITER":
            line = lines[step.offset]
            ways = {_follow(steps, lines, place, start, line) for start in (at + 1, place[step.argval])}
            if line is not None and len(ways) == 2 and None not in ways:
                yield from ((line, way) for way in ways if way is not None)


def _follow(
    steps: Sequence[dis.Instruction], lines: dict[int, int | None], place: dict[int, int], at: int, line: int | None
) -> int | None:
    """The next line that runs from an instruction on; None where that is another jump's matter."""
    while True:
        step = steps[at]
        if (reached := lines[step.offset]) not in (line, None):
            return reached
        if step.opname.startswith("RETURN"):
            return END
        if "_IF_" in step.opname or step.opname in ("FOR_ITER", "SEND", "YIELD_VALUE", "RERAISE", "RAISE_VARARGS"):
            return None
        at = place[step.argval] if step.opname.startswith("JUMP") else at + 1


@contextmanager
def traced(run: set[Branch]) -> Iterator[None]:
    """Collect the branches that are taken meanwhile."""
    files = frozenset(_list_files())

    def call(frame: FrameType, event: str, _: Any) -> Any:
        path, before = frame.f_code.co_filename, frame.f_lineno
        if path not in files:
            return None

        def step(frame: FrameType, event: str, _: Any) -> Any:
            nonlocal before
            if event == "line":
                run.add((path, before, frame.f_lineno))
                before = frame.f_lineno
            elif event == "return":
                run.add((path, before, END))
            return step

        return step

    sys.settrace(call)
    try:
        yield
    finally:
        sys.settrace(None)


def report(run: set[Branch]) -> str:
    """By file, how many branches were taken, and which were not."""
    lines, every = [], all_branches()
    for path in sorted({path for path, _, _ in every}):
        own = {branch for branch in every if branch[0] == path}
        missed = ", ".join(f"{line} to {following or 'the end'}" for _, line, following in sorted(own - run))
        name = "/".join(Path(path).parts[-2:])
        lines.append(f"{name:<24} {len(own & run):>4} of {len(own):<4} not: {missed or '-'}")
    taken = len(every & run)
    return "\n".join([*lines, f"{taken} of {len(every)} branches, {100 * taken / len(every):.1f} %"])
