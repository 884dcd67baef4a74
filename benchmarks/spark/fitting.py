"""The model's constants of Spark, fitted to joins that no prediction is judged by.

python benchmarks/spark/fitting.py measure --minutes 5    # measure what is missing, for so long; again to go on
python benchmarks/spark/fitting.py fit                    # the constants that fit best, and the table

A micro-batch's seconds are a sum of constants, each times what the model counts of it; kernels' constants stay as they
are. The best constants have the least sum of squares of (predicted / measured - 1), with a light pull towards those of
`START`, so that what the joins do not tell apart stays as it was; none is below zero.
"""

import argparse
import statistics
import sys
from dataclasses import fields, replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench import RESULTS, report
from predicted import CORES, measure_missing, predict, read_measured
from workloads import FITTED, Case

from streamjoin.kernel.costs import KernelCosts
from streamjoin.model.constants import SHIPPED, Constants

MEASURED = RESULTS / "fitted-measured.jsonl"
START = Constants(
    batch=5.4e8, cell=1e7, row_in=2_250, byte_in=5, copy=50, byte_copy=1.5, stored=700, byte_stored=12, row_out=450,
    byte_out=4,
)  # fmt: skip
"""Fitted to older tables, on another machine, whose rows had some 50 bytes all."""
PULL = 0.1
"""How much a constant's doubling counts, in units of a join predicted twice as long as it took."""
FREE = tuple(f.name for f in fields(Constants) if f.name not in {k.name for k in fields(KernelCosts)})


def fit(cases: list[Case], seconds: list[float]) -> Constants:
    """The constants of Spark that fit these joins best."""
    nothing, took = START.scale(FREE, 0.0), np.array(seconds)
    probes = np.array([predict(case, nothing).seconds for case in cases])
    each = [replace(nothing, **{name: getattr(START, name)}) for name in FREE]
    parts = np.array([[predict(case, constants).seconds for constants in each] for case in cases])
    parts = (parts - probes[:, None]) / took[:, None]
    system = np.vstack([parts, PULL * np.eye(len(FREE))])
    wanted = np.concatenate([1 - probes / took, np.full(len(FREE), PULL)])
    by, step = np.ones(len(FREE)), 1 / np.linalg.norm(system, 2) ** 2
    for _ in range(20_000):  # projected gradient: the system is small
        by = np.maximum(by - step * system.T @ (system @ by - wanted), 0.0)
    return replace(START, **{name: getattr(START, name) * factor for name, factor in zip(FREE, by, strict=True)})


def report_fit() -> None:
    """The table, and beside it how far off each join is by a fit to all others."""
    done = read_measured(MEASURED)
    cases = [case for case in FITTED if (case.name, case.layout) in done]
    seconds = [statistics.median(done[case.name, case.layout]["seconds"]) for case in cases]
    fitted, table = fit(cases, seconds), []
    for k, (case, took) in enumerate(zip(cases, seconds, strict=True)):
        found = done[case.name, case.layout]
        others = fit(cases[:k] + cases[k + 1 :], seconds[:k] + seconds[k + 1 :])
        spread = f"{min(found['seconds']):.2f} to {max(found['seconds']):.2f}"
        offs = [f"{(predict(case, by).seconds / took - 1) * 100:+.0f} %" for by in (fitted, others)]
        table.append([case.name.removeprefix("fit: "), case.layout, took, spread, *offs])
    for name in FREE:
        print(f"    {name}: float = {getattr(fitted, name):.3g}  # ships: {getattr(SHIPPED, name):.3g}")
    about = (
        f"Seconds of a micro-batch of 5 s on local[{CORES}], full windows, median of five, to which the constants of "
        "Spark are fitted; and how far off are those that fit all of these joins best, and those that fit all others."
    )
    report("fitted-batches", about, ["join", "layout", "measured", "spread", "off", "unseen"], table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["measure", "fit"])
    parser.add_argument("--minutes", type=float, default=5)
    options = parser.parse_args()
    if options.what == "fit":
        report_fit()
    else:
        measure_missing(FITTED, options.minutes, MEASURED)


if __name__ == "__main__":
    main()
