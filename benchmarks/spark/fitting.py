"""The model's constants of Spark, fitted to joins that no prediction is judged by.

python benchmarks/spark/fitting.py measure --minutes 5    # measure what is missing, for so long; again to go on
python benchmarks/spark/fitting.py fit                    # the constants that fit best, and the table

A micro-batch's seconds are a sum of constants, each times what the model counts of it; kernels' constants stay as they
are. The best constants have the least sum of squares of (predicted / measured - 1), with a light pull towards those
that ship, so that what the joins do not tell apart stays as it was; none is below zero.
"""

import argparse
import statistics
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench import RESULTS, report
from predicted import CORES, measure_missing, predict, read_measured
from workloads import FITTED, Case

from streamjoin.kernel.costs import KernelCosts
from streamjoin.model.constants import SHIPPED, Constants

MEASURED = RESULTS / "fitted-measured.jsonl"
PULL = 0.1
"""How much a constant's doubling counts, in units of a join predicted twice as long as it took."""
FREE = tuple(f.name for f in fields(Constants) if f.name not in {k.name for k in fields(KernelCosts)})


def fit(cases: list[Case], seconds: list[float]) -> Constants:
    """The constants of Spark that fit these joins best."""
    nothing = SHIPPED.scale(FREE, 0.0)
    probes = np.array([predict(case, nothing).seconds for case in cases])
    parts = np.array(
        [[predict(case, replace(nothing, **{n: getattr(SHIPPED, n)})).seconds for n in FREE] for case in cases]
    )
    took = np.array(seconds)
    parts = (parts - probes[:, None]) / took[:, None]
    system = np.vstack([parts, PULL * np.eye(len(FREE))])
    wanted = np.concatenate([1 - probes / took, np.full(len(FREE), PULL)])
    by = np.ones(len(FREE))
    for _ in range(20_000):  # projected gradient: the system is small
        by = np.maximum(by - system.T @ (system @ by - wanted) / np.linalg.norm(system, 2) ** 2, 0.0)
    return replace(SHIPPED, **{n: getattr(SHIPPED, n) * factor for n, factor in zip(FREE, by, strict=True)})


def report_fit() -> None:
    done: dict[tuple[str, str], dict[str, Any]] = read_measured(MEASURED)
    cases = [case for case in FITTED if (case.name, case.layout) in done]
    seconds = [statistics.median(done[case.name, case.layout]["seconds"]) for case in cases]
    fitted, table = fit(cases, seconds), []
    for case, took in zip(cases, seconds, strict=True):
        found = done[case.name, case.layout]
        shipped, best = (predict(case, constants).seconds for constants in (SHIPPED, fitted))
        spread = f"{min(found['seconds']):.2f} to {max(found['seconds']):.2f}"
        offs = [f"{(by / took - 1) * 100:+.0f} %" for by in (shipped, best)]
        table.append([case.name.removeprefix("fit: "), case.layout, took, spread, *offs])
    for name in FREE:
        print(f"    {name}: float = {getattr(fitted, name):.4g}  # {getattr(SHIPPED, name):.4g}")
    about = (
        f"Seconds of a micro-batch of 5 s on local[{CORES}], full windows, median of five; how far off the constants "
        "that ship are, and those that fit these joins best. The latter: "
        + ", ".join(f"{name} {getattr(fitted, name):,.3g}" for name in FREE)
        + " ns."
    )
    report("fitted-batches", about, ["join", "layout", "measured", "spread", "shipped", "best fit"], table)


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
