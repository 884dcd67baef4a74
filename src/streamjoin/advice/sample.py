"""The hit rate in sampled rows: the condition itself decides on pairs within the window.

Rows that match lie together in time more often than not (an order and its payment), so a sample is a stretch of both
inputs, and of its pairs those count that the window holds.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamjoin.advice.question import is_checked, list_kernels
from streamjoin.errors import StreamJoinError
from streamjoin.match import Matcher
from streamjoin.model.demand import Narrowing
from streamjoin.model.pairs import Sides
from streamjoin.pane import Rows, Segment
from streamjoin.plan import Plan
from streamjoin.spec.side import SIDES, Side
from streamjoin.spec.window import Between, Tumbling, Window

SAMPLE_ROWS = 50_000
"""Rows of each side: two and a half billion pairs."""
ENOUGH_MATCHES = 50_000
_PROBES = 1_000
_FEW = 0.1


@dataclass(frozen=True)
class Sampled:
    """What a sample of both inputs tells; `matches` of `pairs` within the window."""

    pairs: int
    matches: int
    narrowing: Narrowing
    rates: Sides
    widths: Sides

    @property
    def hit_rate(self) -> float:
        """The share of the window's pairs that match; of none found, as if there were one."""
        return max(self.matches, 1) / self.pairs


def measure_sample(plan: Plan, rows: Mapping[Side, Rows]) -> Sampled:
    """Look for pairs among sampled rows as a worker would, until enough are found."""
    if any(len(rows[side]) < 2 for side in SIDES):
        raise StreamJoinError("samples: expected at least two rows of each side with a time, in a common stretch of it")
    matcher = Matcher(plan.predicate, plan.window)
    segment = matcher.prepare("r", Segment("sample", rows["r"]))
    times = np.sort(rows["r"].time)
    order = np.random.default_rng(0).permutation(_list_inner(plan.window, rows["l"].time, times))
    pairs = matches = examined = 0
    for start in range(0, len(order), _PROBES):
        probe = rows["l"].take(np.sort(order[start : start + _PROBES]))
        pairs += count_pairs_within(plan.window, probe.time, times)
        for found in matcher.pairs("l", probe, segment):
            matches, examined = matches + len(found.probe), examined + found.examined
        if matches >= ENOUGH_MATCHES:
            break
    if pairs == 0:
        raise StreamJoinError(f"samples: no row of one side is within {plan.window} of one of the other")
    hottest, groups = _find_groups(plan, rows)
    candidates = min(max(examined, matches) / pairs, 1.0)
    kernels, checked = list_kernels(plan.predicate), is_checked(plan.predicate)
    narrowing = Narrowing(kernels, candidates, checked, hottest, groups)
    return Sampled(pairs, matches, narrowing, find_rates(rows), find_widths(rows))


def _list_inner(window: Window, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.int64]:
    """Left rows whose windows lie within the sampled right rows: near an end, partners are missing. All if few are."""
    first, last = _find_ends(window, left)
    inner = np.flatnonzero((first >= right[0]) & (last <= right[-1]))
    return inner if len(inner) >= len(left) * _FEW else np.arange(len(left))


def count_pairs_within(window: Window, left: NDArray[np.int64], right: NDArray[np.int64]) -> int:
    """How many pairs of these times a window holds; `right` is in order.

    >>> from streamjoin.spec.window import tumbling, within
    >>> left, right = np.array([0, 10]), np.array([1, 5, 12])
    >>> count_pairs_within(within("5us"), left, right), count_pairs_within(tumbling("10us"), left, right)
    (4, 3)
    """
    first, last = _find_ends(window, left)
    return int((np.searchsorted(right, last, "right") - np.searchsorted(right, first, "left")).sum())


def _find_ends(window: Window, left: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first and the last time of a right row that each of these left rows can meet."""
    match window:
        case Between():
            return left + window.first, left + window.last
        case Tumbling():
            first = (left - window.offset) // window.size * window.size + window.offset
            return first, first + window.size - 1
    raise StreamJoinError(f"window: {window} counts rows, and samples tell nothing of that; give p=")


def find_rates(rows: Mapping[Side, Rows]) -> Sides:
    """Rows per second in the stretch that both sides have in common."""
    start = max(int(rows[side].time.min()) for side in SIDES)
    end = min(int(rows[side].time.max()) for side in SIDES)
    if end <= start:
        raise StreamJoinError("samples: their times do not overlap, so they tell no rates; give rates=")
    left, right = (np.count_nonzero((rows[s].time >= start) & (rows[s].time <= end)) for s in SIDES)
    return Sides(float(left) / (end - start) * 1e6, float(right) / (end - start) * 1e6)


def find_widths(rows: Mapping[Side, Rows]) -> Sides:
    """Bytes of a row's columns."""
    left, right = (rows[side].payload.nbytes / len(rows[side]) for side in SIDES)
    return Sides(left, right)


def _find_groups(plan: Plan, rows: Mapping[Side, Rows]) -> tuple[float, float | None]:
    """The share of the commonest key, or bucket of a band, in all pairs that share one; and how many others there are.

    Others are counted as if all were alike: the inverse of the sum of their squared shares.
    """
    from streamjoin.layout.keys import grouping

    by = grouping(plan)
    if by is None:
        return 0.0, None
    counts = []
    for side in SIDES:
        hashes = np.arange(len(rows[side]), dtype=np.int64)
        found, number = np.unique(by.groups(side, rows[side], hashes)[0], return_counts=True)
        counts.append(dict(zip(found.tolist(), number.tolist(), strict=True)))
    shared = np.array([counts[0][key] * counts[1][key] for key in counts[0].keys() & counts[1].keys()], np.float64)
    if len(shared) == 0:
        return 0.0, None
    shares = np.sort(shared / shared.sum())
    rest = shares[:-1].sum()
    if rest == 0:
        return 1.0, 1.0
    return float(shares[-1]), float(rest**2 / (shares[:-1] ** 2).sum())
