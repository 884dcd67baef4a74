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
from tests.simulation.faults import EVENTS, KINDS
from tests.simulation.history import make_history
from tests.simulation.joins import PLACES
from tests.simulation.planted import PLANTED, find_planted
from tests.simulation.process import CODE, MEMORY, OF_A_PLAN
from tests.simulation.run import Tally, run_history, run_seeds, workspace
from tests.simulation.shrink import shrink

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


@pytest.mark.slow  # CI runs it beside `make simulate`
@pytest.mark.parametrize("name", PLANTED)
def test_planted_faults_are_found(name: str, root: Path) -> None:
    assert find_planted(name, 1_000_000, root, most=1000) is not None


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
