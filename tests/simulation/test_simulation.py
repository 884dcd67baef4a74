"""Histories with everything that can go wrong: what comes out is what the reference says, and planted faults are found.

`make simulate` runs more of them, and one again by its seed.
"""

import importlib
import pkgutil
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

import streamjoin.flow
from streamjoin import flow, match, pane, worker
from streamjoin.spark import processor
from streamjoin.spark.processor import CellState
from tests.simulation import planted, reach
from tests.simulation.faults import EVENTS, KINDS, Hits, list_missing
from tests.simulation.history import make_history
from tests.simulation.joins import CONDITIONS, PLACES, WINDOWS
from tests.simulation.planted import PLANTED, choose_seed, find_planted
from tests.simulation.process import CODE, MEMORY, OF_A_PLAN
from tests.simulation.run import Tally, run_history, run_seeds, workspace
from tests.simulation.shrink import shrink
from tests.simulation.state import Handle

SEEDS = range(1, 401)


@pytest.fixture(scope="module")
def root() -> Iterator[Path]:
    with workspace() as directory:
        yield directory


def test_histories(root: Path) -> None:
    tally = Tally()
    failure = run_seeds(iter(SEEDS), tally, root)
    if failure is not None:
        seed = failure.history.seed
        smallest = shrink(failure, lambda history: run_history(history, root))
        pytest.fail(f"{smallest}\nTo run it again: make simulate SEED={seed}", pytrace=False)
    print(f"\n{tally}")  # noqa: T201 - shown by pytest -s
    assert {kind for kind, _, _ in tally.hits.counts} >= {*KINDS, *EVENTS}
    assert {(layout, how) for _, layout, how in tally.hits.counts} == PLACES
    assert {window for _, window, _ in tally.hits.conditions} == {*WINDOWS, "sliding"}
    assert {condition for _, _, condition in tally.hits.conditions} == set(CONDITIONS)


@pytest.mark.slow  # CI runs it beside `make simulate`
@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_found(name: str, root: Path) -> None:
    assert find_planted(name, choose_seed(name), root) is not None


@pytest.mark.planted
@pytest.mark.parametrize("seed", planted.SEEDS)
@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_found_from_each_seed(name: str, seed: int, root: Path) -> None:
    assert find_planted(name, seed, root) is not None


def test_what_was_never_hit_is_told() -> None:
    hits, join = Hits(), make_history(11).joins[0]
    hits.add("zombie", join)
    for counts, hit, other in (
        (hits.counts, (join.layout_kind, join.how), ("Cell", "no how")),
        (hits.conditions, (join.window_kind, join.condition_kind), ("last", "no condition")),
    ):
        missing = list_missing(counts, {hit, other})
        assert len(missing) == len(KINDS)
        assert f"  zombie: {' x '.join(other)}" in missing
    assert join.condition_kind in hits.table()


def test_cells_state_is_among_what_branches_are_told_of() -> None:
    branches, taken = reach.all_branches(), set[reach.Branch]()
    with reach.traced(taken):
        CellState(Handle({}, 0, lambda: None)).read_note()
    assert {path for path, _, _ in taken & branches} == {processor.__file__}


def test_a_seed_is_run_again_exactly(root: Path) -> None:
    assert make_history(11) == make_history(11) or repr(make_history(11)) == repr(make_history(11))
    tallies = [Tally(), Tally()]
    for tally in tallies:
        assert run_seeds(iter(range(11, 16)), tally, root) is None
    assert tallies[0].hits.counts == tallies[1].hits.counts


def test_a_failing_history_is_shrunk(root: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        PLANTED["a late row admitted"](patch)
        failure = run_seeds(count(1), Tally(), root)
        assert failure is not None
        smallest = shrink(failure, lambda history: run_history(history, root), seconds=20)
    assert smallest.history.rows < failure.history.rows
    assert len(smallest.history.faults) <= len(failure.history.faults)
    assert f"seed {failure.history.seed}" in str(smallest)


def test_all_that_modules_remember_dies_with_a_process() -> None:
    known = {(module.__name__, name) for module, name in MEMORY} | OF_A_PLAN | CODE
    found = set()
    for room in (flow, worker, match, pane, streamjoin.layout, streamjoin.plan):
        for info in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            module = importlib.import_module(info.name)
            for name, value in vars(module).items():
                holds = isinstance(value, dict | list | set) and name.startswith("_") and name.islower()
                if (holds and name[1:2] != "_") or (hasattr(value, "cache_info") and value.__module__ == info.name):
                    found.add((info.name, name))
    assert found <= known, f"add these to process.MEMORY: {found - known}"
