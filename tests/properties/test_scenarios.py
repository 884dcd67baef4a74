"""The tables of `scenarios` through the reference and through a worker, however the rows are cut into batches."""

from collections import Counter
from collections.abc import Iterable

import numpy as np
import pytest

import streamjoin as sj
from streamjoin import reference
from streamjoin.errors import StreamJoinError
from streamjoin.plan import Plan
from streamjoin.predicate import parse
from streamjoin.reference import Batch, Joined
from streamjoin.spec.how import HOWS, How
from streamjoin.worker import Worker, flags
from tests.blocks import StateStore, arrow_schema, to_block, to_joined
from tests.scenarios import KEYS, SCENARIOS, SCHEMA, Result, Scenario, rows, us

ARROW = arrow_schema(SCHEMA)
EVERY = [pytest.param(scenario, how, id=f"{scenario.name}, {how}") for scenario in SCENARIOS for how in HOWS]


def results(joined: Iterable[Joined]) -> Counter[Result]:
    return Counter((row.left and row.left["id"], row.right and row.right["id"], row.join_time) for row in joined)


def cuts(scenario: Scenario) -> list[list[Batch]]:
    """All rows at once; left first; right first; one by one from the latest on."""
    left, right = rows(scenario.left), rows(scenario.right)
    single = [([row], []) for row in left] + [([], [row]) for row in right]
    single.sort(key=lambda batch: -[*batch[0], *batch[1]][0]["ts"])
    return [
        [Batch(*batch, watermark=None) for batch in cut]
        for cut in ([(left, right)], [(left, []), ([], right)], [([], right), (left, [])], single)
    ]


@pytest.mark.parametrize(("scenario", "how"), EVERY)
def test_everybody_meets_whom_the_table_says(scenario: Scenario, how: How) -> None:
    predicate = parse(scenario.on, SCHEMA, SCHEMA)
    plan = Plan(predicate.require_worker(), scenario.window, ARROW, ARROW, how)
    for batches in cuts(scenario):
        law = reference.join(batches, predicate, scenario.window, how, ended=True).rows
        worker, found = Worker(plan), []
        for batch in batches:
            sides = [
                [to_block(plan, side, part)] if part else [] for side, part in (("l", batch.left), ("r", batch.right))
            ]
            found += to_joined(plan, worker.process(*sides, batch.watermark))
        found += to_joined(plan, worker.finish())
        for mine in (law, found):
            assert scenario.agrees(how, results(mine))


def test_an_inverted_interval_is_refused() -> None:
    with pytest.raises(StreamJoinError, match="between: "):
        sj.between(us(5), us(2))


@pytest.mark.parametrize("how", HOWS)
def test_a_row_at_the_watermark_is_admitted_and_one_before_it_is_late(how: How) -> None:
    plan = Plan(parse(KEYS, SCHEMA, SCHEMA), sj.within(us(10)), ARROW, ARROW, how)
    worker = Worker(plan)
    early = [to_block(plan, "r", rows([(3, 100, 1, "a")]))]
    found = to_joined(plan, worker.process([], early, None))
    late = [to_block(plan, "l", rows([(1, 99, 1, "a"), (2, 100, 1, "a")]))]
    found += to_joined(plan, worker.process(late, [], 100))
    assert worker.last.late_left == 1
    found += to_joined(plan, worker.finish())
    met = {"left_semi": Counter({(2, None, 100): 1}), "left_anti": Counter()}
    assert results(found) == met.get(how, Counter({(2, 3, 100): 1}))


@pytest.mark.parametrize("how", ["left", "right", "full"])
def test_who_waits_is_counted_across_restarts(how: How, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of a preserved side that are in no result yet; pages of flags are small, so that many are dropped."""
    monkeypatch.setattr(flags, "PAGE", 8)
    random = np.random.default_rng(len(how))
    plan = Plan(parse(KEYS, SCHEMA, SCHEMA), sj.within(us(10)), ARROW, ARROW, how)
    worker, state = Worker(plan), StateStore()
    came: dict[str, set[int]] = {"l": set(), "r": set()}
    decided: dict[str, set[int]] = {"l": set(), "r": set()}
    for batch in range(60):
        told = [
            [
                (100 * batch + k, 3 * batch + int(random.integers(0, 9)), int(random.integers(0, 4)), "a")
                for k in range(4)
            ]
            for _ in "lr"
        ]
        blocks = [[to_block(plan, side, rows(part))] for side, part in zip("lr", told, strict=True)]
        found = to_joined(plan, worker.process(*blocks, 3 * batch))
        for side, part in zip("lr", told, strict=True):
            came[side] |= {row[0] for row in part}
        decided["l"] |= {row.left["id"] for row in found if row.left}
        decided["r"] |= {row.right["id"] for row in found if row.right}
        waiting = {side: len(came[side] - decided[side]) if plan.preserves(side) else 0 for side in "lr"}
        assert (worker.size.undecided_left, worker.size.undecided_right) == (waiting["l"], waiting["r"])
        if batch % 3 == 0:
            state.save(worker)
            worker = state.restore(plan)
    list(worker.finish())
    assert (worker.size.undecided_left, worker.size.undecided_right) == (0, 0)
