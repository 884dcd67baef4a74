"""The layout law: every pair that can match meets exactly once in each direction, any other pair at most once."""

from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from streamjoin import Cell, Grid, Handshake, Keyed, Scale, StreamJoinError, between, last, tumbling, within
from streamjoin.layout import Layout, choose_layout, fit_plan
from streamjoin.layout.base import slot_length, split
from streamjoin.layout.grid import find_near_square
from streamjoin.layout.keys import BUCKET, Buckets, grouping
from streamjoin.operators.arithmetic import EvaluationError
from streamjoin.pane import Rows, no_columns
from streamjoin.plan import Plan
from streamjoin.predicate import Schema, parse
from streamjoin.spec.how import How
from streamjoin.spec.side import SIDES, Side
from tests.blocks import arrow_schema, to_block
from tests.strategies import us

LEFT = Schema({"ts": "timestamp", "k": "int", "x": "bigint", "y": "double", "s": "string"})
RIGHT = Schema({"ts": "timestamp", "k": "bigint", "x": "int", "y": "double", "s": "string"})
CONDITIONS = [
    "l.k = r.k",
    "l.k <=> r.k AND l.s = r.s",
    "l.y = r.y",
    "abs(l.x - r.x) <= 3",
    "l.x - r.x BETWEEN 5 AND 9",
    "l.x - r.x = 0",
    "abs(l.y - r.y) <= 0.5",
    "l.y BETWEEN r.y - 1 AND r.y + 1",
    "abs(l.y - r.x) <= 2 AND l.s <> r.s",
    "abs(l.y - r.y) <= 1e-300",
    "abs(l.y - r.y) <= 1e15",
    "l.x - r.x BETWEEN -9000000000000000000 AND 9000000000000000000",
]
ANY_PAIR = ["true", "l.y <= r.y"]
LONGS = st.one_of(st.integers(-30, 30), st.sampled_from([2**63 - 1, -(2**63), 2**53 + 1, 10**6]))
DOUBLES = st.one_of(
    st.integers(-12, 12).map(lambda n: n / 2),
    st.sampled_from([0.0, -0.0, float("nan"), float("inf"), float("-inf"), 1e300, -1e300, 5e-324]),
)


def plan_of(on: str, window: Any = None, how: How = "inner") -> Plan:
    return Plan(parse(on, LEFT, RIGHT), window or within(us(8)), arrow_schema(LEFT), arrow_schema(RIGHT), how)


PLANS = {on: plan_of(on) for on in CONDITIONS + ANY_PAIR}


def sides(long: SearchStrategy[int]) -> SearchStrategy[list[dict[str, Any]]]:
    row = st.fixed_dictionaries(
        {
            "ts": st.integers(-20, 20),
            "k": st.one_of(st.none(), st.integers(-3, 3)),
            "x": st.one_of(st.none(), long),
            "y": st.one_of(st.none(), DOUBLES),
            "s": st.sampled_from(["", "a", "bb", None]),
        }
    )
    return st.lists(row, min_size=1, max_size=8)


LEFT_ROWS, RIGHT_ROWS = sides(LONGS), sides(LONGS.map(lambda n: max(-(2**31), min(n, 2**31 - 1))))
COUNTS = st.integers(1, 7)
ALL_PAIRS = st.one_of(
    st.builds(Grid, COUNTS, COUNTS),
    st.builds(Scale, COUNTS),
    st.builds(Cell, COUNTS),
)
KEYED = st.builds(lambda groups, spread: Keyed(groups * spread**2, spread), COUNTS, st.integers(1, 3))
HASHES = st.integers(-(2**63), 2**63 - 1)


def rows_of(plan: Plan, side: Side, found: Sequence[dict[str, Any]]) -> Rows:
    return to_block(plan, side, found).rows


def hashes_of(rows: Rows, seed: int) -> np.ndarray:
    """A hash of each row's content: equal rows have equal ones."""
    digests = b"".join(blake2b(repr((seed, row)).encode(), digest_size=8).digest() for row in rows.payload.to_pylist())
    return np.frombuffer(digests, np.int64)


Places = tuple[list[set[int]], list[set[int]], Counter[int]]


def places(layout: Layout, plan: Plan, side: Side, rows: Rows, seed: int) -> Places:
    """Per row: the cells it probes in, the cells it is stored in; and how often each row is counted."""
    probes: list[set[int]] = [set() for _ in range(len(rows))]
    stores: list[set[int]] = [set() for _ in range(len(rows))]
    counted: Counter[int] = Counter()
    for part in layout.router(plan)(side, rows, hashes_of(rows, seed)):
        for row in part.rows.tolist():
            for copy in part.copies:
                assert 0 <= copy.cell < layout.cells
                assert copy.cell not in probes[row] | stores[row], "a row is sent to a cell once"
                if copy.probes:
                    probes[row].add(copy.cell)
                if copy.stores:
                    stores[row].add(copy.cell)
                counted[row] += copy.first
    return probes, stores, counted


def matches(plan: Plan, left: dict[str, Any], right: dict[str, Any]) -> bool:
    try:
        return plan.predicate(left, right) is True
    except EvaluationError:  # a difference of more than 64 bits: Spark raises an error too
        return False


def check(
    layout: Layout, plan: Plan, left: list[dict[str, Any]], right: list[dict[str, Any]], seed: int, least: int
) -> None:
    """Pairs that match meet once in each direction, all others at least so often and at most once."""
    left_probes, left_stores, counted = places(layout, plan, "l", rows_of(plan, "l", left), seed)
    right_probes, right_stores, also = places(layout, plan, "r", rows_of(plan, "r", right), seed)
    assert [counted[row] for row in range(len(left))] == [1] * len(left)
    assert [also[row] for row in range(len(right))] == [1] * len(right)
    for l, left_row in enumerate(left):
        for r, right_row in enumerate(right):
            needed = 1 if matches(plan, left_row, right_row) else least
            assert needed <= len(left_probes[l] & right_stores[r]) <= 1
            assert needed <= len(right_probes[r] & left_stores[l]) <= 1


@pytest.mark.parametrize("on", ANY_PAIR)
@given(ALL_PAIRS, LEFT_ROWS, RIGHT_ROWS, HASHES)
def test_every_pair_meets_exactly_once_in_each_direction(
    on: str, layout: Layout, left: list[dict[str, Any]], right: list[dict[str, Any]], seed: int
) -> None:
    check(layout, PLANS[on], left, right, seed, least=1)


@pytest.mark.parametrize("on", CONDITIONS)
@given(KEYED, LEFT_ROWS, RIGHT_ROWS, HASHES)
def test_every_pair_that_matches_meets_where_its_keys_say(
    on: str, layout: Layout, left: list[dict[str, Any]], right: list[dict[str, Any]], seed: int
) -> None:
    check(layout, PLANS[on], left, right, seed, least=0)


@pytest.mark.parametrize("on", [on for on in CONDITIONS if isinstance(grouping(PLANS[on]), Buckets) and "<>" not in on])
@given(COUNTS, LEFT_ROWS, RIGHT_ROWS, HASHES)
def test_a_preserved_left_row_stays_whole_where_buckets_meet(
    on: str, n: int, left: list[dict[str, Any]], right: list[dict[str, Any]], seed: int
) -> None:
    plan = plan_of(on, how="left")
    check(Keyed(n), plan, left, right, seed, least=0)
    probes, _, _ = places(Keyed(n), plan, "l", rows_of(plan, "l", left), seed)
    assert {len(cells) for cells in probes} == {1}


@given(COUNTS, LEFT_ROWS, RIGHT_ROWS, HASHES)
def test_hash_buckets_with_basic_windows_of_their_own(
    n: int, left: list[dict[str, Any]], right: list[dict[str, Any]], seed: int
) -> None:
    check(Cell(n, hashed=True), PLANS["l.k = r.k"], left, right, seed, least=1)


@pytest.mark.parametrize("on", ["l.k = r.k", "abs(l.y - r.y) <= 0.5"])
@given(st.one_of(ALL_PAIRS, KEYED), LEFT_ROWS, HASHES)
def test_a_row_goes_where_it_says_whoever_comes_with_it(
    on: str, layout: Layout, left: list[dict[str, Any]], seed: int
) -> None:
    plan = PLANS[on]
    together = places(layout, plan, "l", rows_of(plan, "l", left), seed)[:2]
    alone = [places(layout, plan, "l", rows_of(plan, "l", [row]), seed) for row in left]
    assert together == ([found[0][0] for found in alone], [found[1][0] for found in alone])


@given(st.lists(st.integers(0, 5), max_size=30))
def test_split_keeps_every_position_in_order(groups: list[int]) -> None:
    found = {group: rows.tolist() for group, rows in split(np.array(groups, np.int64), 6)}
    assert found == {g: [at for at, of in enumerate(groups) if of == g] for g in sorted(set(groups))}


@pytest.mark.parametrize(
    ("cells", "m", "n"),
    [(1, 1, 1), (2, 1, 2), (4, 2, 2), (3, 1, 3), (5, 2, 2), (7, 2, 3), (12, 3, 4), (13, 3, 4), (200, 10, 20)],
)
def test_a_near_square_grid_uses_most_of_the_cells(cells: int, m: int, n: int) -> None:
    assert find_near_square(cells) == Grid(m, n)


# What they cost


def spread_of(x: np.ndarray, on: str = "abs(l.x - r.x) <= 3") -> tuple[Plan, Rows]:
    plan = PLANS[on]
    rows = [{"ts": int(t), "k": int(v), "x": int(v), "y": float(v), "s": "a"} for t, v in enumerate(x)]
    return plan, rows_of(plan, "l", rows)


@pytest.mark.parametrize(
    "layout",
    [Grid(3, 4), Scale(6), Cell(5), Keyed(4), Keyed(8, spread=2), Keyed(4, spread=2)],
    ids=str,
)
def test_rows_are_sent_and_stored_as_often_as_promised(layout: Layout) -> None:
    plan, rows = spread_of(np.arange(4000) % 1000)
    for side in ("l", "r"):
        cost = layout.cost(side, plan)
        parts = list(layout.router(plan)(side, rows, hashes_of(rows, 0)))
        sent = sum(len(part.rows) * len(part.copies) for part in parts) / len(rows)
        stored = sum(len(part.rows) * sum(copy.stores for copy in part.copies) for part in parts) / len(rows)
        assert sent == pytest.approx(cost.sent, rel=0.02)
        assert stored == pytest.approx(cost.stored, rel=0.02)


def loads(layout: Layout, plan: Plan, left: Rows, right: Rows, seed: int = 1) -> list[int]:
    """Pairs that meet in each cell, in both directions."""
    probes, stores = (np.zeros((2, layout.cells), np.int64) for _ in range(2))
    for at, (side, rows) in enumerate((("l", left), ("r", right))):
        for part in layout.router(plan)(side, rows, hashes_of(rows, 2 * seed + at)):
            for copy in part.copies:
                probes[at, copy.cell] += len(part.rows) * copy.probes
                stores[at, copy.cell] += len(part.rows) * copy.stores
    return [int(load) for load in probes[0] * stores[1] + probes[1] * stores[0]]


def test_one_value_in_all_rows_keeps_one_cell_busy_unless_it_is_spread() -> None:
    plan, rows = spread_of(np.zeros(4000, np.int64), "l.k = r.k")
    alone, spread, grid = (loads(layout, plan, rows, rows) for layout in (Keyed(8), Keyed(8, spread=2), Grid(2, 4)))
    assert sorted(alone)[:-1] == [0] * 7
    assert sum(load > 0 for load in spread) == 4
    assert max(spread) < 1.2 * sum(spread) / 4
    assert max(grid) < 1.2 * sum(grid) / 8


@pytest.mark.parametrize("values", ["zipf", "constant"])
@pytest.mark.parametrize(
    ("layout", "stripes"),
    [(Grid(1, 4), (1, 4)), (Grid(3, 3), (3, 3)), (Scale(4), (4, 4)), (Scale(16), (16, 16))],
    ids=str,
)
def test_load_is_as_even_as_uniform_hashing_makes_it(layout: Layout, stripes: tuple[int, int], values: str) -> None:
    count, rng = 1000, np.random.default_rng(5)
    x = np.zeros(count, np.int64) if values == "constant" else np.minimum(rng.zipf(1.5, count), 10_000)
    plan, rows = spread_of(x)
    spreads = [np.std(found) / np.mean(found) for seed in range(20) if (found := loads(layout, plan, rows, rows, seed))]
    predicted = np.sqrt(sum((stripe - 1) / count for stripe in stripes))
    if isinstance(layout, Scale):
        predicted /= 2  # half of a cell's pairs are probes of either side's stored rows
    measured = np.sqrt(np.mean(np.square(spreads)))
    assert 0.5 * predicted < measured < 1.5 * predicted


def test_neighbouring_buckets_are_dealt_round() -> None:
    plan, rows = spread_of(np.arange(4000) * 7 % 9600)
    assert isinstance(grouping(plan), Buckets)
    found = loads(Keyed(4), plan, rows, rows)
    assert max(found) < 1.2 * min(found)


def test_what_matches_nothing_is_spread_and_what_comes_at_one_time_is_grouped_by_something_else() -> None:
    plan = plan_of("abs(l.y - r.y) <= 0.5")
    rows = rows_of(plan, "l", [{"ts": at, "k": 0, "x": 0, "y": float("nan"), "s": ""} for at in range(800)])
    parts = Keyed(8).router(plan)("l", rows, hashes_of(rows, 0))
    assert max(len(part.rows) for part in parts) < 200
    timed = plan_of("abs(l.ts - r.ts) <= INTERVAL '5' SECOND AND abs(l.x - r.x) <= 3", between(us(-9), us(9)))
    assert "r.x" in Keyed(8).describe_routing(timed)


# Basic windows and slots


def stored(layout: Layout, times: np.ndarray) -> np.ndarray:
    """How many of the rows of these times each cell stores, in percent of the mean."""
    plan = plan_of("true", within("1 minute"))
    rows = Rows(times, (), no_columns(len(times)))
    found = np.zeros(layout.cells)
    for part in layout.router(plan)("l", rows, np.zeros(len(times), np.int64)):
        found[part.copies[0].cell] += len(part.rows)
    return 100 * found / found.mean()


@pytest.mark.parametrize("cells", [2, 4, 9, 16])
@pytest.mark.parametrize("minutes", [0.25, 1, 1.25, 4, 12, 15, 16, 60, 96, 1440])
def test_what_comes_again_and_again_is_stored_all_over(cells: int, minutes: float) -> None:
    times = 1_800_000_000_000_000 + (np.arange(16 * cells) * minutes * 60e6).astype(np.int64)
    assert stored(Cell(cells), times).std() < 100  # dealt round with nothing more, 4 cells and 4 minutes come to 173


@pytest.mark.parametrize("cells", [2, 4, 6, 9, 16])
def test_in_a_window_cells_have_alike_many_basic_windows(cells: int) -> None:
    layout = Cell(cells)
    plan = plan_of("true", within("1 minute"))
    length, first = layout.basic_window(plan, "l"), 1_800_000_000_000_000
    numbers = np.arange(100 * 60_000_000 // length)
    rows = Rows(first + numbers * length, (), no_columns(len(numbers)))
    home = np.zeros(len(numbers), np.int64)
    for part in layout.router(plan)("l", rows, numbers):
        home[part.rows] = part.copies[0].cell
    held = np.cumsum(home[:, None] == np.arange(cells), axis=0)
    in_window = held[60_000_000 // length :] - held[: -(60_000_000 // length)]
    most = in_window.max(axis=1) - in_window.min(axis=1)
    assert most.max() <= 2
    assert np.mean(most > 1) <= 1 / cells + 1 / 32  # while the deal turns, or begins anew


@pytest.mark.parametrize("cells", [2, 4, 9, 16])
@pytest.mark.parametrize("peak", [6, 60])
def test_cells_store_alike_within_one_basic_window(cells: int, peak: int) -> None:
    layout, seconds = Cell(cells), np.random.default_rng(3).random(40_000) * 240
    times = 1_800_000_000_000_000 + (seconds[seconds % 60 < peak] * 1e6).astype(np.int64)
    _, rows = np.unique(times // layout.basic_window(plan_of("true", within("1 minute")), "l"), return_counts=True)
    assert stored(layout, times).std() <= 100 * rows.max() * cells / len(times)


@pytest.mark.parametrize(
    ("window", "left", "right"),
    [
        (within(us(160)), 10, 10),
        (within(left=us(320), right=us(160)), 20, 10),
        (between(us(-320), us(-160)), 10, 20),  # left rows need not stay: the window's length stands in
        (tumbling(us(160)), 10, 10),
        (within(us(3)), 1, 1),
    ],
)
def test_slots_are_parts_of_what_a_side_stays(window: Any, left: int, right: int) -> None:
    assert (slot_length(window, "l", 16), slot_length(window, "r", 16)) == (left, right)


def test_a_window_of_rows_has_no_slots() -> None:
    with pytest.raises(StreamJoinError, match="no length in time"):
        Cell(2).router(plan_of("true", last(3)))


# The rule


@pytest.mark.parametrize(
    ("on", "how", "partitions", "expected"),
    [
        ("true", "inner", 8, "Grid(2, 4)"),
        ("l.y <= r.y", "inner", 12, "Grid(3, 4)"),
        ("l.k = r.k", "inner", 2, "Grid(1, 2)"),
        ("l.k = r.k", "inner", 4, "Grid(2, 2)"),
        ("l.k = r.k", "inner", 8, "Keyed(8, spread=2)"),
        ("l.k = r.k", "inner", 7, "Grid(2, 3)"),
        ("l.k = r.k", "inner", 11, "Keyed(8, spread=2)"),
        ("l.k > 0 = r.k > 0", "inner", 8, "Grid(2, 4)"),
        ("l.k = r.k AND l.k > 0 = r.k > 0", "inner", 8, "Keyed(8, spread=2)"),
        ("date_trunc('hour', l.ts) = date_trunc('hour', r.ts)", "inner", 8, "Grid(2, 4)"),
        ("abs(l.y - r.y) <= 0.5", "inner", 200, "Grid(4, 4)"),
        ("l.k = r.k", "inner", 200, "Keyed(16, spread=2)"),
        ("l.k = r.k", "left", 200, "Keyed(16)"),
        ("abs(l.y - r.y) <= 0.5", "left", 200, "Grid(16, 1)"),
        ("l.k = r.k", "left", 4, "Grid(4, 1)"),
        ("l.k = r.k", "right", 4, "Grid(1, 4)"),
        ("l.k = r.k", "full", 4, "Grid(2, 2)"),
        ("l.k = r.k", "full", 9, "Keyed(9)"),
        ("abs(l.y - r.y) <= 0.5", "left_semi", 17, "Grid(16, 1)"),
        ("abs(l.y - r.y) <= 0.5", "right", 9, "Grid(1, 9)"),
        ("abs(l.y - r.y) <= 0.5", "right", 17, "Grid(1, 16)"),
        ("abs(l.y - r.y) <= 0.5", "full", 9, "Grid(3, 3)"),
        ("true", "left_anti", 9, "Grid(9, 1)"),
    ],
)
def test_the_rule_finds_a_layout_that_serves(on: str, how: How, partitions: int, expected: str) -> None:
    plan = plan_of(on, how=how)
    layout = choose_layout(plan, partitions)
    assert str(layout) == expected
    kept_whole = isinstance(layout, Keyed) or 1 in (layout.m, layout.n)
    assert fit_plan(layout, plan).shared == (
        () if kept_whole else tuple(side for side in SIDES if plan.preserves(side))
    )


# Refusals


@pytest.mark.parametrize("count", [0, -1, 1.5, True, "2", None])
@pytest.mark.parametrize(
    "layout", [lambda n: Grid(n, 2), lambda n: Grid(2, n), Scale, Cell, Keyed, Handshake, lambda n: Keyed(4, n)]
)
def test_a_number_of_cells_is_a_whole_number(layout: Any, count: object) -> None:
    with pytest.raises(StreamJoinError, match=r"\w+\(\w+\): expected a whole number of cells, 1 or more; got"):
        layout(count)


def test_what_a_layout_cannot_do_is_refused_with_what_can() -> None:
    with pytest.raises(StreamJoinError, match=r"multiple of 4, such as 8"):
        Keyed(6, spread=2)
    with pytest.raises(StreamJoinError, match=r"has neither; take Grid\(m, n\)"):
        Keyed(2).router(PLANS["true"])
    with pytest.raises(StreamJoinError, match=r"Cell\(hashed=True\) goes by keys that are equal"):
        Cell(2, hashed=True).router(PLANS["abs(l.x - r.x) <= 3"])


# Words


@pytest.mark.parametrize(
    "layout",
    [Grid(1, 2), Grid(12, 12), Scale(3), Scale(40), Cell(2), Cell(2, hashed=True), Keyed(2), Keyed(36, 3)],
)
def test_a_layout_prints_as_it_is_written_and_draws_itself(layout: Layout) -> None:
    assert eval(str(layout)) == layout
    lines = layout.draw().splitlines()
    assert lines
    assert max(map(len, lines)) <= 100
    assert layout.describe_routing(PLANS["l.k = r.k"])


def test_buckets_say_what_they_are_made_of() -> None:
    assert Keyed(2).describe_routing(PLANS["abs(l.x - r.x) <= 3"]) == f"buckets of {6 * BUCKET} of r.x"
