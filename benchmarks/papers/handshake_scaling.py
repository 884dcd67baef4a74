"""Handshake join Fig. 16: the load that chains sustain; and how late pairs are found, which its design implies."""

import numpy as np
import pyarrow as pa

from benchmarks.papers.experiment import Chart, Claim, Data, Experiment, Line, Steps
from benchmarks.papers.judge import compare_limit, compare_shape, compare_speed, compare_value, leave_out
from benchmarks.papers.published import HANDSHAKE
from benchmarks.papers.systems import CORES, make, measure_throughput
from benchmarks.papers.workload import SECOND, Load, count_matches
from streamjoin import Handshake
from streamjoin.model.latency import find_handshake_latency

THEIR_WINDOW = 900
"""Seconds."""


def measure_meetings(load: Load, n: int, seconds: float, step: float) -> Data:
    """How much event time passed until pairs were found, in windows; results beside the plain count of them."""
    late, now = [], [0.0]

    def note(batch: pa.RecordBatch) -> None:
        if now[0] > load.windows.left:
            late.append(now[0] - batch.column("join_time").to_numpy() / SECOND)

    rows = list(load.steps(seconds, step))
    with make(load, Handshake(n), note) as join:
        for number, each in enumerate(rows):
            now[0] = (number + 1) * step
            join.push_left(each["l"])
            join.push_right(each["r"])
            join.read()
        now[0] = 0
        join.flush()
        results = join.stats().results
    sides = [pa.Table.from_batches([each[side] for each in rows]).combine_chunks().to_batches()[0] for side in "lr"]
    found = np.concatenate(late) / load.windows.left
    return {"n": n, "mean": float(found.mean()), "most": float(found.max()), "results": results,
            "expected": count_matches(*sides, load.window)}  # fmt: skip


def run(given: Data, steps: Steps) -> Data:
    steps.expect(len(given["speed"]) + len(given["chains"]))
    speeds = []
    for n in given["speed"]:
        load = Load.equal(given["rate"], given["window"])
        speeds.append({"n": n, **measure_throughput(load, Handshake(n), n, given["seconds"], 500)})
        steps.done(f"rate, {n} in the chain")
    meetings = []
    for n in given["chains"]:
        load = Load.equal(given["meeting_rate"], given["meeting_window"])
        meetings.append(measure_meetings(load, n, 3 * given["meeting_window"], given["meeting_window"] / 20))
        steps.done(f"meetings, {n} in the chain")
    return {"cores": CORES, "window": given["window"], "rate": given["rate"], "speeds": speeds, "meetings": meetings}


def judge(found: Data) -> list[Claim]:
    fits = [each for each in found["speeds"] if each["n"] <= found["cores"]]
    gain = fits[-1]["rows_per_s"] / fits[0]["rows_per_s"]
    ideal = (fits[-1]["n"] / fits[0]["n"]) ** 0.5
    model = find_handshake_latency(1, 1)
    claims = [
        _judge_rate(found, max(each["rows_per_s"] for each in fits)),
        compare_shape(
            "load over cores, quadratic axis", "linear", f"{gain:.2f}x on {fits[-1]['n']}",
            None if len(fits) < 2 or found["cores"] < 4 else gain >= 0.75 * ideal, note="from 4 to 44 cores there",
        ),
    ]  # fmt: skip
    for each in found["meetings"]:
        n = each["n"]
        claims.append(
            compare_value(f"results of a chain of {n}", each["expected"], each["results"], 0, note="against NumPy")
        )
    mean = float(np.mean([each["mean"] for each in found["meetings"]]))
    most = max(each["most"] for each in found["meetings"])
    return [
        *claims,
        compare_value("a pair is found after, of the window (mean, derived)", 0.25, mean, 25, model=model.mean),
        compare_limit("a pair is found after, of the window (at most, derived)", 0.55, most, model=model.worst,
                      note="half, and what comes in one push"),
    ]  # fmt: skip


def _judge_rate(found: Data, best: float) -> Claim:
    what, paper = "rows/s per stream on 8 cores, 15 min windows", HANDSHAKE["rate on 8 cores"]
    note = f"{best:,.0f} rows/s in windows of {found['window']} s at {found['rate']:,} rows/s, by nested loops"
    if found["window"] < THEIR_WINDOW:
        return leave_out(what, paper, "1/s", note=f"a nested loop takes minutes to fill such windows; {note}")
    return compare_speed(what, paper, best, "1/s", cores=found["cores"], their_cores=HANDSHAKE["cores"], note=note)


def draw(found: Data) -> list[Chart]:
    n = [each["n"] for each in found["speeds"]]
    first = found["speeds"][0]["rows_per_s"]
    rates = [Line("ours, nested loops", n, [each["rows_per_s"] for each in found["speeds"]])]
    rates.append(Line("as the root of cores", n, [first * (each / n[0]) ** 0.5 for each in n], "model"))
    chains = [each["n"] for each in found["meetings"]]
    late = [Line("mean", chains, [each["mean"] for each in found["meetings"]])]
    late.append(Line("at most", chains, [each["most"] for each in found["meetings"]]))
    late.append(Line("a quarter", chains, [0.25] * len(chains), "model"))
    late.append(Line("a half", chains, [0.5] * len(chains), "model"))
    return [
        Chart("Rows taken on full windows (Fig. 16)", "workers in the chain", "rows/s per stream", rates),
        Chart("How late pairs are found", "workers in the chain", "of the window", late),
    ]


EXPERIMENT = Experiment(
    "handshake-scaling", "Handshake join", "Scaling of the chain (Fig. 16)",
    "Rows/s on full windows; results and lateness of longer chains than there are cores, which need no speed.",
    full={"speed": [1, 2], "chains": [2, 4, 8], "rate": 1400, "window": 60, "seconds": 5,
          "meeting_rate": 300, "meeting_window": 20},
    quick={"speed": [1, 2], "chains": [2, 6], "rate": 1000, "window": 10, "seconds": 0.5,
           "meeting_rate": 200, "meeting_window": 5},
    run=run, judge=judge, draw=draw,
)  # fmt: skip
