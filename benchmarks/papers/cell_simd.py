"""CellJoin Fig. 7, 8 and 10: what vector instructions bring."""

from benchmarks.papers.experiment import Chart, Claim, Data, Experiment, Line, Steps
from benchmarks.papers.judge import compare_shape, compare_speed
from benchmarks.papers.loops import LIMIT, OURS, PLAIN, measure_loops
from benchmarks.papers.published import CELL, CELL_JOIN
from benchmarks.papers.systems import CORES
from streamjoin.model.comparisons import find_scan_rate, find_sustainable_rates
from streamjoin.model.pairs import Sides
from streamjoin.spec.window import within

WINDOW = within(f"{CELL_JOIN['window']} seconds")


def run(given: Data, steps: Steps) -> Data:
    steps.expect(len(given["windows"]))
    speeds = {}
    for rows in given["windows"]:
        speeds[str(rows)] = measure_loops(rows, given["probes"], given["repetitions"])
        steps.done(f"{rows:,} rows")
    return {"cores": CORES, "speeds": speeds}


def judge(found: Data) -> list[Claim]:
    speeds = next(iter(found["speeds"].values()))
    gain, of_c = speeds[OURS] / speeds[PLAIN], speeds[OURS] / speeds[LIMIT]
    rate = find_sustainable_rates(WINDOW, Sides(1, 1), found["cores"] * speeds[OURS]).left
    scanned = find_scan_rate(WINDOW, Sides.equal(rate), Sides.equal(CELL_JOIN["bytes"])) / 2**30
    needed = f"from one core's speed, times {found['cores']}"
    return [
        compare_shape("SIMD to scalar", "about 10x", f"{gain:.1f}x", 5 <= gain <= 20,
                      note=f"one core; our loop has {100 * of_c:.0f} % of the speed of C, which only counts"),
        compare_speed("rows/s per stream, 15 min windows", CELL["rate"], rate, "1/s", cores=found["cores"],
                      their_cores=9, note=needed),
        compare_speed("window scanned per second", CELL_JOIN["GB/s"], scanned, "GiB/s", cores=found["cores"],
                      their_cores=9, note=needed),
    ]  # fmt: skip


def draw(found: Data) -> list[Chart]:
    names = list(next(iter(found["speeds"].values())))
    lines = [
        Line(f"{int(rows):,} rows", names, [each[name] / 1e9 for name in names])
        for rows, each in found["speeds"].items()
    ]
    return [Chart("Loops on one core (Fig. 7)", "", "10⁹ comparisons/s", lines)]


EXPERIMENT = Experiment(
    "cell-simd", "CellJoin", "Vector instructions (Fig. 7, 8, 10)",
    "The same comparisons by loops with and without branches, by our kernel and by C, on one core.",
    full={"windows": [50_000, 10_000_000], "probes": 64, "repetitions": 9},
    quick={"windows": [50_000, 1_000_000], "probes": 32, "repetitions": 3},
    run=run, judge=judge, draw=draw,
)  # fmt: skip
