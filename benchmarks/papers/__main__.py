"""``make bench``: run the papers' experiments, then write the report.

    python -m benchmarks.papers --list
    python -m benchmarks.papers --quick --only scale-gate cell-simd

What was measured before is kept, and not measured again unless ``--again`` says so.
"""

import argparse
import sys
import time
import traceback
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from benchmarks.papers.experiment import Experiment, Steps
from benchmarks.papers.kept import Results
from benchmarks.papers.listed import EXPERIMENTS
from benchmarks.papers.page import write_report

OUT = Path(__file__).parents[1] / "results" / "papers"


class Bar(Steps):
    """Progress on the terminal: one bar an experiment."""

    def __init__(self, progress: Progress, name: str) -> None:
        self._progress, self._task = progress, progress.add_task(name, total=None, what="")

    def expect(self, count: int) -> None:
        self._progress.update(self._task, total=count)

    def done(self, what: str) -> None:
        self._progress.update(self._task, advance=1, what=what)


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="small sizes: minutes instead of half an hour")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these experiments alone")
    parser.add_argument("--again", action="store_true", help="measure again what is kept")
    parser.add_argument("--list", action="store_true", help="name the experiments and end")
    parser.add_argument("--report", action="store_true", help="measure nothing, write the report of what is kept")
    parser.add_argument("--out", type=Path, help=f"where results are kept, by default {OUT.name}/full or quick")
    parser.add_argument("--page", type=Path, help="where the report goes, by default beside the results")
    given = parser.parse_args()
    console = Console()
    if given.list:
        console.print(list_experiments())
        return 0
    unknown = set(given.only or ()) - {experiment.name for experiment in EXPERIMENTS}
    if unknown:
        parser.error(f"--only: no experiment {', '.join(sorted(unknown))}; --list names them")
    results = Results(given.out or OUT / ("quick" if given.quick else "full"))
    failed = [] if given.report else run_all(results, given.quick, given.only, given.again, console)
    kept = [(experiment, results.read(experiment)) for experiment in EXPERIMENTS]
    found = [(experiment, one) for experiment, one in kept if one is not None]
    if found:
        page = write_report(found, given.page or results.home)
        console.print(f"the report: {page}", highlight=False)
    return 1 if failed or not found else 0


def run_all(results: Results, quick: bool, only: list[str] | None, again: bool, console: Console) -> list[Experiment]:
    """Run what is not kept; those that failed."""
    columns = TextColumn("{task.description:<20}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    failed = []
    with Progress(*columns, TextColumn("{task.fields[what]}"), console=console) as progress:
        for experiment in EXPERIMENTS:
            if only and experiment.name not in only:
                continue
            if not again and results.read(experiment, quick) is not None:
                progress.console.print(f"{experiment.name}: kept; --again measures it again", highlight=False)
                continue
            begun = time.monotonic()
            bar = Bar(progress, experiment.name)
            try:
                found = experiment.run(experiment.quick if quick else experiment.full, bar)
            except Exception:  # noqa: BLE001  one that fails leaves the others their turn
                traceback.print_exc()
                failed.append(experiment)
                continue
            results.write(experiment, quick, found, time.monotonic() - begun)
            progress.console.print(f"{experiment.name}: {time.monotonic() - begun:.0f} s", highlight=False)
    for experiment in failed:
        console.print(f"failed: {experiment.name}", style="red")
    return failed


def list_experiments() -> Table:
    table = Table("name", "paper", "what is measured", box=None)
    for experiment in EXPERIMENTS:
        table.add_row(experiment.name, experiment.paper, experiment.title)
    return table


if __name__ == "__main__":
    sys.exit(main())
