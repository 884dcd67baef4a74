"""`make mutate`: small mistakes in `flow` and `worker`, one at a time; are they found?

Each mutant lives in a process of its own, a copy of one that has everything loaded. There it meets simulated histories
that run its line, and, if it survives them, the unit tests of its module. MINUTES=20 bounds the time: mutants come in
any order, so those that were tried are a sample. ONLY=flags takes those of files with this in their name.
"""

import contextlib
import os
import random
import resource
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
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
SECONDS = 120
"""Of one core; a mutant that takes longer has been noticed."""
FATES = ("survived", "found by simulation", "found by unit tests", "found by its slowness")
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
    fates: dict[Mutant, str] = {}
    until = time.monotonic() + 60 * minutes
    for mutant in mutants:
        if time.monotonic() > until:
            break
        fates[mutant] = _try(mutant, sorted(runs[mutant.path, mutant.line]))
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


def _try(mutant: Mutant, seeds: Sequence[int]) -> str:
    """What becomes of a mutant."""
    child = os.fork()
    if child == 0:
        _live(mutant, seeds)
    _, status = os.waitpid(child, 0)
    return FATES[os.WEXITSTATUS(status)] if os.WIFEXITED(status) else FATES[3]


def _live(mutant: Mutant, seeds: Sequence[int]) -> None:
    """In the child: ends with the number of its fate."""
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))
    signal.signal(signal.SIGALRM, lambda *_: os._exit(3))
    signal.alarm(10 * SECONDS)  # one that waits for ever
    with (
        Path(os.devnull).open("w") as nowhere,
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        mutant.apply()
        try:
            with workspace() as root:
                if any(run_history(make_history(seed), root) for seed in seeds[:HISTORIES]):
                    os._exit(1)
            options = ["-x", "-q", "-p", "no:cacheprovider", "-o", "addopts=", "--import-mode=importlib"]
            found = pytest.main([*options, "-m", "not slow and not spark", *_find_tests(mutant)])
            os._exit(0 if found == pytest.ExitCode.OK else 2)
        except BaseException:  # noqa: BLE001 - whatever it is, it was noticed
            os._exit(1)


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
        lines.append(f"{name:<24} {len(own) - own.count(FATES[0]):>4} of {len(own):<4} found")
    lines += ["", *(f"survived: {mutant}" for mutant in sorted(fates, key=str) if fates[mutant] == FATES[0])]
    killed = len(fates) - counts[FATES[0]]
    share = f"{100 * killed / max(1, len(fates)):.1f} %"
    kinds = ", ".join(f"{counts[fate]} {fate}" for fate in FATES)
    return "\n".join([*lines, f"{killed} of {len(fates)} found, {share} ({kinds}); {every} mutants in all"])


if __name__ == "__main__":
    sys.exit(main())
