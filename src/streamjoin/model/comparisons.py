"""How fast streams may be for a given speed of comparison."""

import math
from collections.abc import Callable

from streamjoin.model.pairs import Sides, count_partners, find_pair_rate
from streamjoin.spec.window import Both, Last, Window

_HALVINGS = 100


def find_sustainable_rates(window: Window, mix: Sides, speed: float) -> Sides:
    """The greatest rates in the proportion of `mix` whose pairs `speed` comparisons per second keep up with.

    ScaleJoin VI for equal rates in a time window: T_max = sqrt(C_max / (2 WS)), so n workers sustain the root of n
    times as much. In ``last`` windows the work per row does not depend on the rate, and n workers sustain n times.

    >>> from streamjoin.spec.window import last, within
    >>> find_sustainable_rates(within("10 minutes"), Sides(1, 1), 3e8)
    Sides(left=500.0, right=500.0)
    >>> find_sustainable_rates(last(100), Sides(1, 3), 8000)
    Sides(left=20.0, right=60.0)
    """
    pairs = find_pair_rate(window, mix)
    if pairs == 0:
        return Sides.equal(math.inf)
    linear, quadratic = speed / pairs, math.sqrt(speed / pairs)
    match window:
        case Last():
            return _scale(mix, linear)
        case Both():  # between the two: at high rates the count is the bound, at low ones the time
            return _scale(mix, _solve(lambda by: find_pair_rate(window, _scale(mix, by)), speed, linear, quadratic))
        case _:
            return _scale(mix, quadratic)


def find_scan_rate(window: Window, rates: Sides, widths: Sides) -> float:
    """Bytes of join attributes that a nested loop reads per second, `widths` being theirs in a row of each side.

    CellJoin 8.2.1: the sum over both windows of λ_other (λ w s(A)).

    >>> from streamjoin.spec.window import within
    >>> find_scan_rate(within("15 minutes"), Sides.equal(1000), Sides.equal(8)) / 1e9
    14.4
    """
    partners = count_partners(window, rates)
    return rates.left * partners.left * widths.right + rates.right * partners.right * widths.left


def _scale(mix: Sides, by: float) -> Sides:
    return Sides(mix.left * by, mix.right * by)


def _solve(rising: Callable[[float], float], wanted: float, *ends: float) -> float:
    """The argument between the ends at which a rising function reaches the wanted value."""
    low, high = min(ends), max(ends)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) <= wanted else (low, middle)
    return low
