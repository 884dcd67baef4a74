"""Rows that a join drops come out beside its results, where that is asked for: each once, whatever layout or cut."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamjoin.flow.backfill import ORDER, join_cells
from streamjoin.flow.cache import CacheSpec
from streamjoin.flow.late import COLUMNS, is_kept
from streamjoin.layout import fit_plan
from streamjoin.plan import Plan
from streamjoin.plan.reduction import Aggregates
from streamjoin.reference import Batch, Dropped, Joined, list_dropped
from streamjoin.spec.how import HOWS, How, sides_of
from streamjoin.spec.side import NAMED, SIDES, Side
from streamjoin.worker import Undecided
from tests.blocks import to_joined
from tests.properties.test_reduce import expect as expect_reduced
from tests.properties.test_reduce import reductions, route, to_values
from tests.properties.test_reduce import serving as serving_reduced
from tests.properties.test_worker import ARRIVING, expect, plans
from tests.strategies import multiset
from tests.unit.flow.runtime import Runtime, serving, to_job

BOTH = st.booleans()
FEW = settings(max_examples=30)


def part(results: Iterable[pa.RecordBatch]) -> tuple[list[pa.RecordBatch], list[pa.RecordBatch]]:
    """Results, and kept rows."""
    results = list(results)
    return [r for r in results if not is_kept(r)], [r for r in results if is_kept(r)]


def held(plan: Plan, side: Side) -> slice:
    """Where results have the columns of a side: of aggregates those of the left one that stand before them."""
    if isinstance(plan.reduction, Aggregates):
        return slice(0, plan.reduction.kept if side == "l" else 0)
    if side not in sides_of(plan.how):
        return slice(0, 0)
    return slice(0, len(plan.left)) if side == "l" else slice(len(plan.left), len(plan.left) + len(plan.right))


def to_dropped(plan: Plan, blocks: Iterable[pa.RecordBatch]) -> Counter[str]:
    """Kept rows: join time, own columns, which are all that is there, and the three that tell."""
    found = Counter[str]()
    for block in blocks:
        assert block.schema.names[-3:] == list(COLUMNS)
        for *values, time, reason, side, watermark in zip(*(c.to_pylist() for c in block.columns), strict=True):
            own = held(plan, next(each for each in SIDES if NAMED[each] == side))
            assert all(v is None for v in values[: own.start] + values[own.stop :]), "a kept row is of one side"
            found[repr((side, values[own], time, reason, watermark))] += 1
    return found


def to_told(plan: Plan, dropped: Iterable[Dropped]) -> Counter[str]:
    """The same of the reference's."""
    spans = {NAMED[side]: held(plan, side) for side in SIDES}
    widths = {name: span.stop - span.start for name, span in spans.items()}
    return Counter(
        repr((d.side, list(d.row.values())[: widths[d.side]], d.row["ts"], d.reason, d.watermark)) for d in dropped
    )


@pytest.mark.parametrize("how", HOWS)
@FEW
@given(st.data())
def test_dropped_rows_come_out_once_and_results_are_the_same(how: How, data: st.DataObject) -> None:
    plan = replace(data.draw(plans(how=how)), ordered=data.draw(BOTH, "ordered"))
    layout = data.draw(serving(plan))
    plan, batches = fit_plan(layout, plan), data.draw(ARRIVING)
    found: list[Joined] = []
    kept: list[pa.RecordBatch] = []
    with TemporaryDirectory() as directory:
        job = replace(to_job(plan, layout, CacheSpec(directory, 1 << 30)), keeps_late=True)
        runtime = Runtime(job)
        for batch in batches:
            came = runtime.run(batch, data.draw(st.integers(1, 2)), data.draw(st.sampled_from([None, 0, 1])))
            if plan.ordered:
                assert [is_kept(r) for r in came] == sorted((is_kept(r) for r in came), reverse=True), "kept rows first"
            results, dropped = part(came)
            found += to_joined(plan, results)
            kept += dropped
            if data.draw(BOTH, "restarts"):
                runtime = runtime.restart()
    assert multiset(found) == multiset(expect(plan, batches, ended=False).rows), layout
    assert to_dropped(plan, kept) == to_told(plan, list_dropped(batches)), layout


@given(st.data())
def test_what_reduces_keeps_dropped_rows_and_yields_the_same(data: st.DataObject) -> None:
    plan = data.draw(reductions())
    layout = data.draw(serving_reduced(plan))
    plan, batches = fit_plan(layout, plan), data.draw(ARRIVING)
    came: list[pa.RecordBatch] = []
    with TemporaryDirectory() as directory:
        runtime = Runtime(replace(to_job(plan, layout, CacheSpec(directory, 1 << 30)), keeps_late=True))
        for batch in batches:
            came += runtime.run(batch, data.draw(st.integers(1, 2)), data.draw(st.sampled_from([None, 0, 1])))
            runtime = runtime.restart() if data.draw(BOTH, "restarts") else runtime
    results, kept = part(came)
    assert to_values(results) == expect_reduced(plan, batches, ended=False, ties=route), layout
    assert to_dropped(plan, kept) == to_told(plan, list_dropped(batches)), layout


@FEW
@given(st.data())
def test_a_query_may_begin_and_cease_to_keep_them(data: st.DataObject) -> None:
    plan = data.draw(plans(how=data.draw(st.sampled_from(HOWS))))
    layout = data.draw(serving(plan))
    plan, batches = fit_plan(layout, plan), data.draw(ARRIVING)
    found: list[Joined] = []
    kept: list[pa.RecordBatch] = []
    keeping = []
    with TemporaryDirectory() as directory:
        runtime = Runtime(to_job(plan, layout, CacheSpec(directory, 1 << 30)))
        for batch in batches:
            runtime = runtime.restart()
            runtime.job = replace(runtime.job, keeps_late=data.draw(BOTH, "keeps"))
            results, dropped = part(runtime.run(batch))
            found += to_joined(plan, results)
            kept += dropped
            keeping += [batch] if runtime.job.keeps_late else []
    assert multiset(found) == multiset(expect(plan, batches, ended=False).rows)
    assert to_dropped(plan, kept) == to_told(plan, list_dropped(keeping))


@FEW
@given(st.data())
def test_of_a_batch_join_rows_without_a_time_come_out(data: st.DataObject) -> None:
    plan = data.draw(plans(how="inner"))
    layout = data.draw(serving(plan))
    rows = [Batch(batch.left, batch.right) for batch in data.draw(ARRIVING)]
    whole = Batch([row for batch in rows for row in batch.left], [row for batch in rows for row in batch.right])
    job = replace(to_job(plan, layout, CacheSpec("/dev/null", None)), keeps_late=True)
    ordered = Batch(*(sorted(side, key=lambda r: (r["ts"] is not None, r["ts"])) for side in (whole.left, whole.right)))
    sent = [record for record in Runtime(job).send(ordered) if record.block is not None]
    nulls_first = sorted(sent, key=lambda r: [(v is not None, v) for v in (getattr(r, name) for name in ORDER)])
    came: list[pa.RecordBatch] = []
    for _, some in join_cells(job, nulls_first):
        for each in some:
            assert not isinstance(each, Undecided)
            came.append(each)
    results, kept = part(came)
    assert multiset(to_joined(plan, results)) == multiset(expect(plan, [whole]).rows)
    assert to_dropped(plan, kept) == to_told(plan, list_dropped([whole]))
