"""What layouts cost on Spark: rows sent and state held per input row, probes per row, the rate they sustain.

python benchmarks/spark/layouts.py --cells 1 2 4 8 9 16
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench import report
from replay import largest, ours, pace, session

from streamjoin import Cell, Grid, Keyed, Scale
from streamjoin.layout import Layout
from streamjoin.layout.grid import near_square


def layouts(cells: int) -> list[Layout]:
    found: list[Layout] = [near_square(cells)]
    if cells in (2, 4, 9, 16):
        found += [Scale(cells), Cell(cells), Keyed(cells)]
        found += [Keyed(cells, spread=2)] if cells in (4, 16) else []
        found += [Grid(found[0].m, found[0].n, by="time")] if isinstance(found[0], Grid) and cells > 1 else []
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, nargs="+", default=[1, 2, 4, 8, 9, 16])
    parser.add_argument("--window", type=int, default=60)
    parser.add_argument("--start", type=float, default=20_000)
    parser.add_argument("--tries", type=int, default=3)
    options = parser.parse_args()
    spark, rows = session(), []
    for cells in options.cells:
        for layout in layouts(cells):
            rate, found = largest(
                lambda r, layout=layout: pace(spark, ours(layout), r, options.window, batches=4),
                options.start,
                options.tries,
            )

            def per_row(metric: str, found=found) -> float:
                return found.median(
                    lambda p: (m := p["observedMetrics"]["streamjoin"])[metric] / (m["rows_left"] + m["rows_right"])
                )

            live = 2 * rate * options.window
            held = found.median(lambda p: p["observedMetrics"]["streamjoin"]["state_rows"]) / live
            size = found.median(lambda p: p["observedMetrics"]["streamjoin"]["state_bytes"]) / live
            spread = found.median(lambda p: p["observedMetrics"]["streamjoin"]["load_std_percent"])
            row = [str(layout), cells, per_row("rows_sent"), per_row("probes"), held, size, rate, spread]
            rows.append(row)
            print(row, flush=True)
    spark.stop()
    about = (
        f"The papers' benchmark on local[2], {options.window} s windows, two shuffle partitions: per input row those "
        "that were sent to cells, those that probed there, those held in state and their bytes; the largest rate per "
        "stream that was sustained; the spread of comparisons over the cells within a micro-batch."
    )
    header = ["layout", "cells", "sent", "probes", "held", "state bytes", "rate", "spread of load, %"]
    report("spark-layouts", about, header, rows)


if __name__ == "__main__":
    main()
