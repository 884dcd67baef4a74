"""Workers in any layout, put together, yield what the reference says: every result once, whatever the cuts."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from streamjoin import Cell, Grid, Keyed, Scale
from streamjoin.flow.settle import intersect_unmatched
from streamjoin.layout import Layout, fit_plan
from streamjoin.plan import Block, Plan
from streamjoin.reference import Batch, Joined
from streamjoin.spec.how import How
from streamjoin.worker import Undecided, Worker
from tests.blocks import send, to_block, to_joined, total
from tests.properties.test_worker import ARRIVING, INNER, expect, plans
from tests.strategies import WINDOWS, multiset

TIME_WINDOWS = st.one_of([windows for name, windows in WINDOWS.items() if "last" not in name])
COUNTS = st.integers(1, 4)


@st.composite
def layouts(draw: DrawFn, plan: Plan) -> Layout:
    """Any layout that serves a plan."""
    kinds = [
        st.builds(Grid, COUNTS, COUNTS),
        st.builds(Scale, COUNTS),
        st.builds(Cell, COUNTS),
    ]
    conjuncts = plan.predicate.conjuncts
    if any(c.kind == "equi" for c in conjuncts):
        kinds.append(st.builds(Cell, COUNTS, st.just(True)))
    if any(c.kind == "equi" or (c.kind == "band" and c.lower and c.upper) for c in conjuncts):
        kinds.append(st.builds(lambda groups, spread: Keyed(groups * spread**2, spread), COUNTS, st.integers(1, 2)))
    return draw(st.one_of(kinds))


def routed(layout: Layout, plan: Plan, batch: Batch) -> list[dict[str, list[Block]]]:
    """The blocks of each cell in one batch; rows without a time are left out, as emitters do."""
    cells: list[dict[str, list[Block]]] = [{"l": [], "r": []} for _ in range(layout.cells)]
    route = layout.router(plan)
    for side, rows in (("l", batch.left), ("r", batch.right)):
        block = to_block(plan, side, list(rows))
        for part in route(side, block.rows, block.rows.route) if len(block) else ():
            some = block.rows.take(part.rows)
            for copy in part.copies:
                masks = (np.full(len(some), mask) for mask in (copy.probes, copy.stores, copy.first))
                cells[copy.cell][side].append(send(Block(some, *masks)))
    return cells


@given(st.data())
def test_cells_that_share_a_row_agree_on_which_are_unmatched(data: st.DataObject) -> None:
    how: How = data.draw(st.sampled_from(["left", "right", "full", "left_anti"]))
    layout = data.draw(st.builds(Grid, COUNTS, COUNTS))
    plan = fit_plan(layout, data.draw(plans(TIME_WINDOWS, how)))
    batches = data.draw(ARRIVING)
    workers = [Worker(plan) for _ in range(layout.cells)]
    found: list[Joined] = []
    for batch in [*batches, None]:
        cells = [{"l": [], "r": []} for _ in workers] if batch is None else routed(layout, plan, batch)
        undecided: list[list[Undecided]] = []
        for worker, blocks in zip(workers, cells, strict=True):
            steps = worker.finish() if batch is None else worker.process(blocks["l"], blocks["r"], batch.watermark)
            told = list(steps)
            undecided.append([part for part in told if isinstance(part, Undecided)])
            found += to_joined(plan, (part for part in told if not isinstance(part, Undecided)))
        found += to_joined(plan, agreed(layout, undecided))
    assert multiset(found) == multiset(expect(plan, batches).rows), layout


def agreed(layout: Grid, undecided: Sequence[Sequence[Undecided]]) -> Iterator[pa.RecordBatch]:
    """The rows that are unmatched in all cells of a stripe, given what each cell said in one batch."""
    for side, count in (("l", layout.m), ("r", layout.n)):
        for stripe in range(count):
            answers = [
                [(part.ranks, part.results) for part in undecided[cell] if part.side == side]
                for cell in layout.stripe(side, stripe)
            ]
            if all(answers):
                yield from intersect_unmatched(answers[0], [[ranks for ranks, _ in answer] for answer in answers[1:]])


@settings(max_examples=max(100, settings().max_examples))
@given(st.data())
def test_any_layout_of_workers_finds_every_result_once(data: st.DataObject) -> None:
    plan = data.draw(plans(TIME_WINDOWS, INNER))
    layout = data.draw(layouts(plan))
    batches = data.draw(ARRIVING)
    workers = [Worker(plan) for _ in range(layout.cells)]
    found: list[Joined] = []
    counted = []
    for batch in batches:
        for worker, blocks in zip(workers, routed(layout, plan, batch), strict=True):
            found += to_joined(plan, worker.process(blocks["l"], blocks["r"], batch.watermark))
            counted.append(worker.last)
    for worker in workers:
        found += to_joined(plan, worker.finish())
    expected, sums = expect(plan, batches), total(counted)
    assert multiset(found) == multiset(expected.rows), layout
    assert (sums.late_left, sums.late_right) == (expected.late_left, expected.late_right), "each row counts once"
