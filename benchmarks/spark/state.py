"""What a micro-batch reads from state and writes to it, under windows from short to ten times as long.

python benchmarks/spark/state.py --window 60 200 600
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench import report
from replay import ours, pace, session


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--window", type=int, nargs="+", default=[60, 200, 600])
    parser.add_argument("--rate", type=float, default=2000)
    options = parser.parse_args()
    spark, rows = session(), []
    for window in options.window:
        found = pace(spark, ours(), options.rate, window, step=5, batches=9)

        def bytes_of(which: str, found=found) -> float:
            return found.median(lambda p: p["stateOperators"][0]["customMetrics"][f"rocksdbTotalBytes{which}"]) / 1e6

        arriving = options.rate * 5 * 2
        held = found.median(lambda p: p["observedMetrics"]["streamjoin"]["state_bytes"]) / 1e6
        rows.append([f"{window} s", arriving, held, bytes_of("Read"), bytes_of("Written"), found.speed])
        print(rows[-1], flush=True)
    spark.stop()
    about = (
        f"{options.rate:,.0f} rows/s per stream, micro-batches of 5 s, full windows, two cells: what is held, and what "
        "a micro-batch read from the state store and wrote to it (medians, both cells together; RocksDB's own count)."
    )
    header = ["window", "rows a batch", "held MB", "read MB", "written MB", "event s per s"]
    report("spark-state", about, header, rows)


if __name__ == "__main__":
    main()
