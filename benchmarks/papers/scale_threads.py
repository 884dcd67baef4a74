"""ScaleJoin Fig. 5a, c and 6: comparisons/s and their balance over processing threads, beside Handshake join and C."""

from benchmarks.papers.experiment import Chart, Claim, Data, Experiment, Line, Steps
from benchmarks.papers.judge import compare_limit, compare_shape, compare_speed
from benchmarks.papers.published import SCALE
from benchmarks.papers.systems import CORES, measure_c, measure_comparisons
from benchmarks.papers.workload import CLOSED
from streamjoin import Handshake, Scale


def run(given: Data, steps: Steps) -> Data:
    steps.expect(3 * len(given["threads"]))
    size = given["rows"], given["block"], given["seconds"]
    found: Data = {"cores": CORES, "threads": given["threads"], "scale": [], "handshake": [], "c": []}
    for n in given["threads"]:
        found["scale"].append(measure_comparisons(Scale(n), n, *size))
        steps.done(f"Scale({n})")
        found["handshake"].append(measure_comparisons(Handshake(n), n, *size) if n <= CORES else None)
        steps.done(f"Handshake({n})")
        found["c"].append(measure_c(n, *size) if n <= CORES else None)
        steps.done(f"C on {n}")
    return found


def judge(found: Data) -> list[Claim]:
    cores = found["cores"]
    speeds = dict(zip(found["threads"], (each["per_s"] for each in found["scale"]), strict=True))
    most = max(n for n in speeds if n <= cores)
    gain = speeds[most] / speeds[1]
    chain = next(each for n, each in zip(found["threads"], found["handshake"], strict=True) if n == most)
    hits = sum(each["hit_rate"] for each in found["scale"]) / len(speeds)
    note = f"{most} of {cores} cores here"
    return [
        compare_speed(
            "comparisons/s, at most", SCALE["comparisons/s"], max(v for n, v in speeds.items() if n <= cores),
            "1/s", cores=cores, their_cores=48, note=f"48 cores there, {cores} here", model=most * speeds[1],
        ),
        compare_shape(
            "comparisons/s over threads", "linear", f"{gain:.2f}x on {most}",
            gain >= 0.75 * most if most > 1 else None, note=note,
        ),
        compare_limit(
            "spread of comparisons over threads, at most", SCALE["spread"],
            max(each["spread"] for each in found["scale"]), "%", note=f"up to {max(speeds)} threads",
        ),
        compare_shape(
            "ScaleJoin beside Handshake join (Fig. 6)", "more comparisons/s",
            f"{speeds[most] / chain['per_s']:.2f}x", speeds[most] > chain["per_s"], note=note,
        ),
        compare_shape(
            "share of comparisons that match", "1 in 250,000", f"1 in {1 / hits:,.0f}",
            abs(hits / CLOSED - 1) < 0.15, note=f"exactly 1 in {1 / CLOSED:,.0f}",
        ),
    ]  # fmt: skip


def draw(found: Data) -> list[Chart]:
    threads, cores = found["threads"], found["cores"]
    speeds = [each["per_s"] / 1e9 for each in found["scale"]]
    fits = [n for n in threads if n <= cores]
    here = len(fits)
    lines = [
        Line("ScaleJoin", fits, speeds[:here]),
        Line("Handshake join", fits, [each["per_s"] / 1e9 for each in found["handshake"][:here]]),
        Line("plain C, counts only", fits, [each / 1e9 for each in found["c"][:here]], "peer"),
        Line("linear", fits, [n * speeds[0] for n in fits], "model"),
    ]
    if here < len(threads):
        lines.append(Line("more threads than cores", threads[here:], speeds[here:], "unmeasured"))
    spread = [Line("ScaleJoin", threads, [each["spread"] for each in found["scale"]])]
    spread.append(Line("paper, at most", threads, [SCALE["spread"]] * len(threads), "paper"))
    return [
        Chart("Comparisons per second (Fig. 5a, 6)", "processing threads", "10⁹ comparisons/s", lines),
        Chart("Balance (Fig. 5c)", "processing threads", "spread over threads, %", spread),
    ]


EXPERIMENT = Experiment(
    "scale-threads", "ScaleJoin", "Comparisons over threads (Fig. 5a, 5c, 6)",
    "The nested loop in processing threads that store in turn; windows of a fixed number of rows, whole rows.",
    full={"threads": [1, 2, 4, 8, 16], "rows": 100_000, "block": 1000, "seconds": 3},
    quick={"threads": [1, 2, 4, 8], "rows": 40_000, "block": 500, "seconds": 0.7},
    run=run, judge=judge, draw=draw,
)  # fmt: skip
