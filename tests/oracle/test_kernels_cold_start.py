"""Twenty processes that start at once with no compiled kernels on disk all find the right pairs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import numpy as np, pyarrow as pa
from streamjoin import within
from streamjoin.match import Matcher
from streamjoin.pane import KeyColumn, Rows, Segment
from streamjoin.predicate import Schema, parse

schema = Schema({"ts": "timestamp", "x": "int", "y": "float", "b": "bigint"})
n = 2000
def rows(predicate, side):
    columns = {"x": np.arange(n, dtype=np.int32), "y": np.arange(n, dtype=np.float32), "b": np.arange(n)}
    keys = tuple(KeyColumn(columns[key.arg.path[0]]) for key in predicate.keys(side))
    return Rows(np.zeros(n, np.int64), keys, pa.record_batch([pa.array(np.arange(n))], ["id"]))
for on in ("abs(l.x - r.x) <= 1 AND abs(l.y - r.y) <= 1", "l.b = r.b", "l.b < r.b"):
    predicate = parse(on, schema, schema)
    for kernel in ("grid", "nested", "ordered"):
        matcher = Matcher(predicate, within("1 second"), kernel=kernel)
        segment = matcher.prepare("r", Segment("s", rows(predicate, "r")))
        print(sum(len(p.probe) for p in matcher.pairs("l", rows(predicate, "l"), segment)))
"""
WANTED = [5998] * 3 + [2000] * 3 + [1999000] * 3


@pytest.mark.slow
def test_twenty_processes_on_a_cold_cache(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(tmp_path / "numba"),
        "STREAMJOIN_CACHE_DIR": str(tmp_path / "own"),
    }
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", SCRIPT], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(20)
    ]
    for process in processes:
        out, error = process.communicate(timeout=600)
        assert process.returncode == 0, error
        assert [int(line) for line in out.split()] == WANTED


def test_kernels_without_the_compiler() -> None:
    """The same kernels as plain Python: what they compute does not hang on how Numba compiles them."""
    finished = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/unit/kernel"),
            *("-k", "not across_tiles and not many_probes", "-W", "ignore:overflow encountered:RuntimeWarning"),
        ],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "CI": ""},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout[-3000:]
