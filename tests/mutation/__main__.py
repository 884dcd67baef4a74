"""`make mutate`: small mistakes in `flow` and `worker`, one at a time; are they found?

Each mutant lives in a process of its own, a copy of one that has everything loaded. There it meets, until something
notices it: a few simulated histories that run its line, the unit tests of its module, more such histories, the unit
tests of its room. First the product itself must survive all of it, or nothing that is found means anything.

MINUTES=20 bounds the time: mutants come in any order, so those that were tried are a sample. ONLY=flags takes those of
files with this in their name. KEPT=file keeps what became of each, and goes on where an earlier run ended. All limits
go by CPU time, so a run may be frozen, or have the lowest priority.
"""

import os
import random
import resource
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import click
import pytest

from tests.mutation.mutants import Mutant, all_mutants
from tests.simulation.history import make_history
from tests.simulation.reach import Branch, traced
from tests.simulation.run import Tally, run_history, run_seeds, workspace

FIRST, HISTORIES = 5, 24
"""A mutant meets so many histories that run its line before the first unit test, and at most so many in all."""
LOOKED_AT = 40
"""Of so many histories it is known which lines they run."""
TIMES, LEAST = 4, 5
"""A mutant that takes so many times as long as the product, and at least so many seconds, has been noticed."""
WAITS = 1800
"""Seconds after which one that waits for ever is given up."""
FATES = (
    "survived",
    "found by simulation",
    "found by unit tests",
    "found by its slowness",
    "found by a crash",
    "not tried to the end",
)
FOUND = FATES[1:5]
BESIDES = {
    "worker": tuple(f"tests/properties/test_{name}.py" for name in ("worker", "order", "reduce", "slide")),
    "flow": ("tests/properties/test_late.py", "tests/unit/spark/test_processor.py"),
}
_CRASHES = (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGFPE)


@click.command(help=__doc__)
@click.option("--minutes", type=float, default=60.0)
@click.option("--only", default="")
@click.option("--seed", type=int, default=0, help="another order")
@click.option("--kept", type=click.Path(path_type=Path), help="a file of what became of each")
def main(minutes: float, only: str, seed: int, kept: Path | None) -> None:
    mutants = [mutant for mutant in all_mutants() if only in mutant.path]
    random.Random(seed).shuffle(mutants)
    fates = _read(kept, mutants) if kept is not None else {}
    until = time.monotonic() + 60 * minutes
    with workspace() as root:
        runs = _find_runs(root)
    rooms = {mutant.module.split(".")[1] for mutant in mutants}
    seconds = {room: _measure_whole(room) for room in sorted(rooms)}
    for mutant in mutants:
        if mutant in fates:
            continue
        if time.monotonic() > until:
            break
        seeds, room = sorted(runs[mutant.path, mutant.line]), mutant.module.split(".")[1]
        fates[mutant], _ = _try(mutant, seeds, _find_tests(mutant), seconds[room])
        line = f"{fates[mutant]:<22} {mutant.name}"
        print(f"{len(fates)} of {len(mutants)}  {line}", flush=True)  # noqa: T201
        if kept is not None:
            with kept.open("a") as file:
                file.write(f"{line}\n")
    print(_report(fates, len(mutants)))  # noqa: T201


def _read(kept: Path, mutants: Sequence[Mutant]) -> dict[Mutant, str]:
    """What an earlier run found out."""
    named = {mutant.name: mutant for mutant in mutants}
    lines = kept.read_text().splitlines() if kept.exists() else []
    return {named[line[23:]]: line[:22].strip() for line in lines if line[23:] in named}


def _find_runs(root: Path) -> dict[tuple[str, int], set[int]]:
    """For each line the seeds that run it; on the way everything is loaded."""
    runs: dict[tuple[str, int], set[int]] = defaultdict(set)
    run_seeds(iter(range(1, 3 * LOOKED_AT)), Tally(), root)
    for seed in range(1, LOOKED_AT + 1):
        lines: set[Branch] = set()
        with traced(lines):
            run_history(make_history(seed), root)
        for path, before, line in lines:
            runs[path, before].add(seed)
            runs[path, line].add(seed)
    return runs


def _measure_whole(room: str) -> int:
    """Seconds of one core that the product takes, which must survive."""
    first = min(map(str, Path("tests/unit", room).glob("test_*.py")))  # twice, as mutants meet tests
    fate, seconds = _try(None, range(1, HISTORIES + 1), [[first], [f"tests/unit/{room}", *BESIDES[room]]], 10_000)
    if fate != FATES[0]:
        raise SystemExit(f"{room}: without any mistake in it the product is {fate!r}; what mutants do says nothing")
    print(f"{room}: the product itself survives, in {seconds:.0f} s", flush=True)  # noqa: T201
    return round(seconds) + 1


def _try(mutant: Mutant | None, seeds: Sequence[int], tests: Sequence[Sequence[str]], whole: int) -> tuple[str, float]:
    """What becomes of a mutant, or of the product itself, and in how many seconds of one core; it takes `whole`."""
    child = os.fork()
    if child == 0:
        signal.alarm(WAITS)
        with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
            try:
                os._exit(_live(mutant, seeds, tests, whole))
            except BaseException:  # noqa: BLE001 - what goes wrong in here is no finding
                os._exit(len(FATES) - 1)
    _, status, used = os.wait4(child, 0)
    fate = FATES[-1]
    if os.WIFEXITED(status):
        fate = FATES[os.WEXITSTATUS(status)]
    elif os.WTERMSIG(status) == signal.SIGXCPU:
        fate = FATES[3]
    elif os.WTERMSIG(status) in _CRASHES:
        fate = FATES[4]
    return fate, used.ru_utime + used.ru_stime


def _live(mutant: Mutant | None, seeds: Sequence[int], tests: Sequence[Sequence[str]], whole: int) -> int:
    """In the child: the number of its fate."""
    if mutant is not None:
        mutant.apply()
    own, *further = tests if len(tests) > 1 else [(), *tests]
    for some, of_some in ((seeds[:FIRST], own), (seeds[FIRST:HISTORIES], [test for each in further for test in each])):
        _limit(LEAST + TIMES * len(some) * whole // HISTORIES)
        with workspace() as root:
            if any(run_history(make_history(seed), root) for seed in some):
                return 1
        _limit(LEAST + TIMES * whole)
        if of_some and (fate := _run_tests(of_some)):
            return fate
    return 0


def _limit(seconds: int) -> None:
    """So many seconds of CPU from now on."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = round(used.ru_utime + used.ru_stime) + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.RLIM_INFINITY))


def _run_tests(tests: Sequence[str]) -> int:
    options = ["-x", "-q", "-p", "no:cacheprovider", "-o", "addopts=", "--import-mode=importlib"]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # everything is loaded already
    found = pytest.main([*options, "-m", "not slow and not spark", *tests])
    fates = {pytest.ExitCode.OK: 0, pytest.ExitCode.TESTS_FAILED: 2, pytest.ExitCode.INTERRUPTED: 2}
    return fates.get(found, len(FATES) - 1)  # type: ignore[call-overload,no-any-return]


def _find_tests(mutant: Mutant) -> list[list[str]]:
    """The tests of its module first, then those of its room, which fail if anything does."""
    _, room, *rest = mutant.module.split(".")
    own = Path("tests/unit", room, *rest[:-1], f"test_{rest[-1]}.py")
    return [[str(own)] if own.exists() else [], [f"tests/unit/{room}", *BESIDES[room]]]


def _report(fates: dict[Mutant, str], every: int) -> str:
    lines, counts = [], Counter(fates.values())
    for path in sorted({mutant.path for mutant in fates}):
        own = [fate for mutant, fate in fates.items() if mutant.path == path]
        name = "/".join(Path(path).parts[-2:])
        lines.append(f"{name:<24} {sum(fate in FOUND for fate in own):>4} of {len(own):<4} found")
    lines += ["", *(f"survived: {mutant}" for mutant in sorted(fates, key=str) if fates[mutant] == FATES[0])]
    killed = sum(counts[fate] for fate in FOUND)
    share = f"{100 * killed / max(1, len(fates)):.1f} %"
    kinds = ", ".join(f"{counts[fate]} {fate}" for fate in FATES)
    return "\n".join([*lines, f"{killed} of {len(fates)} found, {share} ({kinds}); {every} mutants in all"])


if __name__ == "__main__":
    sys.exit(main())
