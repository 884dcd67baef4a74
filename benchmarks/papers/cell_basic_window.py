"""CellJoin Fig. 9 and 13: the time of a row over the size of basic windows, for several lengths of the window."""

import numpy as np

from benchmarks.papers.experiment import Chart, Claim, Data, Experiment, Line, Steps
from benchmarks.papers.judge import compare_limit, compare_shape
from benchmarks.papers.loops import Window
from benchmarks.papers.published import CELL
from benchmarks.papers.systems import time_median
from streamjoin.model.basic_windows import Transfer, find_scan_time

BYTES = 8
"""Of a row's join attributes: an int and a float."""


def run(given: Data, steps: Steps) -> Data:
    steps.expect(len(given["windows"]) * len(given["sizes"]))
    times: dict[str, list[float]] = {}
    for rows in given["windows"]:
        window = Window(rows, given["probes"])
        times[str(rows)] = []
        for size in given["sizes"]:
            part = size // BYTES

            def scan(part: int = part) -> None:
                for start in range(0, rows, part):
                    window.scan(start, start + part)

            seconds = time_median(scan, given["repetitions"])
            times[str(rows)].append(1e6 * seconds / given["probes"])
            steps.done(f"{rows:,} rows in basic windows of {size:,} B")
    return {"sizes": given["sizes"], "times": times}


def fit(sizes: list[int], times: list[float], rows: int) -> Transfer:
    """Eq. 3 without transfers, as there are none: a start for each basic window, and a time per byte."""
    starts = np.array([rows * BYTES / size for size in sizes])
    start, scanned = np.polyfit(starts, np.array(times), 1)
    return Transfer(issue=0.0, moved=0.0, start=max(float(start), 0.0), matched=float(scanned) / (rows * BYTES))


def judge(found: Data) -> list[Claim]:
    sizes, times = found["sizes"], found["times"]
    best = [sizes[int(np.argmin(each))] for each in times.values()]
    lost = []
    for each in times.values():
        at = int(np.argmin(each))
        lost += [100 * (each[near] / each[at] - 1) for near in (at - 1, at + 1) if 0 <= near < len(each)]
    grows = best[-1] > best[0]
    shown = " / ".join(f"{size:,} B" for size in best)
    note = "nothing is transferred here: large ones only save starts"
    return [
        compare_shape("best basic window over windows", "grows", shown, grows, note=note),
        compare_limit("lost beside the best, at most", CELL["lost beside the best %"], max(lost), "%"),
    ]


def draw(found: Data) -> list[Chart]:
    lines = []
    for rows, each in found["times"].items():
        lines.append(Line(f"{int(rows):,} rows", found["sizes"], each))
        costs = fit(found["sizes"], each, int(rows))
        model = [find_scan_time(size, int(rows) * BYTES, costs) for size in found["sizes"]]
        lines.append(Line(f"Eq. 3, {int(rows):,} rows", found["sizes"], model, "model"))
    title = "Time of a row over basic windows (Fig. 13)"
    return [Chart(title, "basic window, bytes", "µs a row", lines, log_x=True, log_y=True)]


EXPERIMENT = Experiment(
    "cell-basic-window", "CellJoin", "Size of basic windows (Fig. 9, 13)",
    "Our nested loop on one core, started anew for every basic window of the other side's window; no index.",
    full={"windows": [75_000, 150_000, 450_000], "sizes": [1 << k for k in range(9, 20)], "probes": 64,
          "repetitions": 9},
    quick={"windows": [30_000, 120_000], "sizes": [1 << k for k in range(10, 19, 2)], "probes": 32, "repetitions": 3},
    run=run, judge=judge, draw=draw,
)  # fmt: skip
