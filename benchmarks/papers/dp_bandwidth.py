"""DP-Join Fig. 6, 7 and Table 1: results per second that workers offer, over their number and over layouts."""

import statistics

from benchmarks.papers.experiment import Chart, Claim, Data, Experiment, Line, Steps
from benchmarks.papers.judge import compare_shape, compare_speed, compare_value
from benchmarks.papers.published import DP_JOIN, DP_TABLE_1, HIT_RATE
from benchmarks.papers.systems import CORES, measure_comparisons
from streamjoin import Grid
from streamjoin.model.bandwidth import find_least_degree, find_offered_bandwidth
from streamjoin.model.outputs import find_output_rate
from streamjoin.model.pairs import Sides
from streamjoin.spec.window import within

MOST_BETWEEN_FORMS = 10.0
"""Percent between layouts of as many workers that still count as none: the paper's own differ by 9."""


def run(given: Data, steps: Steps) -> Data:
    grids = [grid for forms in given["table"].values() for grid in forms]
    steps.expect(len(given["workers"]) + given["rounds"] * len(grids))
    size = given["rows"], given["block"], given["seconds"]
    offered = []
    for n in given["workers"]:
        offered.append(measure_comparisons(Grid(1, n), n, *size)["per_s"] * HIT_RATE)
        steps.done(f"Grid(1, {n})")
    rounds: dict[str, list[Data]] = {f"{m}x{n}": [] for m, n in grids}
    for _ in range(given["rounds"]):
        for m, n in grids:
            rounds[f"{m}x{n}"].append(measure_comparisons(Grid(m, n), CORES, *size))
            steps.done(f"Grid({m}, {n})")
    table = {name: statistics.median(one["per_s"] * HIT_RATE for one in each) for name, each in rounds.items()}
    spreads = {name: statistics.median(one["spread"] for one in each) for name, each in rounds.items()}
    return {"cores": CORES, "workers": given["workers"], "offered": offered, "table": table, "spreads": spreads}


def judge(found: Data) -> list[Claim]:
    offered = dict(zip(found["workers"], found["offered"], strict=True))
    pair_seconds = HIT_RATE / offered[1]
    most = find_output_rate(within(f"{DP_JOIN['window']} seconds"), Sides.equal(DP_JOIN["rate"]), HIT_RATE)
    claims = [compare_value("maximum bandwidth, Eq. 4", DP_JOIN["most"], most, 0.01, "results/s", model=most)]
    for n, key in ((2, "two workers"), (4, "four workers")):
        if n in offered and n <= found["cores"]:
            model = find_offered_bandwidth(n, pair_seconds, HIT_RATE)
            claims.append(
                compare_speed(f"offered by {n} workers", DP_JOIN[key], offered[n], "results/s", cores=found["cores"],
                              their_cores=n, model=model)
            )  # fmt: skip
    degree = find_least_degree(most, offered[1])
    shown = f"{degree} needed at {DP_JOIN['rate']:,} rows/s"
    claims.append(compare_shape("workers that reach the maximum", "7 (linear)", shown, degree <= 7))
    for workers, forms in DP_TABLE_1.items():
        ours = {name: found["table"][name] for name in forms if name in found["table"]}
        if len(ours) < 2:
            continue
        apart = 100 * (max(ours.values()) / min(ours.values()) - 1)
        said = 100 * (max(forms.values()) / min(forms.values()) - 1)
        claims.append(
            compare_shape(
                f"Table 1: layouts of {workers} workers", f"{said:.1f} % apart", f"{apart:.1f} % apart",
                apart <= MOST_BETWEEN_FORMS, note=f"all on {found['cores']} cores: not measured for speed",
            )
        )  # fmt: skip
    return claims


def draw(found: Data) -> list[Chart]:
    workers, cores = found["workers"], found["cores"]
    here = sum(n <= cores for n in workers)
    pair_seconds = HIT_RATE / found["offered"][0]
    lines = [
        Line("ours", workers[:here], found["offered"][:here]),
        Line("Eq. 6", workers[:here], [find_offered_bandwidth(n, pair_seconds, HIT_RATE) for n in workers[:here]],
             "model"),
        Line("paper", [2, 4], [DP_JOIN["two workers"], DP_JOIN["four workers"]], "paper"),
    ]  # fmt: skip
    if here < len(workers):
        lines.append(Line("more workers than cores", workers[here:], found["offered"][here:], "unmeasured"))
    names = list(found["table"])
    published = {name: value for forms in DP_TABLE_1.values() for name, value in forms.items()}
    table = [Line(f"ours, all on {cores} cores", names, [found["table"][name] for name in names], "unmeasured")]
    table.append(Line("paper, 16 cores", names, [published[name] for name in names], "paper"))
    spread = [Line("comparisons of the cells", names, [found["spreads"][name] for name in names])]
    return [
        Chart("Offered bandwidth (Fig. 7)", "workers, linear layout", "results/s", lines),
        Chart("Layouts (Table 1)", "layout", "results/s", table),
        Chart("Balance of the layouts", "layout", "spread over cells, %", spread),
    ]


EXPERIMENT = Experiment(
    "dp-bandwidth", "DP-Join", "Offered bandwidth and Table 1 (Fig. 6, 7)",
    "Results/s of the nested loop on full windows at p = 3.6e-6; layouts of 6, 9 and 16 workers beside each other.",
    full={"workers": [1, 2, 4], "table": {"6": [(2, 3), (1, 6)], "9": [(3, 3), (1, 9)],
          "16": [(4, 4), (2, 8), (1, 16)]}, "rows": 100_000, "block": 1000, "seconds": 2, "rounds": 3},
    quick={"workers": [1, 2, 4], "table": {"6": [(2, 3), (1, 6)], "9": [(3, 3), (1, 9)],
           "16": [(4, 4), (2, 8), (1, 16)]}, "rows": 20_000, "block": 1000, "seconds": 0.3, "rounds": 1},
    run=run, judge=judge, draw=draw,
)  # fmt: skip
