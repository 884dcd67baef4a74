"""How evenly layouts share the work, as ScaleJoin's Figure 8 measures it: the spread of comparisons over the workers.

Each side is made up of several physical streams of different rates: constant ones, sines of their own amplitude and
period, or peaks at times of their own; values are uniform, follow Zipf's law or are all the same. Comparisons are
counted exactly: every row meets the rows of the other side that are stored where it probes and came at most a window
before it. The paper's figure has them second by second; what cells have done in the end is another question, and a
table of its own.

    python benchmarks/layouts.py --cells 4 9 16
"""

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.progress import track

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.bench import report
from streamjoin import Cell, Grid, Keyed, Scale, within
from streamjoin.layout import Layout
from streamjoin.layout.base import mix
from streamjoin.layout.grid import find_near_square
from streamjoin.pane import KeyColumn, Rows, no_columns
from streamjoin.plan import Plan
from streamjoin.predicate import Schema, parse
from streamjoin.spec.side import OTHER, SIDES, Side

WINDOW, SECONDS, RATE = 60, 240, 500
MOST = 8
"""The highest peak, in times the mean rate."""

STREAMS = [(1, 4), (3, 2), (4, 2)]
SCHEMA = Schema({"ts": "timestamp", "x": "int"})
EMPTY = no_columns(0).schema
PLAN = Plan(parse("abs(l.x - r.x) <= 10", SCHEMA, SCHEMA), within(f"{WINDOW} seconds"), EMPTY, EMPTY)

Times = NDArray[np.float64]
Shape = Callable[[np.random.Generator, Times], Times]
"""Times the mean rate, at each time."""

RATES: dict[str, Shape] = {
    "constant": lambda rng, t: np.full(len(t), rng.uniform(0.75, 1.25)),
    "sine": lambda rng, t: 1 + rng.uniform(0.4, 0.9) * np.sin(2 * np.pi * (t / rng.uniform(20, 80) + rng.random())),
    "peaks": lambda rng, t: np.where((t + rng.random() * 60) % 60 < 6, MOST, 0.4),
}
VALUES: dict[str, Callable[[np.random.Generator, int], NDArray[np.int32]]] = {
    "uniform": lambda rng, count: rng.integers(1, 10_001, count, np.int32),
    "Zipf 1.5": lambda rng, count: np.minimum(rng.zipf(1.5, count), 10_000).astype(np.int32),
    "one value": lambda _, count: np.ones(count, np.int32),
}


@dataclass(frozen=True)
class Run:
    """Rows of both sides, in the order of time."""

    rows: dict[Side, Rows]

    @classmethod
    def drawn(cls, seed: int, rate: str, streams: tuple[int, int], values: str) -> "Run":
        rng = np.random.default_rng([seed, *streams, len(rate), len(values)])
        return cls({side: _side(rng, count, rate, values) for side, count in zip(SIDES, streams, strict=True)})

    def hashes(self, side: Side) -> NDArray[np.int64]:
        """A hash of all that each row holds, and of its side."""
        rows = self.rows[side]
        return mix(mix(rows.time + SIDES.index(side)) ^ rows.keys[0].values.astype(np.int64))

    @cached_property
    def probing(self) -> dict[Side, Times]:
        """How many rows arrive in each second."""
        return {s: np.bincount(rows.time // 1_000_000, minlength=SECONDS) for s, rows in self.rows.items()}

    @cached_property
    def window(self) -> dict[Side, Times]:
        """How many rows the window holds in each second."""
        return {side: np.convolve(each, np.ones(WINDOW))[:SECONDS] for side, each in self.probing.items()}


def _side(rng: np.random.Generator, streams: int, rate: str, values: str) -> Rows:
    at = draw_times(rng, streams, RATES[rate], RATE, SECONDS)
    return Rows(at, (KeyColumn(VALUES[values](rng, len(at))),), no_columns(len(at)))


def draw_times(rng: np.random.Generator, streams: int, shape: Shape, rate: int, seconds: int) -> NDArray[np.int64]:
    """When the rows of a side come, in microseconds: so many streams, together about so many rows/s."""
    times = []
    for _ in range(streams):
        drawn = rng.random(rate * seconds * MOST // streams) * seconds
        times.append(drawn[rng.random(len(drawn)) < shape(rng, drawn) / MOST])
    return (np.sort(np.concatenate(times)) * 1e6).astype(np.int64)


def comparisons(layout: Layout, run: Run) -> Times:
    """The pairs that each cell decides in each second."""
    probing: dict[Side, list[list[NDArray[np.int64]]]] = {side: [[] for _ in range(layout.cells)] for side in SIDES}
    stored: dict[Side, list[list[NDArray[np.int64]]]] = {side: [[] for _ in range(layout.cells)] for side in SIDES}
    for side, rows in run.rows.items():
        for part in layout.router(PLAN)(side, rows, run.hashes(side)):
            for copy in part.copies:
                for does, cells in ((copy.probes, probing), (copy.stores, stored)):
                    if does:
                        cells[side][copy.cell].append(rows.time[part.rows])
    found = np.zeros((layout.cells, SECONDS))
    for cell in range(layout.cells):
        for side in SIDES:
            if probing[side][cell] and stored[OTHER[side]][cell]:
                held = np.sort(np.concatenate(stored[OTHER[side]][cell]))
                at = np.concatenate(probing[side][cell])
                upto = np.searchsorted(held, at, "right" if side == "l" else "left")  # of two at one time, one probes
                met = upto - np.searchsorted(held, at - WINDOW * 1_000_000, "left")
                found[cell] += np.bincount(at // 1_000_000, met, SECONDS)
    return found


def predicted(layout: Layout, run: Run) -> tuple[float, float] | None:
    """The spread to expect in a second and in the end, in percent; None where it hangs on the values.

    Of uniform hashing sqrt((n - 1) / N) for each side that probes and each that is stored. Of basic windows: that some
    cell has one more than another, the largest one's share of what a cell has.
    """
    total = {side: len(rows) for side, rows in run.rows.items()}
    match layout:
        case Grid(m, n, "hash"):
            parts = {"l": m - 1, "r": n - 1}
            spread = {
                side: parts[side] / run.probing[side] + parts[OTHER[side]] / run.window[OTHER[side]] for side in SIDES
            }
            in_the_end = np.sqrt(parts["l"] / total["l"] + parts["r"] / total["r"])
        case Scale(n):
            spread = {side: (n - 1) / run.window[OTHER[side]] for side in SIDES}
            in_the_end = np.sqrt(sum((n - 1) / total[side] for side in SIDES)) / 2
        case Cell(n):
            length = layout.basic_window(PLAN, "l")
            largest = {side: np.bincount(rows.time // length).max() for side, rows in run.rows.items()}
            seconds = max(n * largest[side] / np.median(run.window[side][WINDOW:]) for side in SIDES)
            return 100 * seconds, 100 * max(n * largest[side] / total[side] for side in SIDES)
        case _:
            return None
    pairs = {side: run.probing[side] * run.window[OTHER[side]] for side in SIDES}
    each = np.sqrt(sum(pairs[side] ** 2 * spread[side] for side in SIDES)) / sum(pairs.values())
    return 100 * _mean_square(each[WINDOW:]), 100 * float(in_the_end)


def _mean_square(figures: object) -> float:
    return float(np.sqrt(np.mean(np.square(np.asarray(figures)))))


def layouts(cells: int) -> list[Layout]:
    grid = find_near_square(cells)
    spread = [Keyed(cells, spread=2)] if cells % 4 == 0 and cells > 4 else []
    return [grid, Scale(cells), Cell(cells), Keyed(cells), *spread]


def measured(layout: Layout, case: tuple[str, tuple[int, int], str], seeds: int) -> tuple[str, str]:
    """The spread in a second and in the end, each with what is predicted after a stroke."""
    runs = [Run.drawn(seed, *case) for seed in range(seeds)]
    loads = [comparisons(layout, run) for run in runs]
    full = [found[:, WINDOW:] for found in loads]
    seconds = [_mean_square(100 * found.std(axis=0) / found.mean(axis=0)) for found in full]
    ends = [100 * found.sum(axis=1).std() / found.sum(axis=1).mean() for found in loads]
    expected = [found for run in runs if (found := predicted(layout, run)) is not None]
    figures = [_mean_square(seconds), _mean_square(ends)]
    promised = [_mean_square(each) for each in zip(*expected, strict=True)] or [None, None]
    texts = [" / ".join(map(_figure, pair)) for pair in zip(figures, promised, strict=True)]
    return texts[0].removesuffix(" / "), texts[1].removesuffix(" / ")


def _figure(percent: float | None) -> str:
    if percent is None:
        return ""
    return f"{float(f'{percent:.2g}'):g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, nargs="+", default=[4, 9, 16])
    parser.add_argument("--seeds", type=int, default=8)
    options = parser.parse_args()
    cases = [(rate, streams, "uniform") for rate in RATES for streams in STREAMS]
    cases += [("constant", (3, 2), values) for values in ("Zipf 1.5", "one value")]
    tables: tuple[list[list[object]], list[list[object]]] = ([], [])
    every = [layout for cells in options.cells for layout in layouts(cells)]
    for layout in track(every, "layouts", disable=not sys.stderr.isatty()):
        figures = [measured(layout, case, options.seeds) for case in cases]
        for table, column in zip(tables, zip(*figures, strict=True), strict=True):
            table.append([str(layout), *column])
    header = ["layout", *(f"{rate} {s[0]}+{s[1]} {values}" for rate, s, values in cases)]
    about = (
        "Standard deviation of comparisons over the workers in percent of their mean, {}; root mean square of "
        f"{options.seeds} runs: {SECONDS} s of about {RATE} rows/s per side, {WINDOW} s windows. Columns: rate, "
        "physical streams left+right, values. After the stroke: what uniform hashing predicts, and for Cell the "
        "share of the largest basic window in what a cell has."
    )
    report("layouts-balance", about.format("second by second with full windows, as in the paper"), header, tables[0])
    report("layouts-balance-in-all", about.format("over the whole run"), header, tables[1])


if __name__ == "__main__":
    main()
