"""This machine's constants, measured: each kind of work is done once here, and the constants that ship are scaled.

A kernel's constants are scaled together by how long its probes take against what the shipped ones say; Spark's by
micro-batches of three small joins. `advise` alone uses what is found.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from time import perf_counter, thread_time

import numpy as np
import pyarrow as pa

from streamjoin.advice.question import TOUCHED_PER_BAND
from streamjoin.kernel.costs import KERNELS, Kernel
from streamjoin.layout import Grid
from streamjoin.match import Matcher
from streamjoin.model.batch import estimate_seconds, estimate_work
from streamjoin.model.constants import SHIPPED, Constants
from streamjoin.model.demand import Demand, Narrowing
from streamjoin.model.kernels import Probe, estimate_probe
from streamjoin.model.latency import to_copies
from streamjoin.model.pairs import Sides
from streamjoin.model.selectivity import find_whole_share
from streamjoin.pane import KeyColumn, Rows, Segment
from streamjoin.predicate import Schema, parse
from streamjoin.spec.window import within

SECONDS = 50.0
"""What all of it may take; what would come later is scaled as the rest was."""

ROWS, PROBES, VALUES, BAND, REPEATS = 50_000, 4_000, 2_000, 2, 5
BANDS = f"abs(l.x - r.x) <= {BAND} AND abs(l.y - r.y) <= {BAND}"
FORMULA = f"(l.x - r.x) * (l.x - r.x) + (l.y - r.y) * (l.y - r.y) <= {BAND * BAND}"
_SPARK_KERNELS: tuple[Kernel, ...] = ("nested", "buckets", "ordered")

_IN = ("row_in", "byte_in", "copy", "byte_copy", "stored", "byte_stored")
_OUT = ("row_out", "byte_out")


@dataclass(frozen=True)
class Trial:
    """Rows per second and side, from how many values theirs are, and how many micro-batches are timed."""

    rate: float
    values: int
    batches: int = 4


WARM_UP = Trial(4_000, 250, batches=10)
"""Comes first and is not timed: until Java has compiled what it runs, micro-batches take up to twice as long."""
TRIALS: Mapping[str, Trial] = {
    "fixed cost": Trial(10, 1_000),
    "rows": Trial(60_000, 30_000),
    "results": Trial(20_000, 250),
}
WINDOW, STEP = 4.0, 1.0
"""Seconds of the windows and of the micro-batches of Spark's trials."""

Run = Callable[[Trial], float]
"""Runs one trial on Spark; the seconds of a micro-batch."""


def calibrate(run: Run | None) -> Iterator[tuple[str, Constants]]:
    """Step by step what was measured, and the constants as far as they are known; without `run` of kernels alone."""
    started, constants = perf_counter(), SHIPPED
    for kernel in KERNELS:
        costs = (field.name for field in fields(constants) if field.name.startswith(kernel))
        constants = constants.scale(costs, measure_kernel(kernel))
        yield f"{kernel} kernel", constants
    if run is None:
        return
    measured: dict[str, float] = {}
    run(WARM_UP)
    yield "warm-up of Spark", constants
    for name, trial in TRIALS.items():
        if perf_counter() - started > SECONDS * 0.8:
            return
        measured[name] = run(trial)
        constants = fit_spark(constants, measured, cores=2)
        yield name, constants


def measure_kernel(kernel: Kernel) -> float:
    """How many times as long as the shipped constants say a kernel's probes take here, its index included."""
    rng, both = np.random.default_rng(1), Schema({"x": "int", "y": "int"})
    predicate = parse(FORMULA if kernel == "compiled" else BANDS, both, both)
    matcher = Matcher(predicate, within("1 minute"), kernel=kernel)
    rows = ROWS // 10 if kernel == "compiled" else ROWS
    build, probe = (_make_rows(count, rng) for count in (rows, rows if kernel == "buckets" else PROBES))
    best, matches, examined = np.inf, 0, 0
    for _ in range(REPEATS):
        start = thread_time()
        segment = matcher.prepare("r", Segment("calibrate", build))
        found = [(len(pairs.probe), pairs.examined) for pairs in matcher.pairs("l", probe, segment)]
        best = min(best, thread_time() - start)
        matches, examined = sum(n for n, _ in found), sum(n for _, n in found)
    each = Probe(rows, examined / len(probe), matches / len(probe))
    expected = len(probe) * estimate_probe(kernel, each)
    return float(best / expected)


def _make_rows(count: int, rng: np.random.Generator) -> Rows:
    keys = tuple(KeyColumn(rng.integers(0, VALUES, count, np.int32)) for _ in range(2))
    return Rows(np.zeros(count, np.int64), keys, pa.record_batch({"id": np.arange(count)}))


def fit_spark(constants: Constants, measured: Mapping[str, float], cores: int) -> Constants:
    """Spark's constants by what trials took: the fixed part, then what rows cost, then what results do.

    >>> round(fit_spark(SHIPPED, {"fixed cost": 1.0}, cores=2).batch * 1e-9 + SHIPPED.cell * 1e-9, 2)
    1.0
    """
    copies = to_copies(Grid(1, 2))

    def expect(name: str, by: Constants) -> float:
        return estimate_seconds(STEP, estimate_work(copies, describe_trial(TRIALS[name]), by), cores, by, cells=2)

    spent = expect("fixed cost", replace(constants, batch=0.0))
    constants = replace(constants, batch=max(measured["fixed cost"] - spent, 0.01) * 1e9)
    if "rows" not in measured:
        return constants
    ratio = _find_ratio("rows", measured["rows"], constants, expect, _IN)
    constants = constants.scale((*_IN, *_OUT), ratio)
    if "results" not in measured:
        return constants
    ratio = _find_ratio("results", measured["results"], constants, expect, _OUT)
    return constants.scale(_OUT, ratio)


def _find_ratio(
    name: str, took: float, constants: Constants, expect: Callable[[str, Constants], float], free: tuple[str, ...]
) -> float:
    """By how much these constants must be multiplied for a trial to take what it took; from a tenth to ten."""
    without = expect(name, constants.scale(free, 0.0))
    share = expect(name, constants) - without
    return float(np.clip((took - without) / share, 0.1, 10.0)) if share > 0 else 1.0


def describe_trial(trial: Trial) -> Demand:
    """What a trial asks: bands on two columns of uniform whole numbers."""
    hit_rate = find_whole_share(BAND, trial.values) ** 2
    narrowing = Narrowing(_SPARK_KERNELS, min(TOUCHED_PER_BAND**2 * hit_rate, 1.0))
    return Demand(within(f"{WINDOW} seconds"), Sides.equal(trial.rate), hit_rate, narrowing, Sides.equal(8.0))
