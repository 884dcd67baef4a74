"""The first query on a cold machine: seconds from `start()` to the first commit, with nothing compiled on disk.

Every run is a process of its own: Spark is up (session made, one job without Python done, no Python worker started),
rows lie in Parquet files, then the join is built and started. A cold run has empty directories for all compiled code,
Numba's own included; a warm run has those that a cold run has filled. Results are compared with a double loop in NumPy.

    python benchmarks/spark/cold_start.py --runs 5 [--before DIRECTORY]

`--before` names another checkout of streamjoin, which then runs in turns with this one.
"""

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from bench import Median, report
from numpy.typing import NDArray

ROWS = 10_000
HERE = Path(__file__).parents[2]
CACHES = ("STREAMJOIN_CACHE_DIR", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
ON = "abs(l.x - r.a) <= 10 AND abs(l.y - r.b) <= 10"
SCHEMAS = {"left": "ts timestamp, x int, y float, id long", "right": "ts timestamp, a int, b float, id long"}


def rows(side: str) -> pa.Table:
    """The papers' rows: values from 1 to 10,000, all within a second."""
    rng = np.random.default_rng(side == "left")
    first, second = [field.split()[0] for field in SCHEMAS[side].split(", ")[1:3]]
    return pa.table(
        {
            "ts": pa.array(np.sort(rng.integers(0, 1_000_000, ROWS)), pa.timestamp("us", tz="UTC")),
            first: rng.integers(1, 10_001, ROWS, np.int32),
            second: rng.uniform(1, 10_000, ROWS).astype(np.float32),
            "id": np.arange(ROWS),
        }
    )


def expected() -> set[tuple[int, int]]:
    """The pairs of identifiers, by a double loop."""
    left, right = ([column.to_numpy() for column in rows(side).columns] for side in ("left", "right"))

    def met(i: int) -> NDArray[np.bool_]:
        return (np.abs(left[1][i] - right[1]) <= 10) & (np.abs(left[2][i] - right[2]) <= 10)

    return {(i, int(j)) for i in range(ROWS) for j in np.flatnonzero(met(i))}


def run() -> dict[str, float]:
    """One query in this process."""
    import streamjoin as sj

    spark = sj.session("benchmark", master="local[2]", partitions=2, conf={"spark.sql.session.timeZone": "UTC"})
    assert spark.range(10).selectExpr("sum(id)").first()[0] == 45
    with tempfile.TemporaryDirectory(prefix="streamjoin-bench-", ignore_cleanup_errors=True) as scratch:
        home = Path(scratch)
        for side in SCHEMAS:
            (home / side).mkdir()
            pq.write_table(rows(side), home / side / "0.parquet")
        streams = [spark.readStream.schema(schema).parquet(str(home / side)) for side, schema in SCHEMAS.items()]
        built = time.perf_counter()
        joined = sj.join(*streams, on=ON, window=sj.within("60 seconds"), time="ts", delay="0 seconds")
        writer = joined.select("id_l", "id_r").writeStream.format("memory").queryName("found")
        writer = writer.option("checkpointLocation", str(home / "checkpoint"))
        spent, started = cpu_seconds(), time.perf_counter()
        query = writer.start()
        commit = home / "checkpoint" / "commits" / "0"
        while query.isActive and not commit.exists():
            time.sleep(0.005)
        ended, spent = time.perf_counter(), cpu_seconds() - spent
        if error := query.exception():
            raise error
        query.stop()
        assert {tuple(row) for row in spark.table("found").collect()} == expected()
    spark.stop()
    return {"join": started - built, "commit": ended - started, "cpu": spent, "load": os.getloadavg()[0]}


def cpu_seconds() -> float:
    """CPU time of this process and all below it: Python, Java, Python workers, what compiles ahead."""
    own = os.times()
    total = own.user + own.system + own.children_user + own.children_system
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            total += times.user + times.system
    return total


def measure(code: Path, caches: Path) -> dict[str, float]:
    """One query in a process of its own, with compiled code in these directories."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "STREAMJOIN_"))}
    environment |= {name: str(caches / name) for name in CACHES} | {"PYTHONPATH": str(code / "src")}
    command = [sys.executable, __file__, "--run"]
    out = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    found: dict[str, float] = json.loads(out.splitlines()[-1])
    return found


def turns(contestants: dict[str, Path], runs: int) -> Iterator[tuple[str, str, dict[str, float]]]:
    """Cold and warm runs of all, in turns."""
    for _ in range(runs):
        for name, code in contestants.items():
            with tempfile.TemporaryDirectory(prefix="streamjoin-cold-", ignore_cleanup_errors=True) as caches:
                for state in ("cold", "warm"):
                    found = measure(code, Path(caches))
                    print(f"    {name}, {state}: {found}", flush=True)
                    yield name, state, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--before", type=Path, help="another checkout")
    parser.add_argument("--run", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        print(json.dumps(run()))
        return
    contestants = ({"before this change": options.before} if options.before else {}) | {"streamjoin": HERE}
    seen: dict[tuple[str, str], list[dict[str, float]]] = {}
    for name, state, found in turns(contestants, options.runs):
        seen.setdefault((name, state), []).append(found)
    table = []
    for (name, state), found in seen.items():
        commits = [each["commit"] for each in found]
        medians = (statistics.median(each[part] for each in found) for part in ("cpu", "load", "join"))
        table.append([name, state, Median.of(commits), *medians])
    about = (
        f"Seconds from `start()` to the first commit, which holds {ROWS:,} rows a side of `{ON}`, on local[2] with 2 "
        f"partitions; median and spread of {options.runs} runs, each in a process of its own. Spark was up, without a "
        "Python worker. Cold: no compiled code on disk. Warm: what the cold run left. `join` is the call of `sj.join` "
        "just before, which is not in the figure. The pairs found are those of a double loop."
    )
    header = ["", "compiled code", "seconds to commit", "CPU seconds", "load average", "seconds in join"]
    report("spark-cold-start", about, header, table)


if __name__ == "__main__":
    main()
