"""The hit rate of bands and equalities over uniform values: exact, where the condition is made of nothing else."""

import math
from collections.abc import Mapping

from streamjoin.advice.question import TOUCHED_PER_BAND, is_checked, list_kernels
from streamjoin.errors import StreamJoinError
from streamjoin.model.demand import Narrowing
from streamjoin.model.selectivity import Range, find_difference_share
from streamjoin.operators.expr import Cast, Column, Expr, Key
from streamjoin.plan import Plan
from streamjoin.predicate.conjunct import Band, Conjunct, Equi

Ranges = Mapping[str, "Range | int"]
"""For columns such as ``l.x``, or ``x`` for those of both sides: least and greatest value, or the number of keys."""


def find_shares(plan: Plan, ranges: Ranges) -> tuple[float, Narrowing]:
    """The hit rate, and how far an index narrows, where all values are uniform and independent."""
    shares = [(conjunct, _find_share(conjunct, ranges)) for conjunct in plan.predicate.conjuncts]
    hit_rate = math.prod(share for _, share in shares)
    indexed = sorted(share for _, share in shares)[:2]
    bands = sum(isinstance(c, Band) for c, share in shares if share in indexed)
    touched = math.prod(indexed) * TOUCHED_PER_BAND ** min(bands, 2)
    narrowing = Narrowing(
        list_kernels(plan.predicate), min(touched, 1.0), is_checked(plan.predicate), groups=_count_groups(plan, ranges)
    )
    return hit_rate, narrowing


def _find_share(conjunct: Conjunct, ranges: Ranges) -> float:
    match conjunct:
        case Equi():
            left, right = (_find_range(key, ranges) for key in (conjunct.left, conjunct.right))
            if isinstance(left, int) or isinstance(right, int):
                return 1 / max(side for side in (left, right) if isinstance(side, int))
            if conjunct.left.type.is_integral:
                return find_difference_share(0, 0, left, right, whole=True)
        case Band():
            left, right = (_find_range(key, ranges) for key in (conjunct.left, conjunct.right))
            if not isinstance(left, int) and not isinstance(right, int):
                whole = _is_whole(conjunct.left) and _is_whole(conjunct.right)
                if whole:
                    return find_difference_share(*conjunct.whole_bounds(), left, right, whole=True)
                lower, upper = (None if b is None else float(b.value) for b in (conjunct.lower, conjunct.upper))
                return find_difference_share(lower, upper, left, right)
    raise StreamJoinError(
        f"ranges: the hit rate of {conjunct} does not follow from them; they serve bands on numbers, and equalities of "
        "whole numbers or of columns of which the number of keys is given. Give p=, or samples of both inputs"
    )


def _find_range(key: Key, ranges: Ranges) -> "Range | int":
    column = _column_of(key.arg)
    found = None
    if column is not None:
        name = ".".join(column.path)
        found = next((ranges[n] for n in (f"{column.side}.{name}", name) if n in ranges), None)
    if isinstance(found, int) and found >= 1:
        return found
    if isinstance(found, tuple | list) and len(found) == 2 and found[0] < found[1]:
        return float(found[0]), float(found[1])
    name = str(key.arg) if column is None else ".".join(column.path)
    got = f"none is given for {key.arg}" if found is None else f"got {found!r} for {key.arg}"
    raise StreamJoinError(
        f'ranges: {got}; expected its least and greatest value, such as ranges={{"{name}": (1, 10000)}}, or the number '
        "of its keys"
    )


def _column_of(expr: Expr) -> Column | None:
    while isinstance(expr, Cast):
        expr = expr.arg
    return expr if isinstance(expr, Column) else None


def _is_whole(key: Key) -> bool:
    column = _column_of(key.arg)
    return column is not None and column.type.is_integral


def _count_groups(plan: Plan, ranges: Ranges) -> float | None:
    """How many keys, or buckets of a band, `Keyed` would have to deal."""
    from streamjoin.layout.keys import Buckets, KeyHash, grouping

    match grouping(plan):
        case KeyHash(equalities=equalities):
            return math.prod(1 / _find_share(equality.equi, ranges) for equality in equalities)
        case Buckets() as buckets:
            key = buckets.band.band.right if buckets.wide == "l" else buckets.band.band.left
            found = _find_range(key, ranges)
            return None if isinstance(found, int) else (found[1] - found[0]) / float(buckets.width)
    return None
