"""Cells over state and cache, without a runtime: exact whatever fails, moves or restarts."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streamjoin import Grid, Scale, StreamJoinError, within
from streamjoin.flow.cache import CacheSpec
from streamjoin.flow.emit import PLAN_CELL
from streamjoin.flow.metrics import METRICS
from streamjoin.layout import fit_plan
from streamjoin.reference import Batch, Joined
from streamjoin.spec.how import HOWS, How
from tests.blocks import to_joined
from tests.properties.test_layouts import TIME_WINDOWS
from tests.properties.test_worker import ARRIVING, expect, plan_of, plans
from tests.strategies import multiset, us
from tests.unit.flow.runtime import Runtime, serving, to_job

END = 10**6
ROWS = [{"ts": t, "x": t % 2, "y": 0.0} for t in range(6)]
OTHERS = [{"ts": t, "a": t % 2, "b": 0.0} for t in range(6)]


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CacheSpec]:
    return CacheSpec(str(tmp_path_factory.mktemp("cache")), 1 << 30)


@settings(max_examples=max(100, settings().max_examples), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_attempts_that_die_and_restarts_change_nothing(spec: CacheSpec, data: st.DataObject) -> None:
    how: How = data.draw(st.sampled_from(HOWS))
    plan = data.draw(plans(TIME_WINDOWS, how))
    layout = data.draw(serving(plan))
    plan, batches = fit_plan(layout, plan), data.draw(ARRIVING)
    runtime, found = Runtime(to_job(plan, layout, spec)), list[Joined]()
    late = [0, 0]
    for batch in [*batches, Batch(watermark=END)]:
        if data.draw(st.booleans(), "restarts"):
            runtime = runtime.restart(data.draw(st.sampled_from([spec, CacheSpec("/dev/null", None)])))
        dies_after = data.draw(st.none() | st.integers(0, 3), "dies after")
        found += to_joined(plan, runtime.run(batch, data.draw(st.integers(1, 2)), dies_after))
        for metrics in runtime.metrics:
            late = [late[0] + metrics.late_left, late[1] + metrics.late_right]
    expected = expect(plan, batches)
    assert multiset(found) == multiset(expected.rows), layout
    assert late == [expected.late_left, expected.late_right]
    left = {name for state in runtime.states.values() for name in state.values}
    assert all(name.startswith("f") for name in left), "segments that are over are still in state"  # flags go later


def test_a_zombie_that_ends_after_its_successor_changes_nothing(spec: CacheSpec) -> None:
    plan, layout = plan_of("l.x = r.a", within(us(2)), "full"), Grid(1, 1)
    batches = [Batch(ROWS[:3], OTHERS[:2]), Batch(ROWS[3:], OTHERS[2:], 1), Batch(watermark=END)]
    runtime, found = Runtime(to_job(plan, layout, spec)), list[Joined]()
    for batch in batches:
        zombie = runtime.restart()
        records = list(runtime.send(batch))
        found += to_joined(plan, runtime.run(batch))
        zombie.run_cell(0, [record for record in records if record.cell == 0], batch.watermark)
    assert multiset(found) == multiset(expect(plan, batches).rows)


@pytest.mark.parametrize("layout", [Grid(2, 3), Scale(4)], ids=str)
def test_rows_are_counted_once_whatever_copies_are_sent(spec: CacheSpec, layout: Grid | Scale) -> None:
    runtime = Runtime(to_job(plan_of("l.x = r.a", within(us(2))), layout, spec))
    runtime.run(Batch([*ROWS, {"ts": None, "x": 1, "y": 0.0}], OTHERS, 2))
    counts = [metric.name for metric in METRICS if metric.kind == "count"]
    totals = {name: sum(getattr(m, name) for m in runtime.metrics) for name in counts}
    assert (totals["rows_left"], totals["rows_right"], totals["invalid_rows"]) == (6, 6, 1)
    assert (totals["late_left"], totals["late_right"]) == (2, 2)
    assert max(m.newest_left or 0 for m in runtime.metrics) == max(row["ts"] for row in ROWS)
    assert max(m.newest_right or 0 for m in runtime.metrics) == max(row["ts"] for row in OTHERS)
    assert totals["rows_sent"] == (6 * 3 + 6 * 2 if isinstance(layout, Grid) else 2 * 6 * 4)


def test_segments_are_read_from_the_cache_and_what_it_lacks_from_state(spec: CacheSpec, tmp_path: Path) -> None:
    runtime = Runtime(to_job(plan_of("l.x = r.a", within(us(9))), Grid(1, 1), spec))
    runtime.run(Batch(ROWS, OTHERS))
    state = runtime.states[0]
    segments = dict(state.values)
    state.values.clear()
    found = runtime.run(Batch(ROWS[:1], []))  # from the cache
    assert sum(results.num_rows for results in found) == 3
    elsewhere = runtime.restart(CacheSpec(str(tmp_path), None))
    elsewhere.states[0].values.update(segments)
    assert sum(results.num_rows for results in elsewhere.run(Batch(ROWS[:1], []))) == 3


def test_only_rows_that_wait_to_be_decided_set_an_alarm(spec: CacheSpec) -> None:
    for how, alarm in (("inner", None), ("left", 1)):
        runtime = Runtime(to_job(plan_of("l.x = r.a", within(us(9)), how), Grid(1, 1), spec))
        runtime.run(Batch(ROWS, OTHERS, 1))
        assert runtime.states[0].alarm == alarm


@pytest.mark.parametrize("cell", [0, PLAN_CELL])
def test_state_of_another_join_is_refused(spec: CacheSpec, cell: int) -> None:
    runtime = Runtime(to_job(plan_of("abs(l.x - r.a) <= 1", within(us(9))), Grid(1, 1), spec))
    runtime.run(Batch(ROWS, OTHERS))
    other = replace(to_job(plan_of("abs(l.x - r.a) <= 2", within(us(9))), Grid(1, 1), spec))
    runtime.job = other
    with pytest.raises(StreamJoinError, match="written by another join"):
        runtime.run_cell(cell, [], None)
