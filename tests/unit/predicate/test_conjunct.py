import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamjoin import between, last, tumbling, within
from streamjoin.predicate import parse
from streamjoin.predicate.conjunct import Band, Compiled, Conjunct, Equi, OneSided, Residual
from streamjoin.predicate.linear import Bound, Margin
from streamjoin.spec.side import Side
from streamjoin.spec.window import Window
from tests.conditions.admit import admits
from tests.conditions.schemas import LEFT, RIGHT


def conjunct(text: str) -> Conjunct:
    (found,) = parse(text, LEFT, RIGHT).conjuncts
    return found


def band(lower: Bound | None, upper: Bound | None, *, over: str = "l.x < r.a", margin: Margin | None = None) -> Band:
    """A band with these bounds on the difference that `over` speaks of."""
    found = conjunct(over)
    assert isinstance(found, Band)
    return replace(found, lower=lower, upper=upper, margin=margin or Margin())


# Equalities


@pytest.mark.parametrize(
    ("f", "g", "equal"),
    [
        (1, 1, True),
        (1, 2, False),
        (0.0, -0.0, True),
        (math.nan, math.nan, True),
        (math.nan, math.inf, False),
        (math.inf, math.inf, True),
        (Decimal("1.50"), Decimal("1.5"), True),
        ("a", "A", False),
        (b"a", b"a", True),
        (True, False, False),
        (None, 1, False),
    ],
)
def test_an_equality_admits_equal_values(f: object, g: object, equal: bool) -> None:
    for text in ("l.x = r.a", "l.x <=> r.a"):
        equi = conjunct(text)
        assert isinstance(equi, Equi)
        assert admits(equi, f, g) is admits(equi, g, f) is equal


def test_only_the_null_safe_equality_admits_two_nulls() -> None:
    plain, safe = conjunct("l.x = r.a"), conjunct("l.x <=> r.a")
    assert isinstance(plain, Equi)
    assert isinstance(safe, Equi)
    assert not plain.null_safe
    assert not admits(plain, None, None)
    assert safe.null_safe
    assert admits(safe, None, None)


# Bands

ENDS = st.none() | st.builds(Bound, st.fractions(-5, 5, max_denominator=4), open=st.booleans())


@given(ENDS, ENDS, st.integers(-(2**63), 2**63 - 1))
def test_whole_bounds_admit_the_same_whole_numbers(lower: Bound | None, upper: Bound | None, g: int) -> None:
    exact = band(lower, upper, over="l.big < r.big")
    first, last = exact.whole_bounds()
    for d in range(-7, 8):
        assert admits(exact, g + d, g) is ((first is None or first <= d) and (last is None or d <= last))


@pytest.mark.parametrize(
    ("lower", "upper", "whole"),
    [
        (Bound(Fraction(-10)), Bound(Fraction(10)), (-10, 10)),
        (Bound(Fraction(-10), open=True), Bound(Fraction(10), open=True), (-9, 9)),
        (Bound(Fraction(-3, 2)), Bound(Fraction(3, 2)), (-1, 1)),
        (Bound(Fraction(-3, 2), open=True), Bound(Fraction(3, 2), open=True), (-1, 1)),
        (Bound(Fraction(1, 3)), None, (1, None)),
        (None, Bound(Fraction(-1, 3)), (None, -1)),
        (None, None, (None, None)),
    ],
)
def test_open_and_broken_bounds_round_inwards(
    lower: Bound | None, upper: Bound | None, whole: tuple[int | None, int | None]
) -> None:
    assert band(lower, upper).whole_bounds() == whole


def test_a_difference_beyond_64_bits_is_no_overflow() -> None:
    wide, narrow = (band(None, Bound(Fraction(end)), over="l.big < r.big") for end in (2**64, 0))
    assert admits(wide, 2**63 - 1, -(2**63))
    assert not admits(narrow, 2**63 - 1, -(2**63))


@pytest.mark.parametrize("pair", [(None, 1), (1, None), (None, None)])
def test_a_band_never_admits_null(pair: tuple[int | None, int | None]) -> None:
    assert not admits(band(None, None), *pair)


def test_a_margin_widens_both_ends_and_closes_open_ones() -> None:
    ends = Bound(Fraction(-10), open=True), Bound(Fraction(10), open=True)
    exact, wide = band(*ends), band(*ends, margin=Margin(absolute=2))
    assert [admits(exact, d, 0) for d in (-10, -9, 9, 10)] == [False, True, True, False]
    assert [admits(wide, d, 0) for d in (-13, -12, 12, 13)] == [False, True, True, False]
    assert exact.decides
    assert not wide.decides


@pytest.mark.parametrize(
    ("over", "lower", "upper", "printed"),
    [
        ("l.x < r.a", Bound(Fraction(-5, 2)), Bound(Fraction(10), open=True), "-2.5 <= l.x - r.a < 10"),
        ("l.x < r.a", Bound(Fraction(-5), open=True), None, "-5 < l.x - r.a"),
        ("l.tn < r.tn", None, Bound(Fraction(90_000_000)), "l.tn - r.tn <= 1 minute 30 seconds"),
        ("l.d < r.d", Bound(Fraction(-1)), Bound(Fraction(7)), "-1 days <= l.d - r.d <= 7 days"),
    ],
)
def test_bounds_are_printed_in_the_unit_of_the_keys(
    over: str, lower: Bound | None, upper: Bound | None, printed: str
) -> None:
    assert str(band(lower, upper, over=over)) == printed


# One-sided conditions

TIME_WINDOWS = [within("1 minute"), between("1 minute", "2 minutes"), tumbling("1 minute")]
COUNT_WINDOWS = [last(5), last(left=5, right=0), last(5) & within("1 minute"), last(5) & tumbling("1 minute")]


def may_filter(side: Side, how: str, window: Window) -> bool:
    found = parse("l.x = r.a AND l.y > 0 AND r.b > 0", LEFT, RIGHT).conjuncts
    (one_sided,) = (part for part in found if isinstance(part, OneSided) and part.side == side)
    return one_sided.may_filter(how, window)


@pytest.mark.parametrize(
    ("how", "left", "right"),
    [
        ("inner", True, True),
        ("left", False, True),
        ("right", True, False),
        ("full", False, False),
        ("left_semi", True, True),
        ("left_anti", False, True),
    ],
)
def test_a_side_is_filtered_before_the_join_unless_it_is_preserved(how: str, left: bool, right: bool) -> None:
    for window in TIME_WINDOWS:
        assert (may_filter("l", how, window), may_filter("r", how, window)) == (left, right)
    for window in COUNT_WINDOWS:  # which count its rows, those that cannot match too
        assert (may_filter("l", how, window), may_filter("r", how, window)) == (False, False)


@pytest.mark.parametrize(
    ("text", "kind", "keys"),
    [
        ("l.x = r.a", Equi, ["l.x", "r.a"]),
        ("r.a <= l.x", Band, ["l.x", "r.a"]),
        ("l.x * r.a + l.x > r.b", Compiled, ["l.x", "r.a", "r.b"]),
        ("l.name < r.name", Residual, []),
    ],
)
def test_a_conjunct_lists_its_keys_once(text: str, kind: type[Conjunct], keys: list[str]) -> None:
    found = conjunct(text)
    assert isinstance(found, kind)
    assert [key.sql() for key in found.keys] == keys
