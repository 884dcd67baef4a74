"""DP-Join Fig. 8 and 9: latency per layout, at equal and at different rates, beside Handshake join.

A cell's scan of its share of the window is timed alone on a core: what its worker would take if every worker had a
core. End to end, layouts are timed on the cores there are.
"""

from benchmarks.papers.experiment import Chart, Claim, Data, Experiment, Line, Steps
from benchmarks.papers.judge import compare_limit, compare_shape
from benchmarks.papers.loops import Window
from benchmarks.papers.published import DP_ASYMMETRIC, DP_LATENCY
from benchmarks.papers.systems import CORES, measure_latency, time_median
from benchmarks.papers.workload import Load
from streamjoin import Grid
from streamjoin.model.latency import find_handshake_latency, find_latency, to_copies
from streamjoin.model.pairs import Sides
from streamjoin.spec.window import within

PROBES = 64
EQUAL = [(1, 9), (2, 5), (3, 3), (1, 16), (2, 8), (4, 4)]
DIFFERENT = [(1, 15), (3, 5), (4, 4), (1, 16), (2, 8)]


def scan_ms(rows: int, repetitions: int) -> float:
    """Mean milliseconds until a row's match is found in so many: half the scan (Eq. 7)."""
    return 1000 * time_median(Window(rows, PROBES).scan, repetitions) / PROBES / 2


def measure(m: int, n: int, left: int, right: int, repetitions: int) -> float:
    """A left row scans an n-th of the right window, a right row an m-th of the left one; half of the results each."""
    return (scan_ms(right // n, repetitions) + scan_ms(left // m, repetitions)) / 2


def run(given: Data, steps: Steps) -> Data:
    steps.expect(len(EQUAL) + len(DIFFERENT) + 3)
    window, times = given["window"], given["repetitions"]
    one = scan_ms(given["base"], times) * 2 / 1000 / given["base"]
    found: Data = {"cores": CORES, "pair_seconds": one, "equal": {}, "different": {}, **given}
    for m, n in EQUAL:
        rows = DP_LATENCY["rate"] * window
        found["equal"][f"{m}x{n}"] = measure(m, n, rows, rows, times)
        steps.done(f"{m} x {n}, equal rates")
    for m, n in DIFFERENT:
        left, right = DP_ASYMMETRIC["left"] * window, DP_ASYMMETRIC["right"] * window
        found["different"][f"{m}x{n}"] = measure(m, n, left, right, times)
        steps.done(f"{m} x {n}, 1 : 3")
    steps.done("a pair")
    load = Load.equal(given["rate"], window)
    found["rows"] = measure_latency(load, Grid(1, min(2, CORES)), given["seconds"])
    steps.done("single rows, end to end")
    found["blocks"] = measure_latency(load, Grid(1, min(2, CORES)), given["seconds"], 10)
    steps.done("blocks of 10, end to end")
    return found


def _model(found: Data, name: str, rates: Sides) -> float:
    m, n = map(int, name.split("x"))
    window = within(f"{found['window']} seconds")
    return 1000 * find_latency(to_copies(Grid(m, n)), window, rates, found["pair_seconds"]).mean


def judge(found: Data) -> list[Claim]:
    equal, different = found["equal"], found["different"]
    apart = "each cell's scan alone on a core"
    order = equal["4x4"] < equal["2x8"] < equal["1x16"]
    claims = [
        compare_shape(
            "layouts of 16 at equal rates", "square < rectangular < linear",
            " / ".join(f"{equal[name]:.3f} ms" for name in ("4x4", "2x8", "1x16")), order, note=apart,
        ),
        compare_shape(
            "layouts at rates of 1 : 3", "3x5 (0.26 ms) before 4x4 (0.30 ms)",
            f"{different['3x5']:.3f} / {different['4x4']:.3f} ms", different["3x5"] < different["4x4"],
            note=apart + "; 15 workers against 16",
        ),
        compare_shape(
            "linear layout at rates of 1 : 3", "rises with workers",
            f"{different['1x15']:.3f} -> {different['1x16']:.3f} ms", None,
            note="from the way along a pipeline, which a scan alone does not have",
        ),
    ]  # fmt: skip
    note = f"end to end, single rows, {found['rate']:,} rows/s per stream, windows of {found['window']} s, indexed"
    claims.append(compare_limit("mean latency, square", DP_LATENCY["square"], found["rows"]["mean"], "ms", note=note))
    handshake = 1000 * find_handshake_latency(found["window"], found["window"]).mean
    times = handshake / found["rows"]["mean"]
    claims.append(
        compare_shape(
            "Handshake join's latency to ours", "10⁴x or more", f"{times:,.0f}x", times >= DP_LATENCY["Handshake"],
            note=f"a quarter of {found['window']} s (see handshake-scaling) to the measured mean",
        )
    )  # fmt: skip
    return claims


def draw(found: Data) -> list[Chart]:
    charts = []
    for key, title, rates in (
        ("equal", "Latency per layout, equal rates (Fig. 8)", Sides.equal(DP_LATENCY["rate"])),
        ("different", "Latency per layout, rates 1 : 3 (Fig. 9)", Sides(DP_ASYMMETRIC["left"], DP_ASYMMETRIC["right"])),
    ):
        names = list(found[key])
        lines = [Line("ours, a cell alone", names, list(found[key].values()))]
        lines.append(Line("Eq. 7-8", names, [_model(found, name, rates) for name in names], "model"))
        charts.append(Chart(title, "layout", "mean latency of the scan, ms", lines))
    ends = [found["rows"], found["blocks"]]
    lines = [
        Line(name, ["single rows", "blocks of 10"], [each[key] for each in ends])
        for name, key in (("median", "p50"), ("mean", "mean"), ("99th percentile", "p99"))
    ]
    charts.append(Chart("End to end on these cores, indexed", "", "ms", lines, log_y=True))
    return charts


EXPERIMENT = Experiment(
    "dp-latency", "DP-Join", "Latency per layout and at different rates (Fig. 8, 9)",
    "The mean time to a match: scans of a cell's share of the windows, and rows at their due times end to end.",
    full={"window": 300, "repetitions": 9, "base": 100_000, "rate": 2500, "seconds": 30},
    quick={"window": 30, "repetitions": 5, "base": 20_000, "rate": 1000, "seconds": 2},
    run=run, judge=judge, draw=draw,
)  # fmt: skip
