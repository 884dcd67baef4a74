"""Order: cells that hold, number and sort what any cut brings them yield the reference's own sequence.

Every history runs through `flow`: emitted, joined by cells that are restored from state in every batch, put together.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamjoin.flow.cache import CacheSpec
from streamjoin.layout import fit_plan
from streamjoin.plan import Plan
from streamjoin.reference import Batch, Joined
from streamjoin.spec.how import HOWS, How
from tests.blocks import to_joined
from tests.properties.test_worker import ARRIVING, expect, plans
from tests.strategies import WINDOWS, multiset
from tests.unit.flow.runtime import Runtime, serving, to_job

COUNT_WINDOWS = st.one_of([windows for name, windows in WINDOWS.items() if "last" in name])


def run(data: st.DataObject, plan: Plan, batches: Sequence[Batch], directory: str) -> list[list[Joined]]:
    """The results of each micro-batch, by cells in any layout that serves the plan; some are restarted."""
    layout = data.draw(serving(plan))
    runtime = Runtime(to_job(fit_plan(layout, plan), layout, CacheSpec(directory, 1 << 30)))
    found = []
    for at, batch in enumerate(batches):
        parts = data.draw(st.integers(1, 2))
        found.append(to_joined(plan, runtime.run(batch, parts, data.draw(st.sampled_from([None, 0, 1])))))
        if data.draw(st.booleans()):
            runtime = runtime.restart(CacheSpec(str(Path(directory) / str(at)), 1 << 30))
    return found


def check_sequence(data: st.DataObject, how: How) -> None:
    plan = replace(data.draw(plans(how=how)), ordered=True)
    batches = data.draw(ARRIVING)
    with TemporaryDirectory() as directory:
        found = run(data, plan, batches, directory)
    sequence: list[Joined] = []
    before = None
    for k, (batch, results) in enumerate(zip(batches, found, strict=True), 1):
        sequence += results
        assert list(map(repr, sequence)) == list(map(repr, expect(plan, batches[:k], ended=False).rows))
        assert all(before is None or before <= result.join_time for result in results)
        assert all(batch.watermark is not None and result.join_time < batch.watermark for result in results)
        before = batch.watermark


def check_counts(data: st.DataObject, how: How) -> None:
    plan = data.draw(plans(COUNT_WINDOWS, how))
    batches = data.draw(ARRIVING)
    with TemporaryDirectory() as directory:
        found = run(data, plan, batches, directory)
    for k in range(1, len(batches) + 1):
        so_far = [result for results in found[:k] for result in results]
        assert multiset(so_far) == multiset(expect(plan, batches[:k], ended=False).rows), f"after batch {k}"


@settings(max_examples=15)
@given(data=st.data(), how=st.sampled_from(HOWS))
def test_ordered_results_are_the_references_sequence_after_every_batch(how: How, data: st.DataObject) -> None:
    check_sequence(data, how)


@settings(max_examples=15)
@given(data=st.data(), how=st.sampled_from(HOWS))
def test_cells_that_are_sent_few_rows_count_all_of_them(how: How, data: st.DataObject) -> None:
    check_counts(data, how)


@pytest.mark.slow
@pytest.mark.parametrize("check", [check_sequence, check_counts])
@pytest.mark.parametrize("how", HOWS)
@settings(max_examples=100)
@given(data=st.data())
def test_every_how_in_many_histories(
    check: Callable[[st.DataObject, How], None], how: How, data: st.DataObject
) -> None:
    check(data, how)
