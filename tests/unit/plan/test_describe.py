"""A plan as data: the same for what means the same, another for what does not."""

import json

import pytest

from streamjoin import last, tumbling, within
from streamjoin.plan import Plan
from streamjoin.plan.describe import describe_plan
from streamjoin.predicate import Schema, parse
from streamjoin.spec.window import Window
from tests.blocks import arrow_schema

LEFT = Schema({"ts": "timestamp", "x": "int", "y": "double", "s": "string"})
RIGHT = Schema({"ts": "timestamp", "a": "int", "b": "double", "t": "string"})
WINDOWS = [within("1s"), within("2s"), tumbling("1s"), last(3), last(3) & within("1s"), last(3) & tumbling("1s")]
SAME = [
    ("l.x = r.a", "L.X  =\n r.a"),
    ("l.x = r.a AND l.y < r.b", "(l.x = r.a) AND (l.y < r.b)"),
    ("l.x BETWEEN r.a AND 5", "l.x between r.a and 5"),
    ("l.s LIKE 'a%' AND l.x = r.a", "l.s like 'a%' and l.x = r.a"),
]
DIFFERENT = [
    "l.x = r.a",
    "l.x <=> r.a",
    "l.x < r.a",
    "abs(l.x - r.a) <= 1",
    "abs(l.x - r.a) < 1",
    "abs(l.x - r.a) <= 2",
    "abs(l.y - r.b) <= 0.5",
    "abs(l.y - r.b) <= 0.5D",
    "CAST(l.x AS BIGINT) = r.a",
    "l.s = r.t",
    "levenshtein(l.s, r.t) <= 1",
    "levenshtein(l.s, r.t) <= 2",
    "l.x = r.a AND l.s LIKE 'a%'",
    "l.x = r.a AND l.s LIKE 'A%'",
    "l.x IN (1, 2) OR r.a = 1",
    "CASE WHEN l.x = 0 THEN 'a' END = r.t",
]


def describe(on: str, window: Window = WINDOWS[0]) -> str:
    plan = Plan(parse(on, LEFT, RIGHT), window, arrow_schema(LEFT), arrow_schema(RIGHT))
    return json.dumps(describe_plan(plan))


@pytest.mark.parametrize(("one", "other"), SAME)
def test_how_a_condition_is_written_does_not_matter(one: str, other: str) -> None:
    assert describe(one) == describe(other)


def test_conditions_that_mean_something_else_differ() -> None:
    assert len({describe(on) for on in DIFFERENT}) == len(DIFFERENT)


def test_windows_differ() -> None:
    assert len({describe("l.x = r.a", window) for window in WINDOWS}) == len(WINDOWS)
