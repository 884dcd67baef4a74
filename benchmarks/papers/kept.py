"""Results as files, one an experiment: what is there already is not measured again."""

import json
import os
import platform
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.bench import find_commit, find_processor
from benchmarks.papers.experiment import Experiment

PACKAGES = ("streamjoin", "numba", "numpy", "pyarrow", "pyspark", "polars", "duckdb")


@dataclass(frozen=True)
class Kept:
    """One experiment's results, and the circumstances."""

    name: str
    quick: bool
    parameters: dict[str, Any]
    found: dict[str, Any]
    seconds: float
    circumstances: dict[str, Any]


class Results:
    """A directory of results."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def read(self, experiment: Experiment, quick: bool | None = None) -> Kept | None:
        """What is kept of an experiment; with `quick`, only if it was measured so, with today's parameters."""
        path = self._path(experiment)
        try:
            kept = Kept(**json.loads(path.read_text()))
        except (OSError, ValueError, TypeError):
            return None
        if quick is None:
            return kept
        asked = _plain(experiment.quick if quick else experiment.full)
        return kept if kept.quick == quick and kept.parameters == asked else None

    def write(self, experiment: Experiment, quick: bool, found: dict[str, Any], seconds: float) -> Kept:
        """Keep results; a file is there whole or not at all."""
        parameters = _plain(experiment.quick if quick else experiment.full)
        kept = Kept(experiment.name, quick, parameters, _plain(found), seconds, describe())
        self.home.mkdir(parents=True, exist_ok=True)
        draft = self._path(experiment).with_suffix(".draft")
        draft.write_text(json.dumps(vars(kept), indent=1))
        draft.replace(self._path(experiment))
        return kept

    def _path(self, experiment: Experiment) -> Path:
        return self.home / f"{experiment.name}.json"


def _plain(data: dict[str, Any]) -> Any:
    return json.loads(json.dumps(data))


def describe() -> dict[str, Any]:
    """Machine, versions, commit and time."""
    return {
        "processor": find_processor(),
        "cores": os.cpu_count() or 1,
        "load": round(os.getloadavg()[0], 1),
        "system": platform.system(),
        "Python": platform.python_version(),
        "versions": {package: metadata.version(package) for package in PACKAGES},
        "commit": find_commit(),
        "at": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }
