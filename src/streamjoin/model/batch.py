"""Seconds of a micro-batch on Spark: a fixed part, and work per row in, per copy, per probe and per row out."""

import math
from dataclasses import dataclass

from streamjoin.model.constants import SHIPPED, Constants
from streamjoin.model.copies import Copies, find_sent_rate
from streamjoin.model.kernels import Kernel, Probe, estimate_probe
from streamjoin.model.outputs import find_output_rate
from streamjoin.model.pairs import Sides, count_partners
from streamjoin.spec.window import Window

_NANOSECOND = 1e-9


@dataclass(frozen=True)
class Work:
    """Seconds of one core for each second of event time, once the windows are full."""

    rows: float
    copies: float
    probes: float
    results: float

    @property
    def total(self) -> float:
        """All of it."""
        return self.rows + self.copies + self.probes + self.results


def estimate_work(
    copies: Copies, window: Window, rates: Sides, hit_rate: float, probes: float, constants: Constants = SHIPPED
) -> Work:
    """The work of a join in a layout, `probes` being that of its kernels (`estimate_probes`).

    >>> from streamjoin.layout.base import Cost
    >>> from streamjoin.spec.window import within
    >>> work = estimate_work(Copies(2, Cost(2, 2), Cost(1, 1)), within("1 minute"), Sides.equal(10_000), 4.2e-6, 0.01)
    >>> f"{work.rows:.3f} {work.copies:.3f} {work.results:.3f}"
    '0.160 0.006 0.026'
    """
    return Work(
        rows=(rates.left + rates.right) * constants.row_in * _NANOSECOND,
        copies=find_sent_rate(copies, rates) * constants.copy * _NANOSECOND,
        probes=probes,
        results=find_output_rate(window, rates, hit_rate) * constants.row_out * _NANOSECOND,
    )


def estimate_probes(
    copies: Copies,
    window: Window,
    rates: Sides,
    hit_rate: float,
    *,
    kernel: Kernel,
    candidates: float = 1.0,
    segments: int = 1,
    checked: bool = False,
    constants: Constants = SHIPPED,
) -> float:
    """Seconds of one core that all cells' kernels take for each second of event time.

    Each copy of a row probes the share of the other window that its cell holds. `candidates` is the share of all pairs
    that the index narrows to, as `hit_rate` is that of all that match: a row's copies find these between them.
    """
    partners, shares = count_partners(window, rates), copies.shares
    sides = (
        (rates.left, copies.left.sent, partners.left, shares.right),
        (rates.right, copies.right.sent, partners.right, shares.left),
    )
    return sum(
        rate
        * sent
        * estimate_probe(
            kernel,
            Probe(found * share, found * candidates / sent, found * hit_rate / sent),
            segments=segments,
            checked=checked,
            constants=constants,
        )
        for rate, sent, found, share in sides
    )


def estimate_seconds(interval: float, work: Work, cores: int, constants: Constants = SHIPPED) -> float:
    """The seconds of a micro-batch that brings `interval` seconds of event time, its work spread evenly over the cores.

    >>> estimate_seconds(10, Work(0.25, 0.25, 0, 0.5), cores=2)
    5.5
    """
    return constants.batch * _NANOSECOND + interval * work.total / cores


def find_least_interval(work: Work, cores: int, constants: Constants = SHIPPED) -> float:
    """The shortest interval whose micro-batch is done when the next one is due: fixed / (1 - work / cores).

    It is infinite where the cores cannot keep up however long it is.

    >>> find_least_interval(Work(0.25, 0.25, 0, 0.5), cores=2)
    1.0
    """
    idle = 1 - work.total / cores
    return constants.batch * _NANOSECOND / idle if idle > 0 else math.inf


def estimate_latency(interval: float, work: Work, cores: int, constants: Constants = SHIPPED) -> float:
    """Mean seconds from a row's arrival to the results it completes: it waits half an interval, then for its batch.

    >>> estimate_latency(10, Work(0.25, 0.25, 0, 0.5), cores=2)
    10.5
    """
    return interval / 2 + estimate_seconds(interval, work, cores, constants)
