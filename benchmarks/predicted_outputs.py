"""Results as the model predicts them and as a worker finds them, from empty windows on, over ten workloads.

python benchmarks/predicted_outputs.py
"""

from dataclasses import dataclass

import numpy as np
from bench import report

import streamjoin as sj
from streamjoin.advice.question import understand
from streamjoin.advice.ranges import Ranges, find_shares
from streamjoin.model.outputs import count_outputs
from streamjoin.model.pairs import Sides
from streamjoin.operators.types import Schema
from streamjoin.pane import KeyColumn, Rows, no_columns
from streamjoin.plan import Block, Plan
from streamjoin.spec.side import SIDES, Side
from streamjoin.spec.window import Window
from streamjoin.worker import Worker

BANDS = "abs(l.x - r.a) <= 10 AND abs(l.y - r.b) <= 10"
SCHEMAS = {"l": Schema({"x": "int", "y": "float"}), "r": Schema({"a": "int", "b": "float"})}
SEEDS = 12


@dataclass(frozen=True)
class Workload:
    """Streams of these rates that begin together, `seconds` of them, in micro-batches of `step` seconds.

    Whole values are uniform over the first range of their side, floating ones over the second.
    """

    name: str
    window: Window
    rates: Sides
    seconds: float
    on: str = BANDS
    left: tuple[tuple[int, int], tuple[float, float]] = ((1, 2000), (1.0, 2000.0))
    right: tuple[tuple[int, int], tuple[float, float]] = ((1, 2000), (1.0, 2000.0))
    step: float = 5.0

    @property
    def ranges(self) -> Ranges:
        return dict(zip(("l.x", "l.y", "r.a", "r.b"), (*self.left, *self.right), strict=True))


WORKLOADS = [
    Workload("equal rates and windows", sj.within("30 s"), Sides(2000, 2000), 120),
    Workload("rates 1 : 4", sj.within("30 s"), Sides(1000, 4000), 120),
    Workload("windows 10 and 60 s", sj.within(left="10 s", right="60 s"), Sides(2000, 2000), 120),
    Workload("rates 5 : 1, windows 40 and 5 s", sj.within(left="40 s", right="5 s"), Sides(5000, 1000), 120),
    Workload("windows that never fill", sj.within(left="200 s", right="90 s"), Sides(1500, 1000), 80),
    Workload("the right row later, 10 to 40 s", sj.between("10 s", "40 s"), Sides(2000, 3000), 120),
    Workload("the right row earlier, 5 to 25 s", sj.between("-25 s", "-5 s"), Sides(3000, 2000), 120),
    Workload("tumbling, 20 s", sj.tumbling("20 s"), Sides(3000, 2000), 130),
    Workload(
        *("ranges that differ", sj.within("20 s"), Sides(3000, 3000), 100),
        left=((1, 1500), (0.0, 500.0)), right=((1000, 2500), (100.0, 900.0)),
    ),
    Workload("one end open", sj.within("2 s"), Sides(800, 1600), 60, "l.x < r.a AND abs(l.y - r.b) <= 100"),
]  # fmt: skip


def draw(load: Workload, side: Side, number: int, rng: np.random.Generator) -> Rows:
    rate, (whole, real) = (load.rates.left, load.left) if side == "l" else (load.rates.right, load.right)
    count = rng.poisson(rate * load.step) if number < load.seconds / load.step else 0
    times = np.sort((number + rng.random(count)) * load.step * 1e6).astype(np.int64)
    keys = KeyColumn(rng.integers(whole[0], whole[1] + 1, count, np.int32)), rng.uniform(*real, count)
    return Rows(times, (keys[0], KeyColumn(keys[1].astype(np.float32))), no_columns(count))


def find_matches(plan: Plan, load: Workload, seed: int) -> int:
    worker, rng = Worker(plan, journal=False), np.random.default_rng(seed)
    matches = 0
    for number in range(round(load.seconds / load.step)):
        left, right = (Block(draw(load, side, number, rng)) for side in SIDES)
        for _ in worker.process(left, right, watermark=round(number * load.step * 1e6)):
            pass
        matches += worker.last.matches
    return matches


def main() -> None:
    table = []
    for load in WORKLOADS:
        plan = understand(load.on, SCHEMAS, load.window, "inner", ("ts", "ts"))
        hit_rate, _ = find_shares(plan, load.ranges)
        predicted = count_outputs(load.window, load.rates, hit_rate, load.seconds)
        measured = sum(find_matches(plan, load, seed) for seed in range(SEEDS)) / SEEDS
        off = (measured / predicted - 1) * 100
        rates = f"{load.rates.left:,.0f} : {load.rates.right:,.0f}"
        table.append([load.name, str(load.window), rates, f"{predicted:,.0f}", f"{measured:,.0f}", f"{off:+.2f} %"])
        print(table[-1], flush=True)
    about = (
        f"Results from empty windows on, Poisson arrivals, uniform values; measured: the mean of {SEEDS} runs of one "
        "worker. Nothing is fitted."
    )
    report("predicted-outputs", about, ["workload", "window", "rates", "predicted", "measured", "off"], table)


if __name__ == "__main__":
    main()
