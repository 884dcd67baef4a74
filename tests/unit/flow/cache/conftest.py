"""What tests of the segment cache share: a process that has served no query, and a place for the cache."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamjoin.flow.cache import CacheSpec, budget, directory, segments
from tests.unit.flow.cache.cells import PLENTY


@pytest.fixture(autouse=True)
def fresh_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As in a Python worker that has not yet served any query."""
    for module, name in ((segments, "_verified"), (segments, "_warned"), (budget, "_sizes")):
        monkeypatch.setattr(module, name, {})
    monkeypatch.setattr(directory, "_locks", locks := {})
    yield
    for lock in locks.values():
        os.close(lock)


@pytest.fixture
def spec(tmp_path: Path) -> CacheSpec:
    return CacheSpec(str(tmp_path / "cache"), PLENTY)
