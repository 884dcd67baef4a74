"""ScaleJoin Fig. 7b: latency through gate in, processing threads and gate out, over threads."""

from benchmarks.papers.experiment import Chart, Claim, Data, Experiment, Line, Steps
from benchmarks.papers.judge import compare_limit, compare_shape
from benchmarks.papers.published import SCALE
from benchmarks.papers.systems import CORES, measure_latency
from benchmarks.papers.workload import Load
from streamjoin import Scale


def run(given: Data, steps: Steps) -> Data:
    steps.expect(len(given["threads"]))
    latencies = []
    for n in given["threads"]:
        load = Load.equal(given["rate"], given["window"])
        latencies.append(measure_latency(load, Scale(n), given["seconds"], given["block"]))
        steps.done(f"Scale({n})")
    return {"cores": CORES, "latencies": latencies, **given}


def judge(found: Data) -> list[Claim]:
    means = dict(zip(found["threads"], (each["mean"] for each in found["latencies"]), strict=True))
    note = f"{found['rate']:,} rows/s per stream, {found['window']} s windows, in blocks of {found['block']}"
    rising = [means[n] for n in found["threads"] if n <= found["cores"]]
    return [
        compare_limit(
            "mean latency, at most", SCALE["latency ms"], max(m for n, m in means.items() if n <= found["cores"]), "ms",
            note=note,
        ),
        compare_shape(
            "latency over threads", "linear", " / ".join(f"{mean:.1f} ms" for mean in rising),
            None if len(rising) < 3 else rising[-1] > rising[0], note="too few cores for a line",
        ),
    ]  # fmt: skip


def draw(found: Data) -> list[Chart]:
    threads = found["threads"]
    here = sum(n <= found["cores"] for n in threads)
    lines = []
    for name, key in (("mean", "mean"), ("99th percentile", "p99")):
        each = [latency[key] for latency in found["latencies"]]
        lines.append(Line(name, threads[:here], each[:here]))
        if here < len(threads):
            lines.append(Line(f"{name}, more threads than cores", threads[here:], each[here:], "unmeasured"))
    lines.append(Line("paper, at most", threads, [SCALE["latency ms"]] * len(threads), "paper"))
    return [Chart("Latency (Fig. 7b)", "processing threads", "ms", lines, log_y=True)]


EXPERIMENT = Experiment(
    "scale-latency", "ScaleJoin", "Latency over threads (Fig. 7b)",
    "From the push of a pair's later row to the callback, rows pushed at their due times; results are in order.",
    full={"threads": [1, 2, 4, 8], "rate": 2500, "window": 300, "seconds": 8, "block": 10},
    quick={"threads": [1, 2, 4], "rate": 2000, "window": 30, "seconds": 2, "block": 10},
    run=run, judge=judge, draw=draw,
)  # fmt: skip
