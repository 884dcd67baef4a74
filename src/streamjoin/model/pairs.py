"""Pairs of rows that a window admits, whatever the condition says of them.

Rows of the left and right stream arrive at rates λ_L and λ_R, independently of each other. Then the expected number of
pairs is λ_L λ_R times the area of all (t_l, t_r) that the window admits; this is exact for Poisson arrivals in time
windows, and for regular arrivals of unknown phase in all windows.
"""

import math
from dataclasses import dataclass

from streamjoin.spec.window import Between, Both, Last, Tumbling, Window

MICROSECOND = 1e-6


@dataclass(frozen=True)
class Sides:
    """A number for each side: rates, widths of rows, counts."""

    left: float
    right: float

    @classmethod
    def equal(cls, value: float) -> "Sides":
        """The same number for both sides."""
        return cls(value, value)


@dataclass(frozen=True)
class Reach:
    """A window in seconds: ``lower <= t_r - t_l <= upper``, and both rows in one bucket where there are buckets."""

    lower: float
    upper: float
    bucket: float = math.inf

    @property
    def before(self) -> float:
        """How many seconds of earlier right rows a left row meets, on average, once the window is full."""
        if self.bucket < math.inf:
            return -_integrate(self.lower, self.bucket) / self.bucket
        return max(0.0, -self.lower) - max(0.0, -self.upper)

    @property
    def after(self) -> float:
        """How many seconds of earlier left rows a right row meets, on average, once the window is full."""
        if self.bucket < math.inf:
            return _integrate(self.upper, self.bucket) / self.bucket
        return max(0.0, self.upper) - max(0.0, self.lower)

    def measure_area(self, until: float, phase: float = 0.0) -> float:
        """The area of all (t_l, t_r) from 0 to `until` in the window; time 0 lies `phase` into a bucket."""
        if self.bucket == math.inf:
            return self._measure(until)
        first = min(until, self.bucket - phase)
        whole, rest = divmod(until - first, self.bucket)
        return self._measure(first) + whole * self._measure(self.bucket) + self._measure(rest)

    def _measure(self, length: float) -> float:
        return _integrate(self.upper, length) - _integrate(self.lower, length)


def find_reach(window: Window, rates: Sides) -> Reach:
    """The window in seconds; the last n rows of a stream of rate λ reach n / λ seconds back.

    >>> from streamjoin.spec.window import last, tumbling, within
    >>> find_reach(within(left="2 minutes", right="1 minute"), Sides(10, 10))
    Reach(lower=-60.0, upper=120.0, bucket=inf)
    >>> find_reach(last(100) & tumbling("1 minute"), Sides(10, 50))
    Reach(lower=-2.0, upper=10.0, bucket=60.0)
    """
    match window:
        case Between():
            return Reach(window.lower * MICROSECOND, window.upper * MICROSECOND)
        case Tumbling():
            size = window.size * MICROSECOND
            return Reach(-size, size, size)
        case Last():
            return Reach(-_span(window.right, rates.right), _span(window.left, rates.left))
        case Both():
            count, time = find_reach(window.count, rates), find_reach(window.time, rates)
            lower, upper = max(count.lower, time.lower), min(count.upper, time.upper)
            return Reach(min(lower, upper), upper, time.bucket)
    raise TypeError(f"not a window: {window!r}")


def count_partners(window: Window, rates: Sides) -> Sides:
    """Rows of the other side that an arriving row of each side is compared with, once the windows are full.

    DP-Join's ``W_y`` for a left row and ``W_x`` for a right one (section 5.2); for tumbling windows the mean.

    >>> from streamjoin.spec.window import within
    >>> count_partners(within("300 seconds"), Sides(1000, 3000))
    Sides(left=900000.0, right=300000.0)
    """
    reach = find_reach(window, rates)
    left = rates.right * reach.before if rates.right else 0.0
    return Sides(left, rates.left * reach.after if rates.left else 0.0)


def find_pair_rate(window: Window, rates: Sides) -> float:
    """Pairs per second once the windows are full: λ_L λ_R (T_L + T_R), the comparisons of a nested loop.

    Thesis, the first factor of (4.1); ScaleJoin II, ``2 WS T^2`` for equal rates and windows.

    >>> from streamjoin.spec.window import within
    >>> find_pair_rate(within("10 minutes"), Sides.equal(500))
    300000000.0
    """
    partners = count_partners(window, rates)
    return rates.left * partners.left + rates.right * partners.right


def count_pairs(window: Window, rates: Sides, until: float, *, since: float = 0.0, phase: float = 0.0) -> float:
    """Pairs whose later row comes from `since` to `until`, in streams that begin at time 0 with empty windows.

    For a window ``within(left=T_L, right=T_R)`` from the start: λ_L λ_R ((T_L + T_R) t - (T_L^2 + T_R^2) / 2). The
    thesis (4.7) takes off T_L T_R instead, which is the same for equal windows only. Streams begin `phase` seconds
    into a bucket of a tumbling window.

    >>> from streamjoin.spec.window import within
    >>> count_pairs(within("300 seconds"), Sides.equal(400), 900)
    72000000000.0
    >>> count_pairs(within(left="20 seconds", right="10 seconds"), Sides(1, 1), 60)
    1550.0
    """
    if not rates.left or not rates.right:
        return 0.0
    reach = find_reach(window, rates)
    area = reach.measure_area(until, phase) - reach.measure_area(since, phase)
    return rates.left * rates.right * area


def _integrate(end: float, length: float) -> float:
    """The integral from 0 to `end` of length - abs(d): in `length` seconds so much of all pairs differs by d."""
    reached = min(abs(end), length)
    return math.copysign(length * reached - reached * reached / 2, end)


def _span(rows: int, rate: float) -> float:
    return rows / rate if rate else math.inf
