"""Handshake join Fig. 15: the scan with and without vector instructions, in the chain's own share of a window."""

from benchmarks.papers.experiment import Chart, Claim, Data, Experiment, Line, Steps
from benchmarks.papers.judge import compare_shape
from benchmarks.papers.loops import EAGER, OURS, PLAIN, measure_loops
from benchmarks.papers.published import HANDSHAKE

SCANS = {"evaluated lazily, with branches": PLAIN, "evaluated eagerly": EAGER, "our kernel": OURS}


def run(given: Data, steps: Steps) -> Data:
    steps.expect(len(given["cores"]))
    speeds = {}
    for cores in given["cores"]:
        speeds[str(cores)] = measure_loops(given["rows"] // cores, given["probes"], given["repetitions"])
        steps.done(f"the share of one of {cores}")
    return {"rows": given["rows"], "speeds": speeds}


def judge(found: Data) -> list[Claim]:
    least = min(each[EAGER] / each[PLAIN] for each in found["speeds"].values())
    load = least**0.5
    holds = load > HANDSHAKE["SIMD to scalar"]
    note = f"{least:.1f}x the comparisons; the load is the root, since work grows with the square of the rate"
    return [compare_shape("load sustained with SIMD", "more than 2x", f"{load:.1f}x", holds, note=note)]


def draw(found: Data) -> list[Chart]:
    cores = list(found["speeds"])
    lines = [
        Line(name, [f"1 of {n}" for n in cores], [found["speeds"][n][loop] / 1e9 for n in cores])
        for name, loop in SCANS.items()
    ]
    return [Chart("The scan of one core (Fig. 15)", "share of the window", "10⁹ comparisons/s", lines)]


EXPERIMENT = Experiment(
    "handshake-simd", "Handshake join", "Vector instructions in the scan (Fig. 15)",
    "One core's scan of its segment of the window, with the condition evaluated lazily and eagerly.",
    full={"cores": [1, 8, 44], "rows": 1_260_000, "probes": 64, "repetitions": 9},
    quick={"cores": [1, 8], "rows": 126_000, "probes": 64, "repetitions": 3},
    run=run, judge=judge, draw=draw,
)  # fmt: skip
