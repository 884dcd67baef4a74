"""Predicted against measured on Spark: seconds of a micro-batch, and which layout costs least.

python benchmarks/spark/predicted.py batches --minutes 6    # measure what is missing, for so long; again to go on
python benchmarks/spark/predicted.py layouts --minutes 6
python benchmarks/spark/predicted.py report                 # the tables, of what was measured so far

Measurements go into ``benchmarks/results/predicted-measured.jsonl``; delete it to begin anew. Constants are those of
this machine where `streamjoin advise --calibrate` has measured them: calibrate in the hour that batches are measured.
"""

import argparse
import json
import statistics
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench import RESULTS, report
from workloads import BATCHES, CONDITIONS, LAYOUTS, SCHEMAS, Case, list_layout_cases, measure, session, warm

from streamjoin.advice.kept import find_constants
from streamjoin.advice.question import find_narrowing, find_width, understand
from streamjoin.cli.layout import parse_layout
from streamjoin.layout import choose_layout
from streamjoin.model.choice import Estimate, Machine, estimate_layout, rank_estimates
from streamjoin.model.constants import SHIPPED, Constants
from streamjoin.model.demand import Demand
from streamjoin.model.pairs import Sides
from streamjoin.operators.types import Schema

MEASURED = RESULTS / "predicted-measured.jsonl"
CORES = 2
UNDISTURBED = 0.8
"""A replay keeps the cores busy for nine tenths of the time; where it could not, something else had them."""


def read_measured(file: Path = MEASURED) -> dict[tuple[str, str], dict[str, Any]]:
    lines = file.read_text().splitlines() if file.exists() else []
    return {(found["name"], found["layout"]): found for found in map(json.loads, lines)}


def measure_missing(cases: list[Case], minutes: float, file: Path = MEASURED) -> None:
    done = read_measured(file)
    missing = [case for case in cases if (case.name, case.layout) not in done]
    print(f"{len(missing)} of {len(cases)} to measure", flush=True)
    if not missing:
        return
    until, spark = time.monotonic() + 60 * minutes, session()
    warm(spark)
    for case in missing:
        if time.monotonic() > until:
            break
        found = measure(spark, case)
        given = found["cpu"] / CORES / sum(found["seconds"])
        if given < UNDISTURBED and not case.name.startswith("layout: "):  # of those, CPU seconds count
            print(f"{case.name} {case.layout}: got {given:.0%} of the cores, so is not kept: call again", flush=True)
            continue
        with file.open("a") as out:
            out.write(json.dumps(found) + "\n")
        print(case.name, case.layout, statistics.median(found["seconds"]), round(found["cpu"], 2), flush=True)
    spark.stop()


def predict(case: Case, constants: Constants = SHIPPED) -> Estimate:
    """By what is known beforehand: rates, window, hit rate, bytes of rows, keys and how common the commonest is."""
    sides = {"l": Schema.from_ddl(SCHEMAS["left"]), "r": Schema.from_ddl(SCHEMAS["right"])}
    plan = understand(CONDITIONS[case.on], sides, case.spec, "inner", ("ts", "ts"))  # type: ignore[arg-type]
    columns = Sides(16.0 + case.pad + 4 * bool(case.pad), 8.0 + case.pad + 4 * bool(case.pad))
    keys = Sides(*(find_width([key.type for key in plan.keys[side]]) for side in ("l", "r")))
    narrowing = find_narrowing(plan, case.hit_rate)
    if case.on == "equality" and narrowing.groups:
        narrowing = replace(narrowing, groups=float(case.keys), hottest=case.hot**2 / case.hit_rate)
    demand = Demand(case.spec, Sides(case.left, case.right), case.hit_rate, narrowing, columns, keys)
    layout = choose_layout(plan, 16) if case.layout == "auto" else parse_layout(case.layout)
    return estimate_layout(layout, plan, demand, Machine(CORES, constants), case.step)


def report_batches(constants: Constants, whose: str) -> None:
    done, table = read_measured(), []
    for case in BATCHES:
        if (found := done.get((case.name, case.layout))) is None:
            continue
        seconds, predicted = statistics.median(found["seconds"]), predict(case, constants).seconds
        spread = f"{min(found['seconds']):.2f} to {max(found['seconds']):.2f}"
        offs = [f"{(each / seconds - 1) * 100:+.0f} %" for each in (predicted, predict(case).seconds)]
        table.append([case.name, case.layout, predicted, seconds, spread, *offs, f"{found['busy']:.1f}"])
    if not table:
        return
    about = (
        f"Seconds of a micro-batch of 5 s on local[{CORES}], full windows: predicted by constants ({whose}), and the "
        "median of five; how far off that is, and how far by the constants that ship, which were fitted on another "
        "machine. None of these joins was fitted on. `load` is the machine's load average at the end. "
        f"Measured so far: {len(table)} of {len(BATCHES)}."
    )
    header = ["join", "layout", "predicted", "measured", "spread", "off", "off as shipped", "load"]
    report("predicted-batches", about, header, table)


def report_layouts(constants: Constants) -> None:
    done, table = read_measured(), []
    regrets: dict[str, list[float]] = {"advised": [], "Grid(1, 2)": [], "auto": []}
    for case, layouts in LAYOUTS.items():
        name, pool = f"layout: {case.name}", ["Grid(1, 2)", *layouts]
        costs = {
            layout: found["cpu"] / found["cpu_rows"] * 1e6
            for layout in pool
            if (found := done.get((name, layout))) and found["cpu_rows"]
        }
        if len(costs) < len(pool):
            continue
        ranked = rank_estimates(predict(_with(case, layout), constants) for layout in pool)
        advised, best = str(ranked[0].layout), min(costs, key=lambda key: costs[key])
        auto = str(predict(_with(case, "auto")).layout)
        chosen = {"advised": advised, "Grid(1, 2)": "Grid(1, 2)", "auto": auto}
        found_regrets = {who: costs[layout] / costs[best] - 1 for who, layout in chosen.items()}
        for who, regret in found_regrets.items():
            regrets[who].append(regret)
        differ = max(costs.values()) / costs[best]
        shown = ", ".join(f"{layout} {cost:.1f}" for layout, cost in sorted(costs.items(), key=lambda c: c[1]))
        table.append(
            [case.name, advised, *(f"{regret:.0%}" for regret in found_regrets.values()), f"{differ:.2f}", shown]
        )
    compared = len(table)
    if table:
        means = [f"{statistics.fmean(values):.0%}" for values in regrets.values()]
        table.append(["mean", "", *means, "", ""])
    about = (
        f"CPU seconds per million rows on local[{CORES}] of layouts with 16 cells and of Grid(1, 2), and by how much "
        "the model's first, always Grid(1, 2), and auto for 16 partitions are above the best; `differ`: "
        f"the worst to the best. Measured so far: {compared} of {len(LAYOUTS)}."
    )
    header = ["join", "advised", "its regret", "of Grid(1, 2)", "of auto", "differ", "measured"]
    report("predicted-layouts", about, header, table)


def _with(case: Case, layout: str) -> Case:
    return replace(case, layout=layout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["batches", "layouts", "report"])
    parser.add_argument("--minutes", type=float, default=6)
    options = parser.parse_args()
    if options.what == "report":
        constants, whose = find_constants("auto")
        report_batches(constants, whose)
        report_layouts(constants)
    else:
        measure_missing(BATCHES if options.what == "batches" else [*list_layout_cases()], options.minutes)


if __name__ == "__main__":
    main()
