"""What all benchmarks share: contestants timed in turns, medians with their spread, a table, a history.

Figures are ratios between contestants that ran side by side. Times are CPU times of the calling thread, so that other
work on the machine disturbs them little.
"""

import importlib.metadata
import json
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
HISTORY = RESULTS / "history.jsonl"
PACKAGES = ("streamjoin", "numba", "numpy", "pyarrow", "polars")


class Median(float):
    """The median of several measurements, which also knows the least and the greatest of them.

    >>> str(Median.of([3.0, 1.0, 2.0]) * 10), Median.of([4.0]) / Median.of([2.0])
    ('20 (10 to 30)', 2.0)
    """

    least: float
    most: float

    @classmethod
    def of(cls, measured: Iterable[float]) -> "Median":
        values = sorted(measured)
        found = cls(statistics.median(values))
        found.least, found.most = values[0], values[-1]
        return found

    def __mul__(self, factor: float) -> "Median":
        return Median.of([self.least * factor, float(self) * factor, self.most * factor])

    def __truediv__(self, divisor: float) -> float:
        """By a plain number the spread stays; by another median, the ratio of the two."""
        return float(self) / float(divisor) if isinstance(divisor, Median) else self * (1 / divisor)

    def __str__(self) -> str:
        return f"{_write(float(self))} ({_write(self.least)} to {_write(self.most)})"


def measure(contestants: Mapping[str, Callable[[], object]], repetitions: int = 7) -> dict[str, Median]:
    """Median seconds of each, run in turns after one warm-up."""
    for run in contestants.values():
        run()
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(repetitions):
        for name, run in contestants.items():
            start = time.process_time()
            run()
            seconds[name].append(time.process_time() - start)
    return {name: Median.of(taken) for name, taken in seconds.items()}


class Pieces:
    """What a benchmark measured, case by case; with a file, after what earlier pieces of it measured."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self.found: dict[str, list[Any]] = json.loads(file.read_text()) if file and file.exists() else {}

    def add(self, case: str, measured: Any) -> None:
        """One more measurement of a case."""
        self.found.setdefault(case, []).append(measured)
        if self._file:
            self._file.write_text(json.dumps(self.found))


def report(name: str, about: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table, keep it in ``benchmarks/results`` with what is needed to repeat it, and add it to the history."""
    cells = [[_write(cell) for cell in row] for row in rows]
    widths = [max(len(row[k]) for row in [list(header), *cells]) for k in range(len(header))]

    def line(row: Sequence[str]) -> str:
        return "| " + " | ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) + " |"

    table = "\n".join(
        [line(list(header)), "|" + "|".join("-" * (w + 1) + ":" for w in widths) + "|", *map(line, cells)]
    )
    print(f"\n{about}\n\n{table}\n")
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.md").write_text(f"# {name}\n\n{about}\n\n{table}\n\n{_describe_circumstances()}\n")
    entry = {"name": name, "date": str(date.today()), "commit": find_commit(), "command": _find_command()}
    with HISTORY.open("a") as history:
        history.write(json.dumps(entry | {"header": list(header), "rows": cells}, ensure_ascii=False) + "\n")


def _write(cell: object) -> str:
    if isinstance(cell, Median):
        return str(cell)
    if isinstance(cell, float):
        return f"{cell:,.0f}" if abs(cell) >= 1000 else f"{cell:.3g}"
    return f"{cell:,}" if isinstance(cell, int) else str(cell)


def _describe_circumstances() -> str:
    versions = ", ".join(f"{package} {importlib.metadata.version(package)}" for package in PACKAGES)
    where = f"{find_processor()}, Python {platform.python_version()}, {versions}"
    return f"`{_find_command()}` on {date.today()} at {find_commit()}: {where}."


def _find_command() -> str:
    script = Path(sys.argv[0]).resolve().relative_to(Path(__file__).parent.parent.resolve())
    return " ".join(["python", str(script), *sys.argv[1:]])


def find_commit() -> str:
    """The commit that was measured, marked where files differ from it."""
    git = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty=+"]
    try:
        return subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "no commit"


def find_processor() -> str:
    for row in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else ():
        if row.startswith("model name"):
            return row.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
