"""`make simulate`: one seed again, or as many as there is time for.

SEED=123 runs one history and, if it fails, prints the smallest that does. HOURS=2 or MINUTES=3 run seeds from a random
one on (FROM=7: from that one on); HOURS also tells which branches of the product were taken, in one history of twenty.
PLANTED=1 plants faults in the product and writes into planted.md how soon each is found. BRANCHES=500 traces so many
histories.
"""

import random
import sys
import time
from itertools import count
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from tests.simulation import reach
from tests.simulation.faults import list_missing
from tests.simulation.history import make_history
from tests.simulation.joins import CLASSES, PLACES
from tests.simulation.planted import PLANTED, SEEDS, find_planted
from tests.simulation.run import Failure, Tally, run_history, run_seeds, workspace
from tests.simulation.shrink import shrink

STEP = 5.0
"""Seconds between two looks at the clock."""
TABLE = Path(__file__).with_name("planted.md")
_ABOUT = """# How soon planted faults are found

Histories, and seconds of one core, until each fault of `planted.py` was found, from each of five seeds: round numbers,
set before the first run. {missed} of {tried} were not found within a minute. Written by `make simulate PLANTED=1`.
"""


@click.command(help=__doc__)
@click.option("--seed", type=int, help="run this history alone")
@click.option("--start", type=int, help="the first seed of many")
@click.option("--hours", type=float, default=0.0)
@click.option("--minutes", type=float, default=0.0)
@click.option("--planted", is_flag=True, help="find the planted faults")
@click.option("--branches", type=int, default=0, help="which branches of the product so many histories take")
def main(seed: int | None, start: int | None, hours: float, minutes: float, planted: bool, branches: int) -> None:
    console = Console()
    with workspace() as root:
        if planted:
            sys.exit(_show_planted(console, root))
        if branches:
            taken: set[reach.Branch] = set()
            with reach.traced(taken):
                run_seeds(iter(range(start or 1, (start or 1) + branches)), Tally(), root)
            console.print(reach.report(taken), highlight=False)
            return
        if seed is not None:
            failure = run_history(make_history(seed), root)
            console.print(f"seed {seed}: {'failed' if failure else 'fine'}")
        else:
            failure = _run_many(console, root, start, hours * 3600 + minutes * 60 or 60.0, set() if hours else None)
        if failure is not None:
            _explain(console, failure, root)
            sys.exit(1)


def _run_many(
    console: Console, root: Path, start: int | None, seconds: float, taken: set[reach.Branch] | None
) -> Failure | None:
    seeds = count(random.SystemRandom().randrange(10**9) if start is None else start)
    tally, end, failure = Tally(), time.monotonic() + seconds, None
    columns = BarColumn(), TextColumn("{task.description}"), TimeRemainingColumn()
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=seconds)
        while failure is None and (now := time.monotonic()) < end:
            failure = run_seeds(seeds, tally, root, min(end, now + STEP), taken)
            progress.update(task, completed=seconds - (end - time.monotonic()), description=str(tally))
    console.print(tally.hits.table(), highlight=False)
    for what, counts, places in (
        ("layouts x hows", tally.hits.counts, PLACES),
        ("windows x conditions", tally.hits.conditions, CLASSES),
    ):
        missing = list_missing(counts, places)
        console.print("\n".join([f"never hit, of faults in {what}:", *(missing or ["  none"])]), highlight=False)
    if taken is not None:
        console.print(reach.report(taken), highlight=False)
    console.print(str(tally), highlight=False)
    return failure


def _explain(console: Console, failure: Failure, root: Path) -> None:
    console.print(f"seed {failure.history.seed} failed: {failure.error}", highlight=False, markup=False)
    console.print("Looking for the smallest history that fails, for a minute at most.")
    smallest = shrink(failure, lambda history: run_history(history, root))
    console.print(str(smallest), highlight=False, markup=False)
    console.print(f"To run it again: make simulate SEED={failure.history.seed}")


def _show_planted(console: Console, root: Path) -> int:
    """Find each fault from each seed, and write how many histories and seconds it took."""
    header = ["planted", *(f"from {seed:,}" for seed in SEEDS)]
    lines, missed = ["| " + " | ".join(header) + " |", "|---" * len(header) + "|"], 0
    for name in PLANTED:
        each = [find_planted(name, seed, root) for seed in SEEDS]
        missed += each.count(None)
        cells = [f"{found[0]} in {found[1]:.1f} s" if found else "not found" for found in each]
        lines.append("| " + " | ".join([name, *cells]) + " |")
        console.print(lines[-1], highlight=False)
    TABLE.write_text("\n".join([_ABOUT.format(missed=missed, tried=len(PLANTED) * len(SEEDS)), *lines]) + "\n")
    return 1 if missed else 0


if __name__ == "__main__":
    main()
