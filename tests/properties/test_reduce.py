"""A cell that reduces yields what the law says: after every batch what its watermark decides, in the end everything.

Hypothesis chooses rows, windows, conditions, aggregates, cuts into batches, orders of arrival, layouts and restarts.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any
from zlib import crc32

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DataObject, DrawFn

from streamjoin import Cell, Grid, Keyed, Scale, StreamJoinError, last, within
from streamjoin.flow.cache import CacheSpec
from streamjoin.layout import Layout, fit_plan
from streamjoin.plan import Plan
from streamjoin.plan.reduction import Aggregate, Aggregates, Pick, Reduction, Taken
from streamjoin.reference import Batch, Row, content
from streamjoin.reference_reduce import Met, fold, meet, pick
from streamjoin.worker import Worker, best, decide
from tests.blocks import StateStore, hash_rows, to_block
from tests.properties.test_worker import ARRIVING, CONDITIONS, PLANS
from tests.strategies import WINDOWS
from tests.unit.flow.runtime import Runtime, to_job

COLUMNS = {"ts": 0, "a": 1, "b": 2}
NUMBERS = {"ts": pa.int64(), "a": pa.int32(), "b": pa.float64()}
FLOATING = ("avg", "var_pop", "var_samp", "stddev_pop", "stddev_samp")
TIME_WINDOWS = st.one_of([windows for name, windows in WINDOWS.items() if "last" not in name])


def aggregate(op: str, *names: str, known: bool = False) -> Aggregate:
    """An aggregate of columns of the right row, or of the left one where a name is one of its own."""
    operands = [Taken("r", COLUMNS[n]) if n in COLUMNS else Taken("l", {"x": 1, "y": 2}[n]) for n in names]
    type = NUMBERS[{"x": "a", "y": "b"}.get(names[0], names[0])] if names else pa.int64()
    if op == "count" or (op == "sum" and pa.types.is_integer(type)):
        type = pa.int64()
    return Aggregate(op, tuple(operands), pa.float64() if op in FLOATING else type, known)


EVERY = [
    aggregate("count"),
    aggregate("count", "a"),
    aggregate("sum", "a"),
    aggregate("sum", "b"),
    aggregate("sum", "x"),
    *(aggregate(op, name) for op in FLOATING for name in ("a", "b")),
    *(aggregate(op, name) for op in ("min", "max", "first", "last") for name in ("ts", "a", "b")),
    aggregate("first", "a", known=True),
    aggregate("last", "b", known=True),
    *(
        aggregate(op, *names)
        for op in ("min_by", "max_by")
        for names in (("a", "b"), ("b", "a"), ("ts", "b"), ("a", "ts"))
    ),
]
PICKS = [Pick(direction, exact) for direction in ("backward", "forward", "nearest") for exact in (True, False)]


@st.composite
def reductions(draw: DrawFn) -> Plan:
    reduction: Reduction = draw(
        st.one_of(
            st.builds(Aggregates, st.integers(0, 3), st.lists(st.sampled_from(EVERY), max_size=4).map(tuple)),
            st.just(Aggregates(3, tuple(EVERY))),
            st.sampled_from(PICKS),
        )
    )
    how = draw(st.sampled_from(["left", "inner"]))
    plan = PLANS[draw(st.sampled_from(CONDITIONS)), "left"]
    return replace(plan, window=draw(TIME_WINDOWS), how=how, reduction=reduction)


def tie(row: Row) -> int:
    return int(hash_rows("right", [row])[0])


def read(row: Row, met: Met, operand: Taken) -> Any:
    return list((met.left if operand.side == "l" else row).values())[operand.column]


def expect(plan: Plan, batches: Sequence[Batch], *, ended: bool = True, ties: Any = tie) -> Counter[str]:
    """The results of the law."""
    found = []
    for met in meet(batches, plan.predicate, plan.window, tie=ties, ended=ended):
        if isinstance(plan.reduction, Pick):
            row = pick(met, plan.reduction.direction, exact=plan.reduction.exact)
            matched, kept = row is not None, len(plan.left)
            values = list(row.values()) if row else [None] * len(plan.right)
        else:
            assert isinstance(plan.reduction, Aggregates)
            matched, kept = bool(met.right), plan.reduction.kept
            values = []
            for each in plan.reduction.each:
                columns = [[read(row, met, operand) for row in met.right] for operand in each.operands]
                if each.known:
                    columns = [[value for value in columns[0] if value is not None]]
                values.append(fold(each.op, *columns) if columns else len(met.right))
        if matched or plan.how == "left":
            found.append((*list(met.left.values())[:kept], *values, met.join_time))
    return Counter(map(repr, found))


def to_values(results: Sequence[pa.RecordBatch]) -> Counter[str]:
    rows = (row for batch in results for row in zip(*(column.to_pylist() for column in batch.columns), strict=True))
    return Counter(map(repr, rows))


@given(plan=reductions(), batches=ARRIVING, cut=st.integers(0, 3), restarts=st.booleans(), caches=st.booleans())
def test_a_worker_yields_what_the_law_says(
    plan: Plan, batches: list[Batch], cut: int, restarts: bool, caches: bool
) -> None:
    worker, state, found = Worker(plan), StateStore(caches=caches), Counter[str]()
    for k, batch in enumerate(batches, 1):
        blocks = [
            [to_block(plan, side, part) for part in (rows[:cut], rows[cut:]) if any(r["ts"] is not None for r in part)]
            for side, rows in (("l", list(batch.left)), ("r", list(batch.right)))
        ]
        found += to_values(list(worker.process(*blocks, batch.watermark)))
        assert found == expect(plan, batches[:k], ended=False), f"after batch {k}"
        state.save(worker)
        if restarts:
            worker = state.restore(plan)
    found += to_values(list(worker.finish()))
    assert found == expect(plan, batches)
    assert (worker.size.live_left, worker.size.live_right, worker.size.segments) == (0, 0, 0)


@given(plan=reductions(), batches=ARRIVING, pairs=st.sampled_from([2, 1000]))
def test_few_pairs_at_a_time_and_near_ones_first_change_nothing(plan: Plan, batches: list[Batch], pairs: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decide, "FIRST_ROWS", 1)
        patch.setattr(decide, "MOST_PAIRS", pairs)
        patch.setattr(best, "FEW_MATCHES", 0.5)
        patch.setattr(best, "_WIDER", 2)
        worker, found = Worker(plan), Counter[str]()
        for batch in batches:
            blocks = [[to_block(plan, side, list(rows))] for side, rows in (("l", batch.left), ("r", batch.right))]
            found += to_values(list(worker.process(*blocks, batch.watermark)))
        found += to_values(list(worker.finish()))
    assert found == expect(plan, batches)


@pytest.mark.parametrize("chosen", PICKS, ids=str)
@pytest.mark.parametrize("times", [40, 400], ids=["dense", "thin"])
def test_rows_with_many_matches_look_nearby_first(chosen: Pick, times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decide, "FIRST_ROWS", 4)
    monkeypatch.setattr(best, "FEW_MATCHES", 2.0)
    monkeypatch.setattr(best, "_WIDER", 3)
    draw = Random(times)
    left, right = (
        [{"ts": draw.randrange(times), key: draw.randrange(3), number: 0.5} for _ in range(150)]
        for key, number in ("xy", "ab")
    )
    window = within("40 microseconds")
    plan = replace(PLANS["l.x = r.a", "left"], window=window, how="left", reduction=chosen)
    worker = Worker(plan)
    found = to_values(list(worker.process(to_block(plan, "l", left), to_block(plan, "r", right))))
    whole = to_values(list(worker.finish()))
    assert not found
    assert whole == expect(plan, [Batch(left, right)])
    assert worker.last.matches < count_matches(left, right)


def count_matches(left: list[dict[str, Any]], right: list[dict[str, Any]]) -> int:
    """All matches that the pick chooses from."""
    return sum(l["x"] == r["a"] and abs(l["ts"] - r["ts"]) <= 40 for l in left for r in right)


def serving(plan: Plan) -> st.SearchStrategy[Layout]:
    grids = st.builds(Grid, st.integers(1, 3), st.just(1))
    keyed = st.builds(Keyed, st.integers(1, 3)) if plan.predicate.text == "l.x = r.a" else st.nothing()
    return st.one_of(grids, keyed)


def route(row: Row) -> int:
    """The hash by which the simulated runtime routes a right row."""
    return crc32(repr(("r", content(row))).encode())


@given(plan=reductions(), batches=ARRIVING, data=st.data())
def test_cells_yield_what_the_law_says(plan: Plan, batches: list[Batch], data: DataObject) -> None:
    layout = data.draw(serving(plan))
    with TemporaryDirectory() as directory:
        runtime = Runtime(to_job(fit_plan(layout, plan), layout, CacheSpec(str(Path(directory)), None)))
        found = Counter[str]()
        for k, batch in enumerate(batches, 1):
            found += to_values(
                runtime.run(batch, parts=data.draw(st.integers(1, 2)), dies_after=data.draw(st.none() | st.just(1)))
            )
            assert found == expect(plan, batches[:k], ended=False, ties=route), f"after batch {k}"
            if data.draw(st.booleans()):
                runtime = runtime.restart()


@pytest.mark.parametrize("layout", [Scale(2), Cell(2), Grid(2, 2), Keyed(4, spread=2)])
def test_a_layout_that_parts_a_left_row_is_refused_with_one_that_serves(layout: Layout) -> None:
    plan = replace(PLANS["l.x = r.a", "left"], reduction=PICKS[0])
    with pytest.raises(StreamJoinError, match=r"one cell must see all that it meets; take Grid\(\d, 1\)"):
        fit_plan(layout, plan)


def test_count_windows_are_refused() -> None:
    with pytest.raises(StreamJoinError, match="counts rows"):
        replace(PLANS["true", "left"], window=last(3), reduction=PICKS[0])
