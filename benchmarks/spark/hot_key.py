"""An equi-join where one key holds half of both streams: the largest rate that ours and Spark's own join sustain.

python benchmarks/spark/hot_key.py --window 60
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench import report
from replay import HOT_ON, STORES, Pace, largest, native_hot, ours, pace, session, state_store

HOT = 0.5
PATIENCE = 150
"""Seconds after which Spark's own join is taken not to keep up: then it is far from it."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--window", type=int, default=60)
    parser.add_argument("--starts", type=float, nargs=2, default=[10_000, 100], help="first rates: ours, Spark's")
    options = parser.parse_args()
    spark = session()
    found: list[tuple[str, float, Pace]] = []
    for store in STORES:
        with state_store(spark, store):
            best = largest(
                lambda r: pace(spark, native_hot, r, options.window, hot=HOT, patience=PATIENCE), options.starts[1]
            )
        found.append((f"Spark's join, {store}", *best))
        print(found[-1][:2], flush=True)
    best = largest(lambda r: pace(spark, ours(on=HOT_ON), r, options.window, hot=HOT), options.starts[0])
    found.append(("streamjoin", *best))
    spark.stop()
    natives = max(rate for name, rate, _ in found if name != "streamjoin")
    rows = [[name, rate, p.speed, p.cpu_per_million, f"{rate / natives:.1f}x"] for name, rate, p in found]
    about = (
        f"`{HOT_ON}` on local[2], {options.window} s windows, one key in half of the rows of both streams, the others "
        "one of a million. Largest rate per stream that was sustained, micro-batches of 10 s, noop sink."
    )
    report("spark-hot-key", about, ["contestant", "rate", "event s per s", "CPU s per M rows", "to Spark's"], rows)


if __name__ == "__main__":
    main()
