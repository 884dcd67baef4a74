"""Which layout and interval serve a join for least, by what the model says of each."""

import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypedDict

from streamjoin.errors import StreamJoinError
from streamjoin.layout import Grid, Keyed, Layout, Scale, fit_plan
from streamjoin.model.batch import Work, estimate_latency, estimate_seconds, estimate_work, find_least_interval
from streamjoin.model.constants import SHIPPED, Constants
from streamjoin.model.copies import count_copies, find_shuffle_rate, find_state_size
from streamjoin.model.demand import Demand, Narrowing
from streamjoin.plan import Plan

INTERVALS = (0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0)
"""Seconds, as people write them."""
HEADROOM = 0.8
"""A micro-batch should be done in this part of its interval: rates are not as even as means."""
USUAL = 10.0
"""Seconds of a micro-batch by which layouts are compared where none is given."""
CLOSE = 1.03
"""Layouts that differ by less are taken to be equally fast: then the one that keeps cores less busy is better."""
MOST_CORES = 4096
_KEYS_PER_GROUP = 4.0
_DOUBLINGS = 40

Part = Literal["fixed", "rows", "copies", "probes", "results", "busiest cell"]


@dataclass(frozen=True)
class Estimate:
    """What a layout costs with micro-batches of `interval` seconds; bytes of all cells, bytes shuffled per second.

    `busiest` is the share of the cells' work that falls on one cell.
    """

    layout: Layout
    interval: float
    work: Work
    seconds: float
    fixed: float
    least_interval: float
    busiest: float
    state_bytes: float
    shuffle_rate: float
    core_seconds: float
    """Of a micro-batch: its work, and what its cells cost however little they have to do."""

    @property
    def is_sustained(self) -> bool:
        """Whether a micro-batch is done when the next one is due."""
        return self.seconds <= self.interval

    @property
    def leaves_headroom(self) -> bool:
        """Whether a micro-batch takes at most `HEADROOM` of its interval."""
        return self.seconds <= HEADROOM * self.interval

    @property
    def latency(self) -> float:
        """Mean seconds from a row's arrival to the results it completes."""
        return estimate_latency(self.interval, self.seconds)

    @property
    def limit(self) -> Part:
        """What most of a micro-batch's seconds go to."""
        if self.busiest * self.layout.cells > 2 and self.work.cells > self.work.rows:
            return "busiest cell"
        work = self.work
        parts: dict[Part, float] = {
            "rows": work.rows,
            "copies": work.copies,
            "probes": work.probes,
            "results": work.results,
        }
        if self.fixed > self.seconds / 2:
            return "fixed"
        return max(parts, key=lambda part: parts[part])


@dataclass(frozen=True)
class Machine:
    """What a join runs on."""

    cores: int
    constants: Constants = SHIPPED


class _Spread(TypedDict):
    cells: int
    busiest: float


def estimate_layout(layout: Layout, plan: Plan, demand: Demand, machine: Machine, interval: float) -> Estimate:
    """What a layout costs with micro-batches of so many seconds."""
    copies, at = count_copies(layout, plan), (machine.cores, machine.constants)
    work = estimate_work(copies, demand, machine.constants, interval=interval)
    busiest = find_busiest_share(layout, demand.narrowing)
    spread = _Spread(cells=layout.cells, busiest=busiest)
    return Estimate(
        layout,
        interval,
        work,
        seconds=estimate_seconds(interval, work, *at, **spread),
        fixed=estimate_seconds(0.0, work, *at, **spread),
        least_interval=find_least_interval(work, *at, **spread),
        busiest=busiest,
        state_bytes=find_state_size(copies, demand.window, demand.rates, demand.stored_widths, demand.delay + interval),
        shuffle_rate=find_shuffle_rate(copies, demand.rates, demand.stored_widths),
        core_seconds=interval * work.total + layout.cells * machine.constants.cell * 1e-9,
    )


def find_busiest_share(layout: Layout, narrowing: Narrowing) -> float:
    """The share of the cells' work that falls on one cell: more than its part only where rows go by their keys.

    >>> find_busiest_share(Keyed(8), Narrowing(hottest=0.5)), find_busiest_share(Keyed(8, spread=2), Narrowing())
    (0.5625, 0.125)
    """
    if not isinstance(layout, Keyed):
        return 1 / layout.cells
    groups = layout.n // layout.spread**2
    busy = min(groups, narrowing.groups or groups)
    return (narrowing.hottest + (1 - narrowing.hottest) / busy) / layout.spread**2


def list_layouts(cells: int, plan: Plan, narrowing: Narrowing) -> Iterator[Layout]:
    """The layouts of so many cells that can serve a join; `Cell` is left out, it costs what `Scale` does.

    `Keyed` is among them where there are known to be keys enough for its cells.
    """
    layouts: list[Layout] = [Grid(m, cells // m) for m in range(1, cells + 1) if cells % m == 0]
    layouts += [Scale(cells)] if cells > 1 else []
    for spread in range(1, math.isqrt(cells) + 1):
        groups = cells // spread**2
        enough = narrowing.groups is not None and narrowing.groups >= _KEYS_PER_GROUP * groups
        if cells > 1 and cells % spread**2 == 0 and groups > 1 and enough:
            layouts.append(Keyed(cells, spread))
    return (layout for layout in layouts if _fits(layout, plan))


def _fits(layout: Layout, plan: Plan) -> bool:
    try:
        fit_plan(layout, plan)
    except StreamJoinError:
        return False
    return True


def rank_layouts(
    plan: Plan, demand: Demand, machine: Machine, degrees: Iterable[int], interval: float | None = None
) -> list[Estimate]:
    """Estimates of all layouts of these numbers of cells, the best first."""
    return rank_estimates(_estimate_layouts(plan, demand, machine, degrees, interval or USUAL))


def _estimate_layouts(
    plan: Plan, demand: Demand, machine: Machine, degrees: Iterable[int], interval: float
) -> list[Estimate]:
    return [
        estimate_layout(layout, plan, demand, machine, interval)
        for cells in degrees
        for layout in list_layouts(cells, plan, demand.narrowing)
    ]


def rank_estimates(estimates: Iterable[Estimate]) -> list[Estimate]:
    """The best first: it takes the fewest seconds for a micro-batch; of about as few, the fewest of a core's."""
    left, ranked = list(estimates), list[Estimate]()
    while left:
        ranked.append(_find_best(left))
        left.remove(ranked[-1])
    return ranked


def _find_best(estimates: Collection[Estimate]) -> Estimate:
    least = min(estimate.seconds for estimate in estimates)
    close = (e for e in estimates if e.seconds <= CLOSE * least)
    return min(close, key=lambda e: (float(f"{e.core_seconds:.2g}"), e.seconds, e.layout.cells))


def choose_interval(plan: Plan, demand: Demand, machine: Machine, degrees: Collection[int]) -> float:
    """The shortest interval, of those that people write, at which the best layout leaves headroom.

    Where none does, the shortest that is kept up with, or else `USUAL`.
    """
    kept_up = []
    for interval in INTERVALS:
        best = _find_best(_estimate_layouts(plan, demand, machine, degrees, interval))
        if best.leaves_headroom:
            return interval
        if best.is_sustained:
            kept_up.append(interval)
    return kept_up[0] if kept_up else USUAL


def list_degrees(cores: int) -> list[int]:
    """Numbers of cells to look at: each up to 32, then multiples of 8."""
    return [*range(1, min(cores, 32) + 1), *range(40, cores + 1, 8)]


def find_smallest(estimates: Iterable[Estimate]) -> Estimate | None:
    """The one with the fewest cells that is sustained at its interval; of equally many, the fastest."""
    kept_up = [estimate for estimate in estimates if estimate.is_sustained]
    return min(kept_up, key=lambda e: (e.layout.cells, e.seconds), default=None)


def find_needed_cores(plan: Plan, demand: Demand, machine: Machine, interval: float) -> int | None:
    """The fewest cores, found by doubling and halving, on which some layout is sustained; None beyond 4096."""

    def keeps_up(cores: int) -> bool:
        there = Machine(cores, machine.constants)
        return any(e.is_sustained for e in rank_layouts(plan, demand, there, [cores], interval))

    high = 1
    while not keeps_up(high):
        high *= 2
        if high > MOST_CORES:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if keeps_up(middle) else (middle, high)
    return high


def find_headroom(layout: Layout, plan: Plan, demand: Demand, machine: Machine, interval: float) -> float:
    """How many times these rates a layout sustains with micro-batches of so many seconds; 0 where none."""

    def keeps_up(by: float) -> bool:
        return estimate_layout(layout, plan, demand.scale(by), machine, interval).is_sustained

    low, high = 0.0, 1.0
    while keeps_up(high) and high < 2**_DOUBLINGS:
        low, high = high, 2 * high
    for _ in range(_DOUBLINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if keeps_up(middle) else (low, middle)
    return low
