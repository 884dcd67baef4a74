"""Whole predicates: the three ways to write them, how they print, and the window that they imply."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamjoin import between
from streamjoin.errors import StreamJoinError
from streamjoin.predicate import On, Predicate, Schema, parse
from streamjoin.predicate.linear import ZONE_MARGIN
from streamjoin.spec.window import Between
from tests.conditions.messages import refusal
from tests.conditions.schemas import LEFT, RIGHT

TIME = ("ts", "ts")
NTZ = ("tn", "tn")


# Three ways to write a condition


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("abs(l.x - r.a) <= 10", lambda l, r: abs(l.x - r.a) <= 10),
        ("l.x = r.a AND l.y > 0", lambda l, r: (l.x == r.a) & (l.y > 0)),
        ("l.v BETWEEN r.w - 0.5D AND r.w + 0.5D", lambda l, r: l.v.between(r.w - 0.5, r.w + 0.5)),
        ("NOT (l.x = r.a OR l.ok)", lambda l, r: ~((l.x == r.a) | l.ok)),
        ("l.x IN (r.a, 1) AND r.fine IS NULL", lambda l, r: l.x.isin(r.a, 1) & r.fine.isNull()),
        ("l.tn <= r.tn + INTERVAL '3' DAY", lambda l, r: l.tn <= r.tn + timedelta(days=3)),
        ("sqrt(pow(l.v - r.w, 2)) < 1.5D", lambda l, r: ((l.v - r.w) ** 2).sqrt() < 1.5),
        ("l.pos.lat <=> r.pos.lat", lambda l, r: l.pos["lat"].eqNullSafe(r.pos["lat"])),
        ("l.name = 'it\\'s' AND l.`only left` = r.a", lambda l, r: (l.name == "it's") & (l["only left"] == r.a)),
    ],
)
def test_text_and_lambda_are_the_same_predicate(text: str, condition: Callable[[Any, Any], Any]) -> None:
    written, traced = parse(text, LEFT, RIGHT), parse(condition, LEFT, RIGHT)
    assert (traced.condition, traced.conjuncts) == (written.condition, written.conjuncts)


@pytest.mark.parametrize("names", [["ts"], ["ts", "d", "big"], ("name",), ["f", "F"]])
def test_names_are_equalities(names: list[str]) -> None:
    listed = parse(names, LEFT, RIGHT)
    text = " AND ".join(f"l.{name} = r.{name}" for name in names)
    assert listed == parse(text, LEFT, RIGHT)
    assert {conjunct.kind for conjunct in listed.conjuncts} == {"equi"}


def test_names_of_any_form() -> None:
    schema = Schema({"the x": "int", "a.b": "int", "tick`s": "int", '"q"': "int"})
    assert parse(schema.names, schema, schema).text == (
        'l.`the x` = r.`the x` AND l.`a.b` = r.`a.b` AND l.`tick``s` = r.`tick``s` AND l.`"q"` = r.`"q"`'
    )


def test_a_name_in_a_list_is_one_name() -> None:
    assert refusal(["l.x = r.a"]).startswith("on: unknown column l.l.x = r.a; ")


@pytest.mark.parametrize("on", [[], (), None, 5, b"l.x = r.a", ["ts", 3], {"ts"}, {"ts": 1}])
def test_anything_else_is_refused(on: Any) -> None:
    expected = "SQL text, a lambda over (l, r), a Column of Spark's or a list of column names"
    assert refusal(on) == f"on: expected {expected}; got {on!r}"


# Its meaning and its form


def test_a_predicate_is_called_with_two_rows() -> None:
    predicate = parse("l.x = r.a AND l.y > 0", LEFT, RIGHT)
    assert predicate({"x": 1, "y": 1}, {"a": 1}) is True
    assert predicate({"x": 1, "y": 0}, {"a": 1}) is False
    assert predicate({"x": None, "y": 1}, {"a": 1}) is None
    assert predicate({"x": None, "y": 0}, {"a": 1}) is False


def test_a_predicate_prints_as_written_with_its_conjuncts() -> None:
    text = "abs(l.x - r.a) <= 10\n  AND l.name = r.name AND l.y > 0 AND l.y <> r.b AND l.name LIKE r.name"
    assert str(parse(text, LEFT, RIGHT)) == (
        f"{text}\n"
        "  band       -10 <= l.x - r.a <= 10\n"
        "  equi       l.name = r.name\n"
        "  one-sided  l.y > 0\n"
        "  compiled   l.y <> r.b\n"
        "  residual   (l.name LIKE r.name)"
    )
    assert str(parse("true", LEFT, RIGHT)) == "true"


def test_equal_texts_are_equal_predicates() -> None:
    text = "abs(l.v - r.w) <= 0.5 AND l.x = r.a"
    assert parse(text, LEFT, RIGHT) == parse(text, LEFT, RIGHT)
    assert parse(text, LEFT, RIGHT) != parse(text.replace("0.5", "0.6"), LEFT, RIGHT)


# The window that time bounds amount to


def window(on: On, time: tuple[str, str]) -> tuple[Between, Predicate]:
    found = parse(on, LEFT, RIGHT).window(time)
    assert found is not None
    return found


MINUTE, DAY = 60_000_000, 86_400_000_000


@pytest.mark.parametrize(
    ("text", "lower", "upper", "closed"),
    [
        #  l.ts - 5 min <= r.ts <= l.ts: the window is on t_r - t_l.
        ("l.ts BETWEEN r.ts - INTERVAL 5 MINUTES AND r.ts", 0, 5 * MINUTE, "both"),
        ("l.ts BETWEEN r.ts AND r.ts + INTERVAL 5 MINUTES", -5 * MINUTE, 0, "both"),
        ("r.ts BETWEEN l.ts - INTERVAL 1 MINUTE AND l.ts + INTERVAL 5 MINUTES", -MINUTE, 5 * MINUTE, "both"),
        ("r.ts >= l.ts AND r.ts <= l.ts + INTERVAL 90 SECONDS", 0, MINUTE * 3 // 2, "both"),
        # Strict ends are open ends: `left` is the lower one.
        ("r.ts > l.ts AND r.ts < l.ts + INTERVAL 1 MINUTE", 0, MINUTE, "neither"),
        ("r.ts > l.ts AND r.ts <= l.ts + INTERVAL 1 MINUTE", 0, MINUTE, "right"),
        ("r.ts >= l.ts AND r.ts < l.ts + INTERVAL 1 MINUTE", 0, MINUTE, "left"),
        ("l.ts < r.ts AND l.ts > r.ts - INTERVAL 1 MINUTE", 0, MINUTE, "neither"),
        # Wholly in the past, wholly in the future, and an equality of the two sides' sums.
        ("r.ts BETWEEN l.ts - INTERVAL 5 MINUTES AND l.ts - INTERVAL 1 MINUTE", -5 * MINUTE, -MINUTE, "both"),
        ("r.ts BETWEEN l.ts + INTERVAL 1 MINUTE AND l.ts + INTERVAL 5 MINUTES", MINUTE, 5 * MINUTE, "both"),
        # The tightest of several bounds.
        (
            "r.ts BETWEEN l.ts AND l.ts + INTERVAL 5 MINUTES AND r.ts < l.ts + INTERVAL 1 MINUTE",
            0,
            MINUTE,
            "left",
        ),
    ],
)
def test_bounds_on_the_time_are_a_window(text: str, lower: int, upper: int, closed: Any) -> None:
    found, rest = window(f"{text} AND l.x = r.a", TIME)
    assert found == Between(lower, upper, closed)
    assert [str(conjunct) for conjunct in rest.conjuncts] == ["l.x = r.a"]
    assert rest.condition == parse(f"{text} AND l.x = r.a", LEFT, RIGHT).condition


@pytest.mark.parametrize(
    ("text", "lower", "upper"),
    [
        ("abs(l.tn - r.tn) <= INTERVAL 5 MINUTES", -5 * MINUTE, 5 * MINUTE),
        ("r.tn - l.tn BETWEEN INTERVAL 0 DAYS AND INTERVAL 2 DAYS", 0, 2 * DAY),
        ("r.tn BETWEEN l.tn - INTERVAL 3 DAYS AND l.tn", -3 * DAY, 0),
    ],
)
def test_differences_of_unzoned_times_are_exact(text: str, lower: int, upper: int) -> None:
    found, rest = window(text, NTZ)
    assert found == Between(lower, upper)
    assert rest.conjuncts == ()


@pytest.mark.parametrize(
    ("text", "lower", "upper"),
    [
        ("abs(l.ts - r.ts) < INTERVAL 5 MINUTES", -5 * MINUTE, 5 * MINUTE),
        ("r.ts BETWEEN l.ts AND l.ts + INTERVAL 2 DAYS", 0, 2 * DAY),
    ],
)
def test_what_depends_on_the_zone_is_widened_and_kept(text: str, lower: int, upper: int) -> None:
    found, rest = window(f"{text} AND l.x = r.a", TIME)
    assert found == Between(lower - ZONE_MARGIN, upper + ZONE_MARGIN, "both")
    assert rest.conjuncts == parse(f"{text} AND l.x = r.a", LEFT, RIGHT).conjuncts


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("l.x = r.a", TIME),
        ("abs(l.x - r.a) <= 10", TIME),
        ("l.ts = r.ts", TIME),
        ("l.ts <> r.ts", TIME),
        ("l.ts BETWEEN r.ts - INTERVAL 5 MINUTES AND r.ts", NTZ),
        ("l.tn BETWEEN r.tn - INTERVAL 5 MINUTES AND r.tn", TIME),
        ("l.ts BETWEEN r.ts - INTERVAL 5 MINUTES AND r.ts", ("ts", "tn")),
        ("l.ts + l.iv BETWEEN r.ts - INTERVAL 5 MINUTES AND r.ts", TIME),
        ("l.tn BETWEEN r.ts - INTERVAL 5 MINUTES AND r.ts", ("tn", "ts")),
        ("l.d BETWEEN r.d - 3 AND r.d", ("d", "d")),
        ("l.ts BETWEEN r.ts AND r.ts + INTERVAL 1 MINUTE OR l.x = r.a", TIME),
    ],
)
def test_other_conditions_imply_no_window(text: str, time: tuple[str, str]) -> None:
    assert parse(text, LEFT, RIGHT).window(time) is None


@pytest.mark.parametrize(
    ("text", "written", "kept"),
    [
        # Every later r meets l, so l is kept; every later l meets r, so r is.
        ("l.ts <= r.ts", "l.ts <= r.ts", "l"),
        ("l.ts < r.ts + INTERVAL 1 HOUR", "l.ts < r.ts + INTERVAL '1' HOUR", "l"),
        ("l.ts >= r.ts", "l.ts >= r.ts", "r"),
        ("r.ts - l.ts < INTERVAL 5 MINUTES", "r.ts - l.ts < INTERVAL '5' MINUTES", "r"),
    ],
)
def test_a_bound_on_one_end_only_is_refused(text: str, written: str, kept: str) -> None:
    with pytest.raises(StreamJoinError) as error:
        parse(f"l.x = r.a AND {text}", LEFT, RIGHT).window(TIME)
    assert str(error.value) == (
        f"on: {written} bounds the time between the rows on one end only, so {kept} rows would be kept for ever; "
        "bound the other end too, or give window="
    )


def test_bounds_that_contradict_are_refused() -> None:
    with pytest.raises(StreamJoinError) as error:
        parse("r.ts > l.ts + INTERVAL 1 MINUTE AND r.ts < l.ts", LEFT, RIGHT).window(TIME)
    assert str(error.value) == (
        "on: r.ts > l.ts + INTERVAL '1' MINUTE AND r.ts < l.ts leaves no time between the rows: its bounds contradict"
    )


def test_the_time_columns_are_named_without_regard_to_case() -> None:
    assert window("l.ts BETWEEN r.ts AND r.TS + INTERVAL 1 MINUTE", ("TS", "Ts"))[0] == Between(-MINUTE, 0)


GAPS = st.integers(-(10**9), 10**9)


@given(GAPS, GAPS, st.booleans(), st.booleans(), GAPS)
def test_a_window_holds_the_pairs_that_the_condition_accepts(
    low: int, high: int, open_low: bool, open_high: bool, gap: int
) -> None:
    low, high = min(low, high), max(low, high)
    text = (
        f"r.tn {'>' if open_low else '>='} l.tn + INTERVAL '{low}' MICROSECOND AND "
        f"r.tn {'<' if open_high else '<='} l.tn + INTERVAL '{high}' MICROSECOND"
    )
    found, _ = window(text, NTZ)
    predicate = parse(text, LEFT, RIGHT)
    for d in (gap, low - 1, low, low + 1, high - 1, high, high + 1):
        assert (found.first <= d <= found.last) is predicate({"tn": 0}, {"tn": d})


def test_the_window_of_a_predicate_is_the_one_a_user_would_give() -> None:
    found, rest = window("l.ts BETWEEN r.ts - INTERVAL 5 MINUTES AND r.ts + INTERVAL 1 MINUTE", TIME)
    assert found == between("-1 minute", "5 minutes")
    assert rest.conjuncts == ()
    assert rest({"ts": 0}, {"ts": 6 * MINUTE}) is False  # still the condition as written
