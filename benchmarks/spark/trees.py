"""Steady speed of several versions of streamjoin: the sustained benchmark at one rate, each version in its turn.

Every run is a process of its own, with Spark, settings, rows and dependencies of today; only `src` is of the version.
A version is a commit, or `.` for the files as they are here. Compiled code is kept between the runs of a version, and
each has one run first that does not count: nothing is compiled while the clock runs.

    python benchmarks/spark/trees.py 34b6aad 951ac2a . --rate 20000 --window 60 --rounds 5
"""

import argparse
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench import Median, report

HERE = Path(__file__).parents[2]
CACHES = ("STREAMJOIN_CACHE_DIR", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
WARM_UP = 3
"""Micro-batches of a smaller query before the measured one: Python workers start, Java compiles its hot paths."""


def run(rate: float, window: float, batches: int) -> dict[str, float]:
    """The pace of the version that Python finds, in this process."""
    from replay import ours, pace, session

    spark = session()
    pace(spark, ours(), rate, window / 3, batches=WARM_UP)
    found = pace(spark, ours(), rate, window, batches=batches)
    state = found.median(lambda p: p["stateOperators"][0]["memoryUsedBytes"])
    matches = found.median(lambda p: p["observedMetrics"]["streamjoin"]["matches"])
    spark.stop()
    cpu = {"cpu": found.cpu_per_million, "python": found.python_per_million}
    return {"speed": found.speed, **cpu, "matches": matches, "state": state}


def check_out(version: str, place: Path) -> Path:
    """Where the `src` of a version lies: a copy of the commit's, or our own."""
    if version == ".":
        return HERE / "src"
    archive = subprocess.run(["git", "-C", str(HERE), "archive", version, "src"], capture_output=True, check=True)
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(place, filter="data")
    return place / "src"


def measure(source: Path, caches: Path, options: argparse.Namespace, batches: int) -> dict[str, float]:
    """One run in a process of its own, with compiled code in these directories."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "STREAMJOIN_"))}
    environment |= {name: str(caches / name) for name in CACHES} | {"PYTHONPATH": str(source)}
    sizes = ["--rate", str(options.rate), "--window", str(options.window), "--batches", str(batches)]
    command = [sys.executable, __file__, "--run", *sizes]
    out = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    found: dict[str, float] = json.loads(out.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="*", default=["."], help="commits, the first to compare with; . is this tree")
    parser.add_argument("--rate", type=float, default=20_000)
    parser.add_argument("--window", type=float, default=60)
    parser.add_argument("--batches", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--name", default="spark-trees")
    parser.add_argument("--run", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        print(json.dumps(run(options.rate, options.window, options.batches)))
        return
    seen: dict[str, list[dict[str, float]]] = {version: [] for version in options.versions}
    with tempfile.TemporaryDirectory(prefix="streamjoin-trees-", ignore_cleanup_errors=True) as scratch:
        homes = {version: Path(scratch) / str(number) for number, version in enumerate(seen)}
        sources = {version: check_out(version, home) for version, home in homes.items()}
        for number in range(options.rounds + 1):
            for version in list(seen)[:: 1 if number % 2 else -1]:
                batches = options.batches if number else WARM_UP
                found = measure(sources[version], homes[version] / "caches", options, batches)
                print(f"    {version}, {f'round {number}' if number else 'warm-up'}: {found}", flush=True)
                if number:
                    seen[version].append(found)
    table = []
    first: list[Median] = []
    for version, found in seen.items():
        medians = [Median.of(each[part] for each in found) for part in ("speed", "cpu", "python")]
        first = first or medians
        table.append([version, *(cell for own, base in zip(medians, first, strict=True) for cell in (own, own / base))])
    about = (
        f"The papers' benchmark on local[2], noop sink, {options.rate:,.0f} rows/s a stream, {options.window:g} s "
        f"windows, which are full: {options.batches} micro-batches of 10 s a run, each run a process of its own; "
        f"median and spread of {options.rounds} runs in turns. `.` is the tree that the commit below names."
    )
    figures = ["event s per s", "CPU s per M rows", "of it Python"]
    header = ["version", *(cell for figure in figures for cell in (figure, "to the first"))]
    report(options.name, about, header, table)


if __name__ == "__main__":
    main()
