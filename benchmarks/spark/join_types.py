"""What it costs to know who met nobody: join types beside the inner join, on the same rows.

python benchmarks/spark/join_types.py --window 60 --rate 8000
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench import Median, report
from replay import ours, pace, session

from streamjoin.spec.how import HOWS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--window", type=int, default=60)
    parser.add_argument("--rate", type=float, default=8000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--how", nargs="+", default=list(HOWS), choices=HOWS, help="inner is always among them")
    options = parser.parse_args()
    spark = session()
    seconds: dict[str, list[float]] = {how: [] for how in dict.fromkeys(["inner", *options.how])}
    for _ in range(options.rounds):
        for how, taken in seconds.items():
            found = pace(spark, ours(how=how), options.rate, options.window, batches=7)
            taken.append(found.median(lambda p: p["durationMs"]["triggerExecution"] / 1000))
            print(how, taken[-1], flush=True)
    spark.stop()
    medians = {how: Median.of(taken) for how, taken in seconds.items()}
    rows = [[how, median, median / medians["inner"]] for how, median in medians.items()]
    about = (
        f"The papers' benchmark on local[2], {options.window} s windows, {options.rate:,.0f} rows/s per stream, "
        f"micro-batches of 10 s: seconds of a micro-batch, median of {options.rounds} runs in turns."
    )
    report("spark-join-types", about, ["how", "seconds", "to inner"], rows)


if __name__ == "__main__":
    main()
