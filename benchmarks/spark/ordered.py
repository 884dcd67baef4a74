"""What order costs: ordered results, and a count window, beside the same join without; and the numbering alone.

python benchmarks/spark/ordered.py --rate 26000 --rounds 3
python benchmarks/spark/ordered.py --numbering          # without Spark: how many rows a second a cell numbers
"""

import argparse
import sys
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from bench import Median, report

from streamjoin.pane import Rows, no_columns
from streamjoin.plan import Block
from streamjoin.worker.ranks import number

CONTESTANTS = {"unordered": {}, "ordered": {"ordered": True}, "last(n)": {"counts": True}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--window", type=int, default=60)
    parser.add_argument("--rate", type=float, default=26_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batches", type=int, default=5)
    parser.add_argument("--step", type=float, default=10)
    parser.add_argument("--numbering", action="store_true", help="the numbering alone")
    options = parser.parse_args()
    if options.numbering:
        compare_numbering()
        return
    from replay import ours, pace, session

    spark = session()
    seconds: dict[str, list[float]] = {name: [] for name in CONTESTANTS}
    for _ in range(options.rounds):
        for name, given in CONTESTANTS.items():
            found = pace(spark, ours(**given), options.rate, options.window, step=options.step, batches=options.batches)
            seconds[name].append(float(found.median(lambda p: p["durationMs"]["triggerExecution"] / 1000)))
            print(name, seconds[name][-1], flush=True)
    spark.stop()
    medians = {name: Median.of(taken) for name, taken in seconds.items()}
    rows = [[name, median, median / medians["unordered"]] for name, median in medians.items()]
    about = (
        f"The papers' benchmark on local[2], {options.window} s windows (n: as many rows), {options.rate:,.0f} rows/s "
        f"per stream, micro-batches of {options.step:g} s: seconds of a micro-batch, median of {options.rounds} runs "
        "in turns."
    )
    report("spark-ordered", about, ["results", "seconds", "to unordered"], rows)


def compare_numbering(count: int = 1_000_000, cells: int = 4) -> None:
    """Rows a second that a cell puts in order and numbers, given the tally of all and its own share of them."""
    rng, rows = np.random.default_rng(1), []
    for name, times in (("microseconds", rng.integers(0, 10_000_000, count)), ("74 times", rng.integers(0, 74, count))):
        tally = Rows(times, (), no_columns(count), route=rng.integers(-(2**63), 2**63, count))
        own = Block(tally.take(np.flatnonzero(rng.integers(0, cells, count) == 0)))
        number(own, tally, 0)
        taken = []
        for _ in range(5):
            start = perf_counter()
            number(own, tally, 0)
            taken.append(count / (perf_counter() - start))
        rows.append([name, Median.of(taken)])
    about = (
        f"One cell of {cells} numbers its rows by a tally of {count:,} rows in no order: rows of the tally a second."
    )
    report("numbering", about, ["times", "rows/s"], rows)


if __name__ == "__main__":
    main()
