"""The largest rate that a join sustains on two cores: ours, Spark's own with the bucket trick, Spark moving the rows.

The papers' benchmark, replayed from files as fast as it can be processed. Spark's own join is given the better of both
state stores and of micro-batches of 1, 5 and 10 s: all six are tried at one rate, and the best is taken to its limit.

    python benchmarks/spark/sustained.py --window 60 300 900
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench import report
from pyspark.sql import SparkSession
from replay import STORES, Pace, largest, native, ours, pace, session, state_store, through

STARTS = {60: (50_000, 1_900), 300: (28_000, 900), 900: (12_000, 540)}
"""Where the search begins, by window: ours, Spark's own."""

STEPS = (1, 5, 10)
SCREENED_AT = 0.4
"""The settings of Spark's own join are compared at this part of the rate where its search begins."""


def native_pace(spark: SparkSession, store: str, step: float, rate: float, window: float, patience: float) -> Pace:
    with state_store(spark, store):
        return pace(spark, native, rate, window, step, max(5, round(20 / step)), patience=patience)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--window", type=int, nargs="+", default=[60, 300, 900])
    parser.add_argument("--screened", type=int, nargs="*", default=[60, 300, 900], help="where all six are tried")
    parser.add_argument("--name", default="spark-sustained")
    parser.add_argument("--patience", type=float, default=900)
    options = parser.parse_args()
    spark, rows = session(), []
    best = ("hdfs", 10)

    def add(window: int, name: str, rate: float, found: Pace, native_rate: float) -> None:
        results = found.median(lambda p: p["observedMetrics"]["streamjoin"]["matches"] / 10) if "stream" in name else ""
        ratio = f"{rate / native_rate:.1f}x" if native_rate and "moves" not in name else ""
        rows.append([f"{window} s", name, rate, found.speed, found.cpu_per_million, results, ratio])
        print(rows[-1], flush=True)

    for window in options.window:
        start_ours, start_native = STARTS.get(window, STARTS[300])
        print(f"{window} s windows", flush=True)
        if window in options.screened:
            rate = start_native * SCREENED_AT
            speeds = {}
            for store in STORES:
                for step in STEPS:
                    speeds[store, step] = native_pace(spark, store, step, rate, window, options.patience / 3).speed
                    print(
                        f"  Spark's join at {rate:g} rows/s, {store}, {step} s: {speeds[store, step]:.2f}", flush=True
                    )
            best = max(speeds, key=lambda key: speeds[key])
        store, step = best
        rate, found = largest(lambda r: native_pace(spark, store, step, r, window, options.patience), start_native)
        native_rate = rate
        add(window, f"Spark's join, {store}, {step} s", rate, found, native_rate)
        rate, found = largest(lambda r: pace(spark, ours(), r, window), start_ours)
        add(window, "streamjoin, 10 s", rate, found, native_rate)
        add(window, "Spark moves the rows, 10 s", rate, pace(spark, through, rate, window, batches=40), native_rate)
    spark.stop()
    about = (
        "The papers' benchmark on local[2], noop sink, full windows; rates are rows per second and stream: the "
        "largest rate that was sustained (event seconds per second of 1 or more, median of the measured batches), and "
        "for Spark moving the rows the speed at our rate. Micro-batches of the length that is named."
    )
    header = ["window", "contestant", "rate", "event s per s", "CPU s per M rows", "results per event s", "to Spark's"]
    report(options.name, about, header, rows)


if __name__ == "__main__":
    main()
