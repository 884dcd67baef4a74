"""What all benchmarks share: contestants timed in turns, medians, a table with the machine and the command.

Figures are ratios between contestants that ran side by side. Times are CPU times of the calling thread, so that other
work on the machine disturbs them little.
"""

import importlib.metadata
import platform
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("streamjoin", "numba", "numpy", "pyarrow", "polars")


def timed(contestants: Mapping[str, Callable[[], object]], repetitions: int = 7) -> dict[str, float]:
    """Median seconds of each, run in turns after one warm-up."""
    for run in contestants.values():
        run()
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(repetitions):
        for name, run in contestants.items():
            start = time.process_time()
            run()
            seconds[name].append(time.process_time() - start)
    return {name: statistics.median(taken) for name, taken in seconds.items()}


def report(name: str, about: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table, and keep it under ``benchmarks/results`` with what is needed to repeat it."""
    cells = [[_written(cell) for cell in row] for row in rows]
    widths = [max(len(row[k]) for row in [list(header), *cells]) for k in range(len(header))]

    def line(row: Sequence[str]) -> str:
        return "| " + " | ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) + " |"

    table = "\n".join(
        [line(list(header)), "|" + "|".join("-" * (w + 1) + ":" for w in widths) + "|", *map(line, cells)]
    )
    print(f"\n{about}\n\n{table}\n")
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.md").write_text(f"# {name}\n\n{about}\n\n{table}\n\n{_circumstances()}\n")


def _written(cell: object) -> str:
    if isinstance(cell, float):
        return f"{cell:,.0f}" if abs(cell) >= 1000 else f"{cell:.3g}"
    return f"{cell:,}" if isinstance(cell, int) else str(cell)


def _circumstances() -> str:
    versions = ", ".join(f"{package} {importlib.metadata.version(package)}" for package in PACKAGES)
    script = Path(sys.argv[0]).resolve().relative_to(Path(__file__).parent.parent.resolve())
    command = " ".join(["python", str(script), *sys.argv[1:]])
    return f"`{command}` on {date.today()}: {_processor()}, Python {platform.python_version()}, {versions}."


def _processor() -> str:
    for row in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else ():
        if row.startswith("model name"):
            return row.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
