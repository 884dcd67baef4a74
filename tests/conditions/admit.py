"""The narrowing test of a conjunct, on single values: what an index by it may keep."""

from fractions import Fraction
from typing import Any

from streamjoin.operators.arithmetic import order_key
from streamjoin.predicate.conjunct import Band, Equi
from streamjoin.predicate.linear import Bound, classify_value


def admits(conjunct: Equi | Band, f: Any, g: Any) -> bool:
    """Whether a pair of key values passes: always when the condition holds."""
    if f is None or g is None:
        return isinstance(conjunct, Equi) and conjunct.null_safe and f is g
    if isinstance(conjunct, Equi):
        return order_key(f) == order_key(g)
    pair = classify_value(f), classify_value(g)
    if pair != ("finite", "finite"):
        return pair in conjunct.specials
    f, g = Fraction(f), Fraction(g)
    margin = conjunct.margin.relative * (abs(f) + abs(g) + conjunct.margin.reach) + conjunct.margin.absolute
    return _clears(conjunct.lower, f - g, 1, margin) and _clears(conjunct.upper, f - g, -1, margin)


def _clears(bound: Bound | None, value: Fraction, sign: int, margin: Fraction) -> bool:
    if bound is None:
        return True
    distance = sign * (value - bound.value) + margin
    return distance > 0 if bound.open and not margin else distance >= 0
