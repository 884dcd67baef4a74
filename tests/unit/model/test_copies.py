"""Copies, bytes and state: of what routers do, and of what a benchmark measured."""

import pytest

from streamjoin.layout import Cell, Grid, Keyed, Layout, Scale
from streamjoin.model.copies import (
    count_copies,
    count_state_rows,
    find_sent_rate,
    find_shuffle_rate,
    find_state_size,
    find_stay,
)
from streamjoin.model.latency import to_copies
from streamjoin.model.pairs import Sides
from streamjoin.plan import Plan
from streamjoin.predicate import Schema, parse
from streamjoin.spec.window import between, last, tumbling, within
from tests.blocks import arrow_schema
from tests.unit.model.figures import HELD

LEFT = Schema({"ts": "timestamp", "x": "int", "y": "double"})
RIGHT = Schema({"ts": "timestamp", "a": "int", "b": "double"})
ON = "abs(l.x - r.a) <= 10 AND abs(l.y - r.b) <= 10"
PLAN = Plan(parse(ON, LEFT, RIGHT), within("60 seconds"), arrow_schema(LEFT), arrow_schema(RIGHT))
LAYOUTS: list[Layout] = [
    *(Grid(1, 1), Grid(1, 2), Grid(2, 2), Grid(4, 4), Scale(2), Scale(16)),
    *(Cell(4), Keyed(4), Keyed(16, spread=2)),
]


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_what_is_sent_and_held_is_what_was_measured(layout: Layout) -> None:
    """A row of the micro-batch that is being joined counts too: the lag is one of 10 s."""
    sent, held = HELD[str(layout)]
    rates = Sides.equal(1000)
    copies = count_copies(layout, PLAN)
    assert find_sent_rate(copies, rates) / 2000 == pytest.approx(sent, abs=0.005)
    state = count_state_rows(copies, PLAN.window, rates, lag=10)
    assert (state.left + state.right) / (2000 * 60) == pytest.approx(held, abs=0.007)


def test_a_grid_says_the_same_of_itself() -> None:
    assert count_copies(Grid(3, 5), PLAN) == to_copies(Grid(3, 5))
    assert to_copies(Grid(3, 5)).shares == Sides(1 / 3, 1 / 5)


def test_bytes_are_weighed_by_side() -> None:
    copies, rates, widths = count_copies(Grid(2, 5), PLAN), Sides(100, 10), Sides(16, 200)
    assert find_shuffle_rate(copies, rates, widths) == 5 * 100 * 16 + 2 * 10 * 200
    size = find_state_size(copies, within("30 seconds"), rates, widths)
    assert size == 30 * find_shuffle_rate(copies, rates, widths)


def test_state_of_scale_is_that_of_one_cell() -> None:
    one, many = (count_copies(layout, PLAN) for layout in (Scale(1), Scale(16)))
    assert count_state_rows(one, PLAN.window, Sides(3, 4)) == count_state_rows(many, PLAN.window, Sides(3, 4))


@pytest.mark.parametrize(
    ("window", "left", "right"),
    [
        (within(left="20 seconds", right="5 seconds"), 20, 5),
        (between("3 seconds", "10 seconds"), 10, 0),  # a right row's partners have all come
        (between("-10 seconds", "-3 seconds"), 0, 10),
        (tumbling("8 seconds"), 8, 8),
        (last(left=30, right=8), 15, 2),
        (last(left=30, right=8) & within("10 seconds"), 10, 2),
    ],
    ids=str,
)
def test_rows_stay_as_the_law_says(window: object, left: float, right: float) -> None:
    assert find_stay(window, Sides(2, 4)) == Sides(left, right)  # type: ignore[arg-type]


def test_the_lag_of_the_watermark_is_added() -> None:
    assert find_stay(between("3 seconds", "10 seconds"), Sides(1, 1), lag=1) == Sides(11, 0)
    assert find_stay(between("3 seconds", "10 seconds"), Sides(1, 1), lag=5) == Sides(15, 2)
