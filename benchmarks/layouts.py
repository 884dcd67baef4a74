"""How evenly layouts share the work, as ScaleJoin's Figure 8 measures it: the spread of comparisons over the workers.

Rates are constant, follow a sine or peak; each side is made up of several physical streams, each with a phase of its
own; values are uniform, follow Zipf's law or are all the same. Comparisons are counted exactly: every row meets the
rows of the other side that are stored where it probes and came at most a window before it.

    python benchmarks/layouts.py --cells 4 9 16
"""

import argparse
import sys
from collections.abc import Callable

import numpy as np
import pyarrow as pa
from bench import report
from numpy.typing import NDArray

from streamjoin import Cell, Grid, Keyed, Scale, within
from streamjoin.layout import Layout
from streamjoin.layout.grid import near_square
from streamjoin.pane import KeyColumn, Rows
from streamjoin.predicate import Schema, parse
from streamjoin.predicate.expr import OTHER, Side
from streamjoin.worker import Plan

WINDOW, SECONDS, RATE = 60, 240, 500
STREAMS = [(1, 4), (3, 2), (4, 2)]
PLAN = Plan(
    parse("abs(l.x - r.x) <= 10", Schema({"ts": "timestamp", "x": "int"}), Schema({"ts": "timestamp", "x": "int"})),
    within(f"{WINDOW} seconds"),
    pa.schema([]),
    pa.schema([]),
)
RATES: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "constant": np.ones_like,
    "sine": lambda t: 1 + 0.9 * np.sin(2 * np.pi * t / 40),
    "peaks": lambda t: np.where(t % 60 < 6, 8.0, 0.4),
}
VALUES: dict[str, Callable[[np.random.Generator, int], NDArray[np.int32]]] = {
    "uniform": lambda rng, count: rng.integers(1, 10_001, count, np.int32),
    "Zipf 1.5": lambda rng, count: np.minimum(rng.zipf(1.5, count), 10_000).astype(np.int32),
    "one value": lambda _, count: np.ones(count, np.int32),
}


def side_of(rng: np.random.Generator, streams: int, rate: str, values: str) -> tuple[Rows, NDArray[np.int64]]:
    """Rows of one side in the order of time, and a hash of each."""
    times = []
    for _ in range(streams):
        drawn = rng.random(RATE * SECONDS * 4 // streams) * SECONDS
        wanted = RATES[rate]((drawn + rng.random() * 60) % SECONDS)
        times.append(drawn[rng.random(len(drawn)) < wanted / 4])
    at = (np.sort(np.concatenate(times)) * 1e6).astype(np.int64)
    x = VALUES[values](rng, len(at))
    empty = pa.RecordBatch.from_struct_array(pa.StructArray.from_buffers(pa.struct([]), len(at), [None]))
    return Rows(at, (KeyColumn(x),), empty), rng.integers(-(2**63), 2**63 - 1, len(at), np.int64)


def comparisons(layout: Layout, sides: dict[Side, tuple[Rows, NDArray[np.int64]]]) -> NDArray[np.float64]:
    """The pairs that each cell decides."""
    probing: dict[Side, list[list[NDArray[np.int64]]]] = {side: [[] for _ in range(layout.cells)] for side in sides}
    stored: dict[Side, list[list[NDArray[np.int64]]]] = {side: [[] for _ in range(layout.cells)] for side in sides}
    for side, (rows, hashes) in sides.items():
        for part in layout.router(PLAN)(side, rows, hashes):
            for copy in part.copies:
                for does, cells in ((copy.probes, probing), (copy.stores, stored)):
                    if does:
                        cells[side][copy.cell].append(rows.time[part.rows])
    return np.array([_met(cell, probing, stored) for cell in range(layout.cells)])


def _met(cell: int, probing: dict[Side, list[list]], stored: dict[Side, list[list]]) -> float:
    pairs = 0.0
    for probe, store in (("l", "r"), ("r", "l")):
        if probing[probe][cell] and stored[store][cell]:
            held = np.sort(np.concatenate(stored[store][cell]))
            at = np.concatenate(probing[probe][cell])
            upto = np.searchsorted(held, at, "right" if probe == "l" else "left")  # of two at one time, one probes
            pairs += float((upto - np.searchsorted(held, at - WINDOW * 1_000_000, "left")).sum())
    return pairs


def layouts(cells: int) -> list[Layout]:
    grid = near_square(cells)
    spread = [Keyed(cells, spread=2)] if cells % 4 == 0 and cells > 4 else []
    return [grid, Scale(cells), Cell(cells), Keyed(cells), *spread, Grid(grid.m, grid.n, by="time")]


def _by_basic_window(layout: Cell, stored: NDArray[np.int64], probing: NDArray[np.int64]) -> NDArray[np.float64]:
    """The pairs that the stored rows of each basic window are in."""
    last = np.searchsorted(probing, stored + WINDOW * 1_000_000, "right")
    met = last - np.searchsorted(probing, stored, "left")
    length = layout.basic_window(PLAN, "l")
    return np.bincount(stored // length, met, SECONDS * 1_000_000 // length + 1)


def predicted(layout: Layout, sides: dict[Side, tuple[Rows, NDArray[np.int64]]]) -> float | None:
    """The spread to expect, in percent; None where it hangs on the values or the rates.

    Of uniform hashing sqrt((n - 1) / N) a side, of which in Scale half a cell's pairs hang on each; of basic windows,
    that some cell has one more than another: the largest one's share of what a cell has.
    """
    rows = [len(found) for found, _ in sides.values()]
    match layout:
        case Grid(m, n, "hash"):
            return 100 * float(np.sqrt((m - 1) / rows[0] + (n - 1) / rows[1]))
        case Scale(n):
            return 50 * float(np.sqrt((n - 1) / rows[0] + (n - 1) / rows[1]))
        case Cell(n):
            loads = sum(
                _by_basic_window(layout, sides[mine][0].time, sides[other][0].time) for mine, other in OTHER.items()
            )
            return 100 * float(loads.max() / (loads.sum() / n))
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, nargs="+", default=[4, 9, 16])
    parser.add_argument("--seeds", type=int, default=12)
    options = parser.parse_args()
    cases = [("constant", s, "uniform") for s in STREAMS] + [(rate, (3, 2), "uniform") for rate in ("sine", "peaks")]
    cases += [("sine", (1, 4), "uniform"), ("peaks", (4, 2), "uniform")]
    cases += [("constant", (3, 2), values) for values in ("Zipf 1.5", "one value")]
    rows = []
    for cells in options.cells:
        for layout in layouts(cells):
            line: list[object] = [str(layout)]
            for rate, streams, values in cases:
                spreads, expected = [], []
                for seed in range(options.seeds):
                    rng = np.random.default_rng([seed, *streams, len(rate), len(values)])
                    sides: dict[Side, tuple[Rows, NDArray[np.int64]]] = {
                        "l": side_of(rng, streams[0], rate, values),
                        "r": side_of(rng, streams[1], rate, values),
                    }
                    found = comparisons(layout, sides)
                    spreads.append(100 * found.std() / found.mean())
                    expected += [predicted(layout, sides)]
                figures = [spreads] if None in expected else [spreads, expected]
                line.append(" / ".join(f"{np.sqrt(np.mean(np.square(each))):.2g}" for each in figures))
            rows.append(line)
            print(line, file=sys.stderr, flush=True)
    header = ["layout", *(f"{rate} {s[0]}+{s[1]} {values}" for rate, s, values in cases)]
    about = (
        f"Standard deviation of comparisons over the workers in percent of their mean, root mean square of "
        f"{options.seeds} runs: {SECONDS} s of about {RATE} rows/s per stream, {WINDOW} s windows. Columns: rate, "
        "physical streams left+right, values. After the stroke: what uniform hashing predicts, and for Cell the share "
        "of the largest basic window in what a cell has."
    )
    report("layouts-balance", about, header, rows)


if __name__ == "__main__":
    main()
