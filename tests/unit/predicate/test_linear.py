"""Bands narrow: whatever the written condition accepts, its band admits; and where it decides, nothing more."""

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings

from streamjoin.operators.arithmetic import EvaluationError
from streamjoin.operators.evaluate import evaluate
from streamjoin.operators.expr import Call
from streamjoin.predicate.classify import classify
from streamjoin.predicate.conjunct import Band
from streamjoin.predicate.linear import ZONE_MARGIN, Bound, Margin, read_difference
from streamjoin.sql.bind import bind
from tests.conditions.admit import admits
from tests.conditions.schemas import LEFT, RIGHT
from tests.conditions.strategies import EXACT_CONSTANTS, LARGEST, BandCase, band_cases

FORMS = [
    "{l} <= {r} + {c}",
    "{l} < {r} + {c}",
    "{l} - {c} > {r}",
    "{c} + {r} <= {l}",
    "{r} + {c} >= {l}",
    "{l} <= {r}",
    "{l} > {r}",
    "{l} - {r} <= {c}",
    "{c} < {l} - {r}",
    "{r} - {l} >= {c}",
    "{l} - {r} = {c}",
    "{l} - {r} - {c} = {d}",
    "{l} BETWEEN {r} - {c} AND {r} + {d}",
    "{r} BETWEEN {l} + {c} AND {l} + {d}",
    "{l} - {r} BETWEEN {c} AND {d}",
    "{l} - {r} >= {c} AND {l} <= {r} + {d}",
    "NOT ({l} - {r} > {c})",
    "-({l} - {r}) <= {c}",
    "2 * ({l} - {r}) <= {c}",
    "({l} - {r}) * -3 < {c}",
    "{l} + {c} + {d} <= {r}",
    "{l} + {c} - {c} <= {r} + {d} - {d}",
    "({l} + {c}) - ({r} + {d}) <= {c}",
    "{l} + {r} <= {c}",
    "{l} + {r} >= {c}",
    "{l} + {r} = {c}",
    "{c} - {l} > {r}",
    "abs({l} - {r}) <= {c}",
    "abs({r} - {l}) < {c}",
    "{c} > abs({l} - {r})",
    "abs({l} - {r} - {c}) <= {d}",
]


def check_narrowing(case: BandCase) -> None:
    conjuncts = classify(bind(case.text, LEFT, RIGHT))
    for f, g in case.pairs:
        left, right = {case.left: f}, {case.right: g}
        for band in conjuncts:
            if not isinstance(band, Band):
                continue
            try:
                holds = evaluate(band.exact, left, right)
            except EvaluationError:
                continue
            admitted = admits(band, *(evaluate(key, left, right) for key in band.keys))
            assert admitted is holds if band.decides else admitted or not holds
            assert band.check is None or evaluate(band.check, left, right) is holds


@settings(max_examples=500)
@given(band_cases(FORMS))
def test_a_band_admits_what_the_condition_accepts(case: BandCase) -> None:
    check_narrowing(case)


@settings(max_examples=150)
@given(band_cases(FORMS, ["l.x", "l.small", "l.big", "l.m"], ["r.a", "r.tiny", "r.big", "r.n"], EXACT_CONSTANTS))
def test_without_floating_values_it_decides(case: BandCase) -> None:
    assert all(conjunct.decides for conjunct in classify(bind(case.text, LEFT, RIGHT)) if isinstance(conjunct, Band))
    check_narrowing(case)


# Single cases


def band(text: str) -> Band:
    (conjunct,) = classify(bind(text, LEFT, RIGHT))
    assert isinstance(conjunct, Band)
    return conjunct


@pytest.mark.parametrize(
    ("text", "f", "g"),
    [
        # 0.1 + 0.2 is a little more than 0.3: true as written, beyond the bound when the numbers are exact.
        ("l.v <= r.w + 0.2D", 0.30000000000000004, 0.1),
        # A term that is lost, and a sum that rounds to its even neighbour.
        ("l.v - r.w = 0.1D", 0.1, 1e-20),
        ("l.v + 1e16D - 1e16D <= r.w", 1.0, 0.0),
        ("l.v <= r.w + 1", 2.0**53 + 4, 2.0**53 + 2),
        ("l.v" + " + 1" * 12 + " <= r.w", 2.0**53, 2.0**53),
        ("l.f <= r.f + 1F", 2.0**24 + 4, 2.0**24 + 2),
        # Whole numbers that a double cannot tell apart.
        ("l.big <= r.w", 2**53 + 1, 2.0**53),
        ("l.big - 0.5D <= r.big", 2**62 + 1, 2**62),
        ("l.big - r.big <= 1e17D", 10**17 + 1, 0),
        # The largest values: a difference that is infinite as written.
        ("l.f - r.f > 1F", LARGEST["float"], -LARGEST["float"]),
        # Subnormals, and zeros of both signs.
        ("l.v <= r.w - 5e-324", 0.0, 5e-324),
        ("l.v >= r.w", -0.0, 0.0),
    ],
)
def test_rounding_is_allowed_for(text: str, f: Any, g: Any) -> None:
    conjunct = band(text)
    left, right = dict.fromkeys(("v", "f", "big"), f), dict.fromkeys(("w", "f", "big"), g)
    assert evaluate(conjunct.exact, left, right) is True
    assert admits(conjunct, *(evaluate(key, left, right) for key in conjunct.keys))


INF, NAN = math.inf, math.nan


@pytest.mark.parametrize(
    ("text", "accepted"),
    [
        # NaN is greater than every number, infinity included, and equal to itself.
        (
            "l.v <= r.w + 1",
            {(NAN, NAN), (INF, INF), (INF, NAN), (0, INF), (0, NAN), (-INF, 0), (-INF, INF), (-INF, -INF), (-INF, NAN)},
        ),
        ("l.v > r.w", {(NAN, 0), (NAN, INF), (NAN, -INF), (INF, 0), (INF, -INF), (0, -INF)}),
        # A difference of infinities is NaN, which is greater than any bound.
        (
            "l.v - r.w >= 1",
            {(NAN, NAN), (NAN, 0), (NAN, INF), (NAN, -INF), (0, NAN), (INF, NAN), (-INF, NAN)}
            | {(INF, INF), (-INF, -INF), (INF, 0), (INF, -INF), (0, -INF)},
        ),
        ("l.v - r.w = 1", set()),
        ("abs(l.v - r.w) <= 1", set()),
        ("l.v - r.w BETWEEN -1 AND 1", set()),
        ("l.v + r.w <= 1", {(-INF, 0), (0, -INF), (-INF, -INF)}),
        ("l.v + r.w < 1 AND l.v + r.w > 0", set()),
    ],
)
def test_nan_and_infinities_are_looked_up(text: str, accepted: set[tuple[float, float]]) -> None:
    conjunct = band(text)
    rows = [({"v": float(f)}, {"w": float(g)}) for f in (0, INF, -INF, NAN) for g in (0, INF, -INF, NAN) if f or g]
    admitted = [(l, r) for l, r in rows if admits(conjunct, *(evaluate(key, l, r) for key in conjunct.keys))]
    assert {(repr(l["v"]), repr(r["w"])) for l, r in admitted} == {
        (repr(float(f)), repr(float(g))) for f, g in accepted
    }


@pytest.mark.parametrize(
    ("text", "left", "right", "lower", "upper"),
    [
        ("l.x < r.a + 10", "l.x", "r.a", None, Bound(Fraction(10), open=True)),
        ("l.x - r.a >= 0.1", "l.x", "r.a", Bound(Fraction(1, 10)), None),
        ("l.v >= r.w + 0.1", "l.v", "r.w", Bound(Fraction(0.1)), None),  # the double next to 0.1
        ("l.d - r.d = INTERVAL 3 DAYS", "l.d", "r.d", Bound(Fraction(3)), Bound(Fraction(3))),
        ("l.ts < r.ts + INTERVAL 1 SECOND", "l.ts", "r.ts", None, Bound(Fraction(10**6), open=True)),
        ("3 * (r.a - l.x) > 1", "l.x", "r.a", None, Bound(Fraction(-1, 3), open=True)),
    ],
)
def test_bounds_are_exact_and_in_the_unit_of_the_keys(
    text: str, left: str, right: str, lower: Bound | None, upper: Bound | None
) -> None:
    comparison = bind(text, LEFT, RIGHT)
    assert isinstance(comparison, Call)
    found = read_difference(comparison)
    assert found is not None
    assert (str(found.left), str(found.right), found.lower, found.upper) == (left, right, lower, upper)


@pytest.mark.parametrize(
    ("text", "margin"),
    [
        ("l.x <= r.a + 10.5", Margin()),
        ("l.ts <= r.ts + INTERVAL 23 HOURS", Margin()),
        ("l.tn <= r.tn + INTERVAL 3 DAYS", Margin()),
        ("l.ts <= r.ts + INTERVAL 1 DAY", Margin(absolute=ZONE_MARGIN)),
        ("l.ts - r.ts <= INTERVAL 1 SECOND", Margin(absolute=ZONE_MARGIN)),
    ],
)
def test_only_what_rounds_or_reads_the_zone_has_a_margin(text: str, margin: Margin) -> None:
    found = band(text).margin
    assert (found.relative, found.absolute) == (margin.relative, margin.absolute)


def test_two_margins_are_one_that_covers_both() -> None:
    margin = Margin(relative=Fraction(1, 1000), reach=Fraction(50), absolute=3)
    assert margin | Margin(Fraction(1, 10), Fraction(5), 7) == Margin(Fraction(1, 10), Fraction(50), 7)


@pytest.mark.parametrize(("f", "g"), [(1e10, 0.0), (1.0, 1.2), (1.0, 1.1 + 1e-9)])
def test_a_margin_is_small(f: float, g: float) -> None:
    assert not admits(band("abs(l.v - r.w) <= 0.1"), f, g)
