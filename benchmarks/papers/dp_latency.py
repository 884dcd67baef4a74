"""DP-Join Fig. 8 and 9: latency per layout, at equal and at different rates, beside Handshake join.

A cell's scan of its share of the window is timed alone on a core: what its worker would take if every worker had a
core. End to end every layout joins single rows at their due times; those of more workers than cores for their results.
"""

from benchmarks.papers.experiment import Chart, Claim, Data, Experiment, Line, Steps
from benchmarks.papers.judge import compare_limit, compare_shape, compare_value
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
SMALL = [(1, 1), (1, 2), (2, 1)]
"""Layouts for the cores of a small machine."""


def scan_ms(rows: int, repetitions: int) -> float:
    """Mean milliseconds until a row's match is found in so many: half the scan (Eq. 7)."""
    return 1000 * time_median(Window(rows, PROBES).scan, repetitions) / PROBES / 2


def measure(m: int, n: int, left: int, right: int, repetitions: int) -> float:
    """A left row scans an n-th of the right window, a right row an m-th of the left one; half of the results each."""
    return (scan_ms(right // n, repetitions) + scan_ms(left // m, repetitions)) / 2


def run(given: Data, steps: Steps) -> Data:
    steps.expect(2 * (len(EQUAL) + len(DIFFERENT)) + len(SMALL) + 2)
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
    found["ends"] = {
        "equal": measure_ends(SMALL + EQUAL, Load.equal(given["rate"], window), given["each"], steps),
        "different": measure_ends(
            DIFFERENT, Load(_scale_rates(given["rate"]), Sides.equal(window)), given["each"], steps
        ),
    }
    load = Load.equal(given["rate"], window)
    found["rows"] = measure_latency(load, Grid(1, min(2, CORES)), given["seconds"])
    steps.done("single rows, end to end")
    found["blocks"] = measure_latency(load, Grid(1, min(2, CORES)), given["seconds"], 10)
    steps.done("blocks of 10, end to end")
    return found


def _scale_rates(rate: float) -> Sides:
    """1 : 3, the paper's own where equal ones are the paper's own."""
    part = rate / DP_LATENCY["rate"]
    return Sides(round(DP_ASYMMETRIC["left"] * part), round(DP_ASYMMETRIC["right"] * part))


def measure_ends(grids: list[tuple[int, int]], load: Load, seconds: float, steps: Steps) -> Data:
    """Single rows at their due times through each layout."""
    found = {}
    for m, n in grids:
        found[f"{m}x{n}"] = measure_latency(load, Grid(m, n), seconds)
        steps.done(f"{m} x {n}, end to end")
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
    ends = [each for layouts in found["ends"].values() for each in layouts.values()]
    claims.append(
        compare_value(f"results of {len(ends)} layouts, end to end", sum(each["expected"] for each in ends),
                      sum(each["results"] for each in ends), 0, note="single rows, each layout; against NumPy")
    )  # fmt: skip
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
    for key, title in (("equal", "equal rates"), ("different", "rates 1 : 3")):
        means = {name: each["mean"] for name, each in found["ends"][key].items()}
        fits = [name for name in means if _count_workers(name) <= found["cores"]]
        beyond = [name for name in means if name not in fits]
        lines = [Line("ours", fits, [means[name] for name in fits])] if fits else []
        lines.append(Line("more workers than cores", beyond, [means[name] for name in beyond], "unmeasured"))
        charts.append(Chart(f"Layouts end to end, {title}, indexed", "layout", "mean latency, ms", lines))
    ends = [found["rows"], found["blocks"]]
    lines = [
        Line(name, ["single rows", "blocks of 10"], [each[key] for each in ends])
        for name, key in (("median", "p50"), ("mean", "mean"), ("99th percentile", "p99"))
    ]
    charts.append(Chart("End to end on these cores, indexed", "", "ms", lines, log_y=True))
    return charts


def _count_workers(name: str) -> int:
    m, n = map(int, name.split("x"))
    return m * n


def tell(found: Data) -> tuple[list[str], list[list[object]]]:
    """Every layout end to end: a left row goes to n cells, a right one to m."""
    rows: list[list[object]] = []
    for key, title in (("equal", "1 : 1"), ("different", "1 : 3")):
        for name, each in found["ends"][key].items():
            m, n = map(int, name.split("x"))
            speed = "yes" if m * n <= found["cores"] else f"no: {m * n} workers on {found['cores']} cores"
            times = [f"{each[kind]:.2f}" for kind in ("mean", "p50", "p99")]
            exact = f"{each['results']:,} of {each['expected']:,}"
            rows.append([name, title, m * n, f"{n} + {m}", exact, *times, speed])
    header = ["layout", "rates", "workers", "copies of a left and a right row", "results"]
    return [*header, "mean, ms", "median, ms", "99 %, ms", "measured for speed"], rows


EXPERIMENT = Experiment(
    "dp-latency", "DP-Join", "Latency per layout and at different rates (Fig. 8, 9)",
    "The mean time to a match: scans of a cell's share of the windows, and rows at their due times end to end.",
    full={"window": 300, "repetitions": 9, "base": 100_000, "rate": 2500, "seconds": 15, "each": 3},
    quick={"window": 30, "repetitions": 5, "base": 20_000, "rate": 1000, "seconds": 2,
           "each": 0.5},
    run=run, judge=judge, draw=draw, table=tell,
)  # fmt: skip
