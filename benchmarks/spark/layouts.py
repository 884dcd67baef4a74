"""What layouts cost on Spark: rows sent and state held per input row, probes per row, the rate they sustain.

python benchmarks/spark/layouts.py                  # the largest rate that each sustains: an hour or more
python benchmarks/spark/layouts.py --only 16000     # how fast each is at one rate: 20 minutes
"""

import argparse
import math
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench import report
from replay import Pace, largest, ours, pace, session

from streamjoin import Cell, Keyed, Scale
from streamjoin.layout import Layout
from streamjoin.layout.grid import find_near_square

START = 40_000


def layouts(cells: int) -> list[Layout]:
    found: list[Layout] = [find_near_square(cells)]
    if cells in (2, 4, 9, 16):
        found += [Scale(cells), Cell(cells), Keyed(cells)]
        found += [Keyed(cells, spread=2)] if cells in (4, 16) else []
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, nargs="+", default=[1, 2, 4, 9, 16])
    parser.add_argument("--window", type=int, default=60)
    parser.add_argument("--only", type=float, metavar="RATE", help="one rate for all instead of the largest of each")
    options = parser.parse_args()
    spark, rows = session(), []
    sustained: dict[str, float] = {}
    for cells in options.cells:
        for layout in layouts(cells):

            def at(rate: float, layout: Layout = layout) -> Pace:
                return pace(spark, ours(layout), rate, options.window, batches=4)

            if options.only:
                rate, found = options.only, at(options.only)
            else:  # where the same layout got to with fewer cells is a good place to start
                kind = re.sub(r"\d+", "n", str(layout))
                rate, found = largest(at, sustained.get(kind) or START)
                sustained[kind] = rate
            metrics = [p["observedMetrics"]["streamjoin"] for p in found.batches]
            arrived = sum(m["rows_left"] + m["rows_right"] for m in metrics) or math.nan
            live = 2 * rate * options.window * len(metrics) or math.nan
            row = [
                *(str(layout), layout.cells),
                *(sum(m[name] for m in metrics) / arrived for name in ("rows_sent", "probes")),
                *(sum(m[name] for m in metrics) / live for name in ("state_rows", "state_bytes")),
                *(rate, found.speed, found.cpu_per_million),
            ]
            rows.append(row)
            print(row, flush=True)
    spark.stop()
    about = (
        f"The papers' benchmark on local[2], {options.window} s windows, two shuffle partitions: per input row those "
        "that were sent to cells and those that probed there; per live row those held in state (the batch being "
        "joined counts too) and their bytes with indexes. The rate is the largest that was found to be sustained, to "
        "about a tenth, or the one that was asked for: event seconds per second of 1 or more are sustained."
    )
    header = ["layout", "cells", "sent", "probes", "held", "state bytes", "rate", "event s per s", "CPU s per M rows"]
    report("spark-layouts", about, header, rows)


if __name__ == "__main__":
    main()
