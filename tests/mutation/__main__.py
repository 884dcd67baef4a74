"""`make mutate`: small mistakes in `flow` and `worker`, one at a time; are they found?

Each mutant lives in a process of its own, a copy of one that has everything loaded. There it meets simulated histories
that run its line, and, if it survives them, the unit tests of its module. First the product itself must survive all of
it, or nothing that is found means anything. MINUTES=20 bounds the time: mutants come in any order, so those that were
tried are a sample. ONLY=flags takes those of files with this in their name.
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

HISTORIES = 24
"""A mutant meets at most so many that run its line."""
LOOKED_AT = 40
"""Of so many histories it is known which lines they run."""
TIMES = 4
"""A mutant that takes so many times as long as the product has been noticed."""
FATES = ("survived", "found by simulation", "found by unit tests", "found by its slowness", "not tried to the end")
BESIDES = {"worker": ("tests/properties/test_worker.py",), "flow": ("tests/unit/spark/test_processor.py",)}


@click.command(help=__doc__)
@click.option("--minutes", type=float, default=60.0)
@click.option("--only", default="")
@click.option("--seed", type=int, default=0, help="another order")
def main(minutes: float, only: str, seed: int) -> None:
    mutants = [mutant for mutant in all_mutants() if only in mutant.path]
    random.Random(seed).shuffle(mutants)
    with workspace() as root:
        runs = _find_runs(root)
    rooms = {mutant.module.split(".")[1] for mutant in mutants}
    seconds = {room: TIMES * _measure_whole(room) for room in sorted(rooms)}
    fates: dict[Mutant, str] = {}
    until = time.monotonic() + 60 * minutes
    for mutant in mutants:
        if time.monotonic() > until:
            break
        seeds, room = sorted(runs[mutant.path, mutant.line]), mutant.module.split(".")[1]
        fates[mutant], _ = _try(mutant, seeds, _find_tests(mutant), seconds[room])
        print(f"{len(fates)} of {len(mutants)}  {fates[mutant]:<22} {mutant}", flush=True)  # noqa: T201
    print(_report(fates, len(mutants)))  # noqa: T201


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
    fate, seconds = _try(None, range(1, HISTORIES + 1), [f"tests/unit/{room}", *BESIDES[room]], resource.RLIM_INFINITY)
    if fate != FATES[0]:
        raise SystemExit(f"{room}: without any mistake in it the product is {fate!r}; what mutants do says nothing")
    print(f"{room}: the product itself survives, in {seconds:.0f} s", flush=True)  # noqa: T201
    return round(seconds) + 1


def _try(mutant: Mutant | None, seeds: Sequence[int], tests: Sequence[str], most: int) -> tuple[str, float]:
    """What becomes of a mutant, or of the product itself, and in how many seconds of one core; `most` are given."""
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.RLIM_INFINITY))
        signal.alarm(1800)  # one that waits for ever
        with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
            try:
                os._exit(_live(mutant, seeds, tests))
            except BaseException:  # noqa: BLE001 - what goes wrong in here is no finding
                os._exit(4)
    _, status, used = os.wait4(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
        return FATES[3], used.ru_utime
    return FATES[os.WEXITSTATUS(status) if os.WIFEXITED(status) else 4], used.ru_utime + used.ru_stime


def _live(mutant: Mutant | None, seeds: Sequence[int], tests: Sequence[str]) -> int:
    """In the child: the number of its fate."""
    if mutant is not None:
        mutant.apply()
    with workspace() as root:
        if any(run_history(make_history(seed), root) for seed in seeds[:HISTORIES]):
            return 1
    options = ["-x", "-q", "-p", "no:cacheprovider", "-o", "addopts=", "--import-mode=importlib"]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # everything is loaded already
    found = pytest.main([*options, "-m", "not slow and not spark", *tests])
    return {pytest.ExitCode.OK: 0, pytest.ExitCode.TESTS_FAILED: 2, pytest.ExitCode.INTERRUPTED: 2}.get(found, 4)  # type: ignore[call-overload]


def _find_tests(mutant: Mutant) -> list[str]:
    """The tests of its module first, then those of its room, which fail if anything does."""
    _, room, *rest = mutant.module.split(".")
    own = Path("tests/unit", room, *rest[:-1], f"test_{rest[-1]}.py")
    return [*([str(own)] if own.exists() else []), f"tests/unit/{room}", *BESIDES[room]]


def _report(fates: dict[Mutant, str], every: int) -> str:
    lines, counts = [], Counter(fates.values())
    for path in sorted({mutant.path for mutant in fates}):
        own = [fate for mutant, fate in fates.items() if mutant.path == path]
        name = "/".join(Path(path).parts[-2:])
        lines.append(f"{name:<24} {sum(fate in FATES[1:4] for fate in own):>4} of {len(own):<4} found")
    lines += ["", *(f"survived: {mutant}" for mutant in sorted(fates, key=str) if fates[mutant] == FATES[0])]
    killed = sum(counts[fate] for fate in FATES[1:4])
    share = f"{100 * killed / max(1, len(fates)):.1f} %"
    kinds = ", ".join(f"{counts[fate]} {fate}" for fate in FATES)
    return "\n".join([*lines, f"{killed} of {len(fates)} found, {share} ({kinds}); {every} mutants in all"])


if __name__ == "__main__":
    sys.exit(main())
