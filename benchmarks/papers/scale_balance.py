"""ScaleJoin Fig. 8: how evenly threads compare, second by second, under three shapes of rates."""

import numpy as np

from benchmarks.layouts import RATES, SECONDS, WINDOW, Run, comparisons
from benchmarks.papers.experiment import Chart, Claim, Data, Experiment, Line, Steps
from benchmarks.papers.judge import compare_limit
from benchmarks.papers.published import FIGURE_8
from streamjoin import Scale


def count_in_turn(run: Run, threads: int) -> np.ndarray:
    """Comparisons of every thread in every second, where rows are numbered and stored in turn, as `LocalJoin` does.

    Rows of both sides are numbered together in the order of time: number i is stored by thread i mod n.
    """
    times = {side: rows.time for side, rows in run.rows.items()}
    merged = np.argsort(np.concatenate([times["l"], times["r"]]), kind="stable")
    numbers = np.empty(len(merged), np.int64)
    numbers[merged] = np.arange(len(merged))
    of = {"l": numbers[: len(times["l"])] % threads, "r": numbers[len(times["l"]) :] % threads}
    found = np.zeros((threads, SECONDS))
    for side, other in (("l", "r"), ("r", "l")):
        at = times[side]
        for thread in range(threads):
            held = times[other][of[other] == thread]
            upto = np.searchsorted(held, at, "right" if side == "l" else "left")
            met = upto - np.searchsorted(held, at - WINDOW * 1_000_000, "left")
            found[thread] += np.bincount(at // 1_000_000, met, SECONDS)
    return found


def find_spread(loads: np.ndarray) -> list[float]:
    """Percent of the mean, in each second with full windows."""
    full = loads[:, WINDOW:]
    return (100 * full.std(axis=0) / full.mean(axis=0)).tolist()


def run(given: Data, steps: Steps) -> Data:
    steps.expect(len(RATES))
    found: Data = {"spreads": {}, "loads": {}, "hashed": {}}
    for shape, (streams, threads, _) in FIGURE_8.items():
        runs = [Run.drawn(seed, shape, streams, "uniform") for seed in range(given["seeds"])]
        loads = [count_in_turn(one, threads) for one in runs]
        found["spreads"][shape] = np.mean([find_spread(each) for each in loads], axis=0).tolist()
        found["loads"][shape] = (loads[0][:, WINDOW:].mean(axis=0) / 1e6).tolist()
        hashed = [find_spread(comparisons(Scale(threads), one)) for one in runs]
        found["hashed"][shape] = float(np.mean(hashed))
        steps.done(shape)
    return found


def judge(found: Data) -> list[Claim]:
    claims = []
    for shape, (streams, threads, paper) in FIGURE_8.items():
        note = f"{streams[0]} + {streams[1]} physical streams; stored by a hash, as on Spark: "
        note += f"{found['hashed'][shape]:.2f} %"
        mean = float(np.mean(found["spreads"][shape]))
        claims.append(compare_limit(f"spread over {threads} threads, rates: {shape}", paper, mean, "%", note=note))
    return claims


def draw(found: Data) -> list[Chart]:
    charts = []
    for shape, (_, threads, paper) in FIGURE_8.items():
        seconds = list(range(WINDOW, WINDOW + len(found["spreads"][shape])))
        lines = [Line("spread over threads", seconds, found["spreads"][shape])]
        lines.append(Line("paper, about", [seconds[0], seconds[-1]], [paper, paper], "paper"))
        title = f"Balance, rates: {shape} (Fig. 8), {threads} threads"
        charts.append(Chart(title, "event time, s", "spread, %", lines))
    loads = [Line(shape, list(range(WINDOW, WINDOW + len(each))), each) for shape, each in found["loads"].items()]
    charts.append(Chart("The load that is shared", "event time, s", "10⁶ comparisons/s a thread", loads))
    return charts


EXPERIMENT = Experiment(
    "scale-balance", "ScaleJoin", "Balance under three shapes of rates (Fig. 8)",
    f"Comparisons of each thread, counted exactly in every second: about 500 rows/s a side, {WINDOW} s windows.",
    full={"seeds": 5}, quick={"seeds": 1}, run=run, judge=judge, draw=draw,
)  # fmt: skip
