"""Seconds of a micro-batch on Spark: a fixed part, and work per row in, per copy, per probe and per row out."""

import math
from dataclasses import dataclass
from functools import partial

from streamjoin.model.constants import SHIPPED, Constants
from streamjoin.model.copies import Copies, find_sent_rate, find_shuffle_rate, find_stored_rate
from streamjoin.model.demand import Demand
from streamjoin.model.kernels import Probe, estimate_probe
from streamjoin.model.pairs import count_partners, find_reach
from streamjoin.pane.panes import PANES

_NANOSECOND = 1e-9


@dataclass(frozen=True)
class Work:
    """Seconds of one core for each second of event time, once the windows are full.

    `rows` are read and packed in tasks of their own; the rest is the cells' work: `copies` are sent and stored.
    """

    rows: float
    copies: float
    probes: float
    results: float

    @property
    def total(self) -> float:
        """All of it."""
        return self.rows + self.cells

    @property
    def cells(self) -> float:
        """What cells do."""
        return self.copies + self.probes + self.results


def estimate_work(copies: Copies, demand: Demand, constants: Constants = SHIPPED, *, interval: float = 5.0) -> Work:
    """The work of a join in a layout, with micro-batches of so many seconds.

    >>> from streamjoin.layout.base import Cost
    >>> from streamjoin.model.pairs import Sides
    >>> from streamjoin.spec.window import within
    >>> by_bytes = {"byte_in": 0, "byte_copy": 0, "byte_stored": 0, "byte_out": 0}
    >>> constants = Constants(row_in=8000, copy=200, stored=0, row_out=510, **by_bytes)
    >>> demand = Demand(within("1 minute"), Sides.equal(10_000), 4.2e-6)
    >>> work = estimate_work(Copies(2, Cost(2, 2), Cost(1, 1)), demand, constants)
    >>> f"{work.rows:.3f} {work.copies:.3f} {work.results:.3f}"
    '0.160 0.006 0.026'
    """
    rates, widths = demand.rates, demand.stored_widths
    arriving = rates.left * widths.left + rates.right * widths.right
    return Work(
        rows=((rates.left + rates.right) * constants.row_in + arriving * constants.byte_in) * _NANOSECOND,
        copies=_NANOSECOND
        * (
            find_sent_rate(copies, rates) * constants.copy
            + find_shuffle_rate(copies, rates, widths) * constants.byte_copy
            + find_stored_rate(copies, rates) * constants.stored
            + find_stored_rate(copies, rates, widths) * constants.byte_stored
        ),
        probes=estimate_probes(copies, demand, constants, interval=interval),
        results=demand.result_rate * (constants.row_out + demand.result_width * constants.byte_out) * _NANOSECOND,
    )


def estimate_probes(copies: Copies, demand: Demand, constants: Constants = SHIPPED, *, interval: float = 5.0) -> float:
    """Seconds of one core that all cells' kernels take for each second of event time.

    Each copy of a row probes the share of the other window that its cell holds. `candidates` is the share of all pairs
    that the index narrows to, as the hit rate is that of all that match: a row's copies find these between them.
    """
    window, rates, narrowing = demand.window, demand.rates, demand.narrowing
    partners, shares = count_partners(window, rates), copies.shares
    stored, sent = find_stored_rate(copies, rates), find_sent_rate(copies, rates)
    sides = (
        (rates.left, copies.left.sent, partners.left, shares.right),
        (rates.right, copies.right.sent, partners.right, shares.left),
    )
    cost = partial(
        estimate_probe,
        segments=count_segments(demand, interval),
        builds=stored / sent if sent else 0.0,
        checked=narrowing.checked,
        constants=constants,
    )
    seconds = 0.0
    for rate, cells, found, share in sides:
        probe = Probe(found * share, found * narrowing.candidates / cells, found * demand.hit_rate / cells)
        seconds += rate * cells * min(cost(kernel, probe) for kernel in narrowing.kernels)
    return seconds


def count_segments(demand: Demand, interval: float) -> int:
    """In how many segments a window lies: one for each micro-batch, merged into basic windows of 1/16 of it.

    >>> from streamjoin.model.pairs import Sides
    >>> from streamjoin.spec.window import within
    >>> [count_segments(Demand(within("60 seconds"), Sides(1, 1), 0), interval) for interval in (0.1, 5, 30, 120)]
    [23, 14, 3, 2]
    """
    reach = find_reach(demand.window, demand.rates)
    ends = (reach.upper if demand.rates.left else 0.0, -reach.lower if demand.rates.right else 0.0)
    span = reach.bucket if reach.bucket < math.inf else max(*ends, 0.0)
    arrived = span / interval
    if arrived <= PANES:
        return math.ceil(arrived) + (2 if arrived > PANES / 2 else 1)
    return PANES + math.ceil(math.log2(arrived / PANES)) + 1


def estimate_seconds(
    interval: float,
    work: Work,
    cores: int,
    constants: Constants = SHIPPED,
    *,
    cells: int | None = None,
    busiest: float = 0.0,
) -> float:
    """The seconds of a micro-batch that brings `interval` seconds of event time.

    Rows are packed on all cores; cells run on as many as there are cells, and no sooner than the one that has the share
    `busiest` of their work is done.

    >>> constants = Constants(batch=5e8, cell=0)
    >>> estimate_seconds(10, Work(0.25, 0.25, 0, 0.5), 2, constants)
    5.5
    >>> estimate_seconds(10, Work(0.25, 0.25, 0, 0.5), 2, constants, cells=1)
    9.25
    """
    cells = cells or cores
    share = max(1 / min(cores, cells), busiest)
    fixed = constants.batch + constants.cell * math.ceil(cells / cores)
    return fixed * _NANOSECOND + interval * (work.rows / cores + work.cells * share)


def find_least_interval(
    work: Work, cores: int, constants: Constants = SHIPPED, *, cells: int | None = None, busiest: float = 0.0
) -> float:
    """The shortest interval whose micro-batch is done when the next one is due: fixed / (1 - work per second).

    It is infinite where the cores cannot keep up however long it is.

    >>> find_least_interval(Work(0.25, 0.25, 0, 0.5), 2, Constants(batch=5e8, cell=0))
    1.0
    """
    fixed = estimate_seconds(0.0, work, cores, constants, cells=cells, busiest=busiest)
    idle = 1 + fixed - estimate_seconds(1.0, work, cores, constants, cells=cells, busiest=busiest)
    return fixed / idle if idle > 0 else math.inf


def estimate_latency(interval: float, seconds: float) -> float:
    """Mean seconds from a row's arrival to the results it completes: it waits half an interval, then for its batch.

    >>> estimate_latency(10, 5.5)
    10.5
    """
    return interval / 2 + seconds
