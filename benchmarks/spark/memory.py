"""The memory of a join with long windows: the proportional set size (PSS) of Java and Python together.

python benchmarks/spark/memory.py --window 900 --rate 5000
"""

import argparse
import sys
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench import report
from replay import ours, pace

import streamjoin as sj


def pss() -> dict[str, float]:
    """Megabytes that this process and those below it hold, shared pages divided among their users."""
    found = {"Java": 0.0, "Python": 0.0}
    for process in psutil.Process().children(recursive=True):
        try:
            kind = "Java" if "java" in process.name() else "Python"
            found[kind] += process.memory_full_info().pss / 1e6
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    found["Python"] += psutil.Process().memory_full_info().pss / 1e6
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--window", type=int, default=900)
    parser.add_argument("--rate", type=float, default=5000)
    parser.add_argument("--heap", default="2g")
    options = parser.parse_args()
    conf = {"spark.sql.session.timeZone": "UTC", "spark.driver.memory": options.heap}
    spark = sj.session("benchmark", master="local[2]", partitions=2, conf=conf)
    most: dict[str, float] = {"all": 0.0}

    def watch() -> None:
        nonlocal most
        now = pss()
        if sum(now.values()) > most["all"]:
            most = {**now, "all": sum(now.values())}

    found = pace(spark, ours(), options.rate, options.window, batches=8, meanwhile=watch)
    spark.stop()
    live, held = (
        found.median(lambda p, n=name: p["observedMetrics"]["streamjoin"][n]) for name in ("state_rows", "state_bytes")
    )
    about = (
        f"{options.window} s windows, {options.rate:,.0f} rows/s per stream, two cells, {options.heap} of heap: the "
        "most megabytes (PSS) that all processes held at one time, with the cached segments they map."
    )
    header = ["Java MB", "Python MB", "all MB", "rows in state", "state MB", "event s per s"]
    report("spark-memory", about, header, [[most["Java"], most["Python"], most["all"], live, held / 1e6, found.speed]])


if __name__ == "__main__":
    main()
