"""CellJoin Fig. 12: the time of a row over the size of input batches, of the loop alone and of the whole system."""

from benchmarks.papers.experiment import Chart, Claim, Data, Experiment, Line, Steps
from benchmarks.papers.judge import compare_shape
from benchmarks.papers.loops import Window
from benchmarks.papers.published import CELL
from benchmarks.papers.systems import CORES, measure_throughput, time_median
from benchmarks.papers.workload import Load
from streamjoin import Cell

BYTES = 8
FLAT = 1.1
"""A curve is flat from where all that follows is at most this much lower."""


def run(given: Data, steps: Steps) -> Data:
    steps.expect(2 * len(given["batches"]))
    loop, system = [], []
    for batch in given["batches"]:
        window = Window(given["rows"], batch)
        loop.append(1e6 * time_median(window.scan, given["repetitions"]) / batch)
        steps.done(f"the loop, {batch} rows")
    load = Load.equal(given["rows"] / given["window"], given["window"])
    for batch in given["batches"]:
        got = measure_throughput(load, Cell(CORES), CORES, given["seconds"], batch)
        system.append(1e6 / (2 * got["rows_per_s"]))
        steps.done(f"CellJoin, {batch} rows")
    return {"bytes": [BYTES * batch for batch in given["batches"]], "loop": loop, "system": system}


def find_flat(sizes: list[int], times: list[float]) -> int:
    """The size from which on larger batches gain less than a tenth.

    >>> find_flat([8, 16, 32], [10.0, 5.0, 4.9])
    16
    """
    return next(size for at, size in enumerate(sizes) if times[at] <= FLAT * min(times[at:]))


def judge(found: Data) -> list[Claim]:
    claims = []
    for key, what in (("loop", "the loop alone"), ("system", "CellJoin, from push to result")):
        flat = find_flat(found["bytes"], found[key])
        claims.append(
            compare_shape(
                f"batches from which the time of a row is flat: {what}", f"{CELL['flat from bytes']} B", f"{flat:,} B",
                flat <= CELL["flat from bytes"], note="8 B of join attributes a row",
            )
        )  # fmt: skip
    falls = found["system"][-1] <= found["system"][0]
    gain = found["system"][0] / found["system"][-1]
    return [*claims, compare_shape("larger batches", "take less time a row", f"{gain:.0f}x less", falls)]


def draw(found: Data) -> list[Chart]:
    lines = [Line("nested loop, one core", found["bytes"], found["loop"])]
    lines.append(Line("CellJoin with an index, push to result", found["bytes"], found["system"]))
    title = "Time of a row over input batches (Fig. 12)"
    return [Chart(title, "input batch, bytes of join attributes", "µs a row", lines, log_x=True, log_y=True)]


EXPERIMENT = Experiment(
    "cell-batching", "CellJoin", "Size of input batches (Fig. 12)",
    "The time that one row takes where rows are handed over in batches.",
    full={"batches": [1, 4, 16, 64, 256, 1024, 4096], "rows": 200_000, "window": 300, "seconds": 4, "repetitions": 9},
    quick={"batches": [1, 4, 16, 64, 256, 1024], "rows": 30_000, "window": 30, "seconds": 0.3, "repetitions": 3},
    run=run, judge=judge, draw=draw,
)  # fmt: skip
