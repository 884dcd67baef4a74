"""A worker yields what the reference says: after every batch what its watermark allows, in the end everything.

Hypothesis chooses rows, windows, conditions, kernels, cuts into batches, orders of arrival and watermarks.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DataObject, DrawFn, SearchStrategy

from streamjoin import last, reference, tumbling, within
from streamjoin.kernel.costs import KERNELS
from streamjoin.operators.arithmetic import EvaluationError
from streamjoin.pane import Segment
from streamjoin.plan import Block, Plan
from streamjoin.predicate import Schema, parse
from streamjoin.reference import Batch, Joined, Row, content
from streamjoin.spec.how import HOWS, How
from streamjoin.spec.side import Side
from streamjoin.spec.window import Between, Last, Tumbling, Window
from streamjoin.worker import Worker, flags, ranks, semi
from tests.blocks import StateStore, arrow_schema, hash_rows, send, tie, timed, to_block, to_joined, total
from tests.strategies import ANY_WINDOW, HISTORIES, WINDOWS, History, arrivals, multiset, us

LEFT = Schema({"ts": "timestamp", "x": "int", "y": "double"})
RIGHT = Schema({"ts": "timestamp", "a": "int", "b": "double"})
CONDITIONS = [
    "true",
    "l.x = r.a",
    "l.x <=> r.a",
    "abs(l.x - r.a) <= 1",
    "l.y <= r.b",
    "abs(l.y - r.b) <= 0.5",
    "l.x = r.a AND l.y >= r.b",
    "abs(l.x - r.a) <= 1 AND abs(l.y - r.b) <= 0.5",
    "l.x > 0 AND l.x <> r.a",
    "l.x = r.a OR l.y = r.b",
    "CASE WHEN l.x = 0 THEN 'a' WHEN l.x = 1 THEN 'b' END = CASE WHEN r.a = 0 THEN 'b' WHEN r.a = 2 THEN 'a' END",
]
INNER: How = "inner"
ANY_KERNEL = st.sampled_from(["auto", *KERNELS])


def plan_of(on: str, window: Window, how: How = INNER, **options: Any) -> Plan:
    return Plan(parse(on, LEFT, RIGHT), window, arrow_schema(LEFT), arrow_schema(RIGHT), how, **options)


PLANS = {(on, how): plan_of(on, within(us(1)), how) for on in CONDITIONS for how in HOWS}


@st.composite
def plans(draw: DrawFn, windows: SearchStrategy[Window] = ANY_WINDOW, how: How | None = None, **options: Any) -> Plan:
    """Any plan, results in blocks of a few rows."""
    chosen = how or draw(st.sampled_from(HOWS))
    return replace(
        PLANS[draw(st.sampled_from(CONDITIONS)), chosen],
        window=draw(windows),
        kernel=draw(ANY_KERNEL),
        block_rows=draw(st.sampled_from([1, 3, 100])),
        **options,
    )


@st.composite
def any_arrivals(draw: DrawFn, history: History) -> list[Batch]:
    """Let a history arrive anyhow, under watermarks that know nothing of it, but do not move back."""
    count = draw(st.integers(1, 5))
    batches: list[tuple[list[Row], list[Row]]] = [([], []) for _ in range(count)]
    for side, rows in enumerate((history.left, history.right)):
        for row in draw(st.permutations(rows)):
            batches[draw(st.integers(0, count - 1))][side].append(row)
    without = draw(st.integers(0, count))
    marks = sorted(draw(st.lists(st.integers(-12, 12), min_size=count - without, max_size=count - without)))
    return [Batch(*batch, watermark=mark) for batch, mark in zip(batches, [None] * without + marks, strict=True)]


ARRIVING = HISTORIES.flatmap(lambda history: st.one_of(arrivals(history, late=True), any_arrivals(history)))


def blocks(plan: Plan, batch: Batch, cut: int = 0) -> tuple[list[Block], list[Block]]:
    """The two sides of a batch; with `cut` the rows from there on come in a block of their own."""
    both = []
    for side, rows in zip(("l", "r"), (list(batch.left), list(batch.right)), strict=True):
        both.append([to_block(plan, side, part) for part in (rows[:cut], rows[cut:]) if timed(part)])
    return both[0], both[1]


def run(worker: Worker, batches: Sequence[Batch]) -> list[Joined]:
    """All results, to the end of the input."""
    found = [to_joined(worker.plan, worker.process(*blocks(worker.plan, b), b.watermark)) for b in batches]
    return [*itertools.chain(*found), *to_joined(worker.plan, worker.finish())]


def expect(plan: Plan, batches: Sequence[Batch], *, ended: bool = True) -> reference.Result:
    return reference.join(batches, plan.predicate, plan.window, plan.how, tie=tie, ordered=plan.ordered, ended=ended)


def check(plan: Plan, batches: Sequence[Batch], cut: int = 0) -> None:
    """After every batch the worker has yielded what the reference has, and nothing is ready that it has not."""
    worker, found, counted = Worker(plan), [], []
    before = None
    for k, batch in enumerate(batches, 1):
        results = to_joined(plan, _bounded(plan, worker.process(*blocks(plan, batch, cut), batch.watermark)))
        assert before is None or all(result.join_time >= before for result in results)
        before = batch.watermark
        found += results
        counted.append(worker.last)
        assert multiset(found) == multiset(expect(plan, batches[:k], ended=False).rows), f"after batch {k}"
    found += to_joined(plan, _bounded(plan, worker.finish()))
    expected = expect(plan, batches)
    assert multiset(found) == multiset(expected.rows), "in the end"
    counts, size = total(counted), worker.size
    assert (counts.late_left, counts.late_right) == (expected.late_left, expected.late_right)
    assert (size.live_left, size.live_right, size.waiting_left, size.waiting_right, size.segments) == (0, 0, 0, 0, 0)


def _bounded(plan: Plan, results: Iterable[Any]) -> Iterator[Any]:
    for block in results:
        assert 0 < block.num_rows <= plan.block_rows
        assert block.schema == plan.output
        yield block


@pytest.mark.parametrize("windows", WINDOWS.values(), ids=WINDOWS)
@pytest.mark.parametrize("how", HOWS)
@settings(max_examples=min(50, max(15, settings().max_examples // 5)))
@given(data=st.data())
def test_every_window_and_how(how: How, windows: SearchStrategy[Window], data: DataObject) -> None:
    check(data.draw(plans(windows, how)), data.draw(ARRIVING), cut=data.draw(st.integers(0, 2)))


@pytest.mark.parametrize("on", CONDITIONS)
@pytest.mark.parametrize("kernel", ["auto", *KERNELS])
@settings(max_examples=min(50, settings().max_examples))
@given(data=st.data())
def test_every_kernel_and_condition(kernel: str, on: str, data: DataObject) -> None:
    window, how = data.draw(ANY_WINDOW), data.draw(st.sampled_from(HOWS))
    check(replace(PLANS[on, how], window=window, kernel=kernel), data.draw(ARRIVING))


@given(plan=plans(), batches=ARRIVING)
def test_nothing_hangs_on_how_much_is_done_at_once(plan: Plan, batches: list[Batch]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranks, "STEP", 1)  # rows that are put in order at once
        patch.setattr(flags, "PAGE", 3)  # flags to a page
        patch.setattr(semi, "ROOM", 1)  # matches of a semi join remembered one by one
        check(plan, batches)
        check_restored(plan, batches, caches=False)


@pytest.mark.parametrize("window", [within(us(5)), tumbling(us(7)), last(3)], ids=str)
@pytest.mark.parametrize("how", HOWS)
def test_blocks_of_one_row(how: How, window: Window) -> None:
    random = np.random.default_rng(2)
    batches = [
        Batch([{"ts": t, "x": t % 3, "y": None}], [{"ts": t + 1, "a": t % 4, "b": None}], watermark=k - 12)
        for k, t in enumerate((np.arange(60) + random.integers(-6, 6, 60)).tolist())
    ]
    check(replace(PLANS["l.x = r.a", how], window=window), batches)


# Extremes

FIRST, LAST = -(2**63), 2**63 - 1
EXTREME_TIMES = st.sampled_from([FIRST, FIRST + 1, -1, 0, 1, LAST - 1, LAST])
WHOLES = st.sampled_from([-(2**31), 2**31 - 1, 0, None])
NUMBERS = st.sampled_from([float("inf"), -float("inf"), 1.7976931348623157e308, 5e-324, -0.0, float("nan"), None])


def _extreme_rows(*names: str) -> SearchStrategy[list[Row]]:
    rows = st.tuples(EXTREME_TIMES, WHOLES, NUMBERS)
    return st.lists(rows.map(lambda values: dict(zip(names, values, strict=True))), max_size=5)


@given(
    plan=plans(st.one_of(list(WINDOWS.values()))),
    left=_extreme_rows("ts", "x", "y"),
    right=_extreme_rows("ts", "a", "b"),
    watermark=st.one_of(st.none(), EXTREME_TIMES),
)
def test_extreme_values_and_times(plan: Plan, left: list[Row], right: list[Row], watermark: int | None) -> None:
    batches = [Batch(left, right), Batch(left, right, watermark)]

    def holds(l: Row, r: Row) -> bool | None:
        try:
            return plan.predicate(l, r)
        except EvaluationError:  # a band does not subtract what is out of reach
            return False

    expected = [
        replace(joined, join_time=min(joined.join_time, LAST))  # an int64 holds no later one
        for joined in reference.join(batches, holds, plan.window, plan.how, tie=tie).rows
    ]
    assert multiset(run(Worker(plan), batches)) == multiset(expected)


# Masks


def masked(block: Block, probes: list[bool], stores: list[bool]) -> Block:
    return replace(block, probes=np.array(probes, np.bool_), stores=np.array(stores, np.bool_))


def _hash(row: Row) -> int:
    return sum(map(ord, repr(content(row))))


def run_cells(plan: Plan, batches: Sequence[Batch], cells: Sequence[Any], *, everyone: bool) -> list[list[Joined]]:
    """The results of every cell; a cell says of a side and a row whether it probes there and whether it is stored.

    With `everyone` a cell is given all rows, and masks say what they do there; without, only those that do anything.
    """
    found = []
    for cell in cells:
        worker, results = Worker(plan), []
        for batch in batches:
            given: dict[Side, list[Block]] = {"l": [], "r": []}
            for side, rows in (("l", timed(batch.left)), ("r", timed(batch.right))):
                does = [cell(side, row) for row in rows]
                if not everyone:
                    rows = [row for row, what in zip(rows, does, strict=True) if any(what)]
                    does = [what for what in does if any(what)]
                if rows:
                    probes, stores = zip(*does, strict=True)
                    given[side] = [masked(to_block(plan, side, rows), list(probes), list(stores))]
            results += to_joined(plan, worker.process(given["l"], given["r"], batch.watermark))
        found.append(results + to_joined(plan, worker.finish()))
    return found


def grid(m: int, n: int) -> list[Any]:
    """A left row belongs to a line of cells, a right row to a column."""

    def cell(i: int, j: int) -> Any:
        return lambda side, row: (_hash(row) % m == i if side == "l" else _hash(row) % n == j,) * 2

    return [cell(i, j) for i in range(m) for j in range(n)]


def scale(n: int) -> list[Any]:
    """Every row probes everywhere and is stored in one place (ScaleJoin)."""
    return [lambda side, row, at=at: (True, _hash(row) % n == at) for at in range(n)]


def cell(n: int) -> list[Any]:
    """Every row is stored everywhere and probes in one place (CellJoin)."""
    return [lambda side, row, at=at: (_hash(row) % n == at, True) for at in range(n)]


LAYOUTS = {"grid": grid(2, 3), "scale": scale(3), "cell": cell(2)}


@pytest.mark.parametrize("layout", LAYOUTS)
@given(plan=plans(how="inner"), batches=ARRIVING)
def test_workers_that_share_the_rows_find_every_pair_once(layout: str, plan: Plan, batches: list[Batch]) -> None:
    found = itertools.chain(*run_cells(plan, batches, LAYOUTS[layout], everyone=True))
    assert multiset(found) == multiset(expect(plan, batches).rows)


@given(plan=plans(st.one_of([w for name, w in WINDOWS.items() if "last" not in name]), "inner"), batches=ARRIVING)
def test_in_time_windows_a_worker_needs_only_the_rows_that_do_something_there(plan: Plan, batches: list[Batch]) -> None:
    found = itertools.chain(*run_cells(plan, batches, grid(3, 2), everyone=False))
    assert multiset(found) == multiset(expect(plan, batches).rows)


@given(plan=plans(how="left"), batches=ARRIVING)
def test_a_preserved_side_may_be_shared_out_if_each_of_its_rows_is_whole_somewhere(
    plan: Plan, batches: list[Batch]
) -> None:
    found = itertools.chain(*run_cells(plan, batches, grid(3, 1), everyone=True))
    assert multiset(found) == multiset(expect(plan, batches).rows)


# State


@pytest.mark.parametrize("caches", [False, True])
@given(plan=plans(), batches=ARRIVING)
def test_a_worker_restored_between_any_two_batches_goes_on_exactly(
    caches: bool, plan: Plan, batches: list[Batch]
) -> None:
    check_restored(plan, batches, caches=caches)


def check_restored(plan: Plan, batches: Sequence[Batch], *, caches: bool) -> None:
    steady, moving, state = Worker(plan), Worker(plan), StateStore(caches=caches)
    found = []
    for batch in batches:
        list(steady.process(*blocks(plan, batch), batch.watermark))
        sent = [list(map(send, side)) for side in blocks(plan, batch)]
        found += to_joined(plan, moving.process(*sent, batch.watermark))
        assert replace(moving.last, probe_seconds=0) == replace(steady.last, probe_seconds=0)
        state.save(moving)
        check_routes(plan, state)
        moving = state.restore(plan)
        assert replace(moving.size, bytes=0) == replace(steady.size, bytes=0)
    found += to_joined(plan, moving.finish())
    assert multiset(found) == multiset(expect(plan, batches).rows)
    state.save(moving)
    assert not [name for name in state.entries if not name.startswith("f")]


def check_routes(plan: Plan, state: StateStore) -> None:
    """Every stored row has the hash that it was routed by."""
    for name, entry in state.entries.items():
        if not name.startswith("f"):
            rows = Segment.from_bytes(entry, name).rows
            assert rows.route is not None
            assert rows.route.tolist() == hash_rows("l" if "l" in name[:2] else "r", rows.payload.to_pylist()).tolist()


# Counters


def decided(window: Window, batches: Sequence[Batch]) -> int:
    """Every probing row times the live rows of the other side, counted one by one."""
    if isinstance(window, Last):
        everyone = reference.join(batches, lambda l, r: True, window)
        return len(everyone.rows)
    count = 0
    arrived: dict[str, list[int]] = {"l": [], "r": []}
    for batch in batches:
        mark = -np.inf if batch.watermark is None else batch.watermark
        left, right = (
            [t for row in rows if (t := row["ts"]) is not None and t >= mark] for rows in (batch.left, batch.right)
        )
        older_left, arrived["r"] = list(arrived["l"]), arrived["r"] + right
        count += len(left) * sum(_last_chance(window, "r", t) >= mark for t in arrived["r"])
        count += len(right) * sum(_last_chance(window, "l", t) >= mark for t in older_left)
        arrived["l"] += left
    return count


def _last_chance(window: Window, side: str, t: int) -> int:
    if isinstance(window, Tumbling):
        return window.end(t) - 1
    assert isinstance(window, Between)
    return t + window.upper if side == "l" else t - window.lower


@given(plan=plans(st.one_of([w for name, w in WINDOWS.items() if "last &" not in name])), batches=ARRIVING)
def test_counters_are_what_one_counts_by_hand(plan: Plan, batches: list[Batch]) -> None:
    worker, counted = Worker(plan), []
    for batch in [*batches, None]:
        list(worker.finish() if batch is None else worker.process(*blocks(plan, batch), batch.watermark))
        counted.append(worker.last)
    found = total(counted)
    assert found.rows_left == sum(len(timed(batch.left)) for batch in batches)
    assert found.rows_right == sum(len(timed(batch.right)) for batch in batches)
    assert found.matches == len(reference.join(batches, plan.predicate, plan.window, tie=tie).rows)
    assert found.matches <= found.examined
    assert found.comparisons == decided(plan.window, batches)
