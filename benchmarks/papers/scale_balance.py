"""ScaleJoin Fig. 8: how evenly threads compare, second by second, under three shapes of rates.

The threads' own counters are read after every second of rows, and tell of the second before, whose rows are ready then.
They are checked against a recount in NumPy, to the last comparison. Number i of the rows of both sides is stored by
thread i mod n; so a thread that has more left rows than others has fewer right ones, and where the sides' rates differ
that shows: by how much is the model.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from benchmarks.layouts import PLAN, RATES, draw_times
from benchmarks.papers.experiment import Chart, Claim, Data, Experiment, Line, Steps
from benchmarks.papers.judge import compare_shape, compare_value
from benchmarks.papers.published import FIGURE_8
from benchmarks.papers.systems import Counter, make
from benchmarks.papers.workload import SECOND, Load, draw
from streamjoin import Scale
from streamjoin.layout.base import mix
from streamjoin.pane import Rows, no_columns
from streamjoin.spec.side import SIDES, Side

Times = Mapping[Side, NDArray[np.int64]]
Homes = Mapping[Side, NDArray[np.int64]]
"""The thread that stores each row."""

SHAPES = RATES | {"constant": lambda _, t: np.ones(len(t))}
PAPERS_WINDOW = 300
AROUND = 1.25
"""Where the paper says that a curve is stable around a value, so many times the value agrees."""


def draw_streams(shape: str, given: Data, seed: int) -> Times:
    """When rows come, of a figure's streams."""
    streams, _, _, rates = FIGURE_8[shape]
    rng, seconds = np.random.default_rng([seed, len(shape)]), given["window"] + given["seconds"]
    asked = zip(SIDES, streams, rates, strict=True)
    return {side: draw_times(rng, n, SHAPES[shape], round(rate * given["share"]), seconds) for side, n, rate in asked}


def count_in_engine(times: Times, threads: int, given: Data) -> tuple[NDArray[np.float64], list[int | None]]:
    """What each thread of `LocalJoin` itself counted from step to step; the watermark of each push, two a step.

    Windows fill in ten steps, then every second is one.
    """
    window, seconds = given["window"], given["seconds"]
    ends = np.array([*range(window // 10, window + 1, window // 10), *range(window + 1, window + seconds + 1)])
    cuts = {side: np.searchsorted(each, [0, *(ends * SECOND)]) for side, each in times.items()}
    rng, found, watermarks = np.random.default_rng(0), [], []
    with make(Load.equal(1, window), Scale(threads), Counter()) as join:
        for step in range(len(ends)):
            for side, push in (("l", join.push_left), ("r", join.push_right)):
                watermarks.append(join.stats().watermark)
                push(draw(side, times[side][cuts[side][step] : cuts[side][step + 1]], rng))
                join.read()
            found.append(join._engine.loads or [0] * threads)
    return np.diff(np.array(found, float).T, axis=1, prepend=0), watermarks


def store_in_turn(times: Times, threads: int) -> Homes:
    """By the number of a row among those of both sides, in the order of time."""
    merged = np.argsort(np.concatenate([times["l"], times["r"]]), kind="stable")
    numbers = np.empty(len(merged), np.int64)
    numbers[merged] = np.arange(len(merged))
    return {"l": numbers[: len(times["l"])] % threads, "r": numbers[len(times["l"]) :] % threads}


def store_by_hash(times: Times, threads: int) -> Homes:
    """As `Scale` does on Spark."""
    homes = {side: np.zeros(len(each), np.int64) for side, each in times.items()}
    for side, each in times.items():
        for part in Scale(threads).router(PLAN)(side, Rows(each, (), no_columns(len(each))), mix(each)):
            for copy in part.copies:
                if copy.stores:
                    homes[side][part.rows] = copy.cell
    return homes


def recount(times: Times, homes: Homes, watermarks: list[int | None], threads: int, window: int) -> NDArray[np.float64]:
    """The comparisons of each thread as each watermark is reached.

    Rows that it passed meet what a thread stores and is still live: left rows all right ones, those that it passed as
    well among them, right rows the left ones of before.
    """
    passed = np.array([-1 if each is None else each for each in watermarks])
    before, oldest = np.concatenate([[-1], passed[:-1]]), passed - window * SECOND
    came = {side: np.searchsorted(each, passed) - np.searchsorted(each, before) for side, each in times.items()}
    found = np.zeros((threads, len(passed)))
    for thread in range(threads):
        left, right = (times[side][homes[side] == thread] for side in SIDES)
        live_right = np.searchsorted(right, passed) - np.searchsorted(right, oldest)
        live_left = np.maximum(np.searchsorted(left, before) - np.searchsorted(left, oldest), 0)
        found[thread] = came["l"] * live_right + came["r"] * live_left
    return found


def predict_spreads(times: Times, threads: int, given: Data) -> list[float]:
    """Percent in each second: a row is a left one as if by chance, so a thread's left rows of a second are binomial.

    A thread with d left rows more has d right rows less: it has d times the difference of the rates to compare.
    """
    seconds = given["window"] + given["seconds"]
    now = {side: np.bincount(each // SECOND, minlength=seconds)[:seconds] for side, each in times.items()}

    def hold(each: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.convolve(each, np.ones(given["window"]))[:seconds]

    variance = hold(now["l"] * now["r"] / (now["l"] + now["r"])) / threads * (1 - 1 / threads)
    each = (now["l"] * hold(now["r"]) + now["r"] * hold(now["l"])) / threads
    return (100 * abs(now["l"] - now["r"]) * np.sqrt(variance) / each)[given["window"] :].tolist()


def find_spread(loads: NDArray[np.float64]) -> list[float]:
    """Percent of the mean, in each second."""
    return (100 * loads.std(axis=0) / loads.mean(axis=0)).tolist()


def measure(shape: str, seed: int, given: Data) -> Data:
    """One run: spreads as counted, as predicted and as a hash would have it, and the load itself."""
    times, threads, window = draw_streams(shape, given, seed), FIGURE_8[shape][1], given["window"]
    counted, watermarks = count_in_engine(times, threads, given)
    again = recount(times, store_in_turn(times, threads), watermarks, threads, window)
    hashed = recount(times, store_by_hash(times, threads), watermarks, threads, window)
    again, hashed = (each.reshape(threads, -1, 2).sum(axis=2) for each in (again, hashed))
    full = counted[:, -given["seconds"] :]
    return {
        "spreads": find_spread(full), "model": predict_spreads(times, threads, given),
        "hashed": find_spread(hashed[:, -given["seconds"] :]), "loads": (full.mean(axis=0) / 1e6).tolist(),
        "counted": int(counted.sum()), "differ": int((counted != again).sum()),
    }  # fmt: skip


def run(given: Data, steps: Steps) -> Data:
    steps.expect(len(FIGURE_8) * given["seeds"])
    found: Data = {"window": given["window"], "shapes": {}}
    for shape in FIGURE_8:
        runs = []
        for seed in range(given["seeds"]):
            runs.append(measure(shape, seed, given))
            steps.done(f"{shape}, run {seed + 1}")
        averaged = {key: np.mean([one[key] for one in runs], axis=0).tolist() for key in ("spreads", "model", "hashed")}
        summed = {key: sum(one[key] for one in runs) for key in ("counted", "differ")}
        found["shapes"][shape] = averaged | summed | {"loads": runs[0]["loads"]}
    return found


def judge(found: Data) -> list[Claim]:
    claims = []
    for shape, (streams, threads, paper, _) in FIGURE_8.items():
        each = found["shapes"][shape]
        mean, model, hashed = (float(np.mean(each[key])) for key in ("spreads", "model", "hashed"))
        note = f"{streams[0]} + {streams[1]} physical streams; stored by a hash, as on Spark: {hashed:.2f} %"
        holds: bool | None = mean <= AROUND * paper
        if found["window"] < PAPERS_WINDOW:
            holds = None
            note += f"; windows of {found['window']} s, and the spread falls with the root of their rows"
        what, said = f"spread over {threads} threads, rates: {shape}", f"around {paper:g} %"
        claims.append(compare_shape(what, said, f"{mean:.3f} %", holds, model=model, unit="%", note=note))
    differ, counted = (sum(each[key] for each in found["shapes"].values()) for key in ("differ", "counted"))
    note = f"{counted:.3g} comparisons, by thread and second"
    return [*claims, compare_value("counters that differ from a recount", 0, differ, 0, note=note)]


def draw_charts(found: Data) -> list[Chart]:
    charts = []
    for shape, (_, threads, paper, _) in FIGURE_8.items():
        each = found["shapes"][shape]
        seconds = list(range(found["window"], found["window"] + len(each["spreads"])))
        lines = [
            Line("as the threads counted", seconds, each["spreads"]),
            Line("model", seconds, each["model"], "model"),
            Line("paper, about", [seconds[0], seconds[-1]], [paper, paper], "paper"),
        ]
        charts.append(
            Chart(f"Balance, rates: {shape} (Fig. 8), {threads} threads", "event time, s", "spread, %", lines)
        )
    loads = [
        Line(shape, list(range(found["window"], found["window"] + len(each["loads"]))), each["loads"])
        for shape, each in found["shapes"].items()
    ]
    charts.append(Chart("The load that is shared", "event time, s", "10⁶ comparisons/s a thread", loads))
    return charts


EXPERIMENT = Experiment(
    "scale-balance", "ScaleJoin", "Balance under three shapes of rates (Fig. 8)",
    "Comparisons of each thread in every second, as LocalJoin's threads counted them; whole rows, full windows.",
    full={"window": 300, "seconds": 300, "share": 1.0, "seeds": 2},
    quick={"window": 60, "seconds": 30, "share": 0.5, "seeds": 1}, run=run, judge=judge, draw=draw_charts,
)  # fmt: skip
