"""Kernels on a machine that has compiled none: each is compiled once, whoever comes first, a join's own ahead."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FINDS_PAIRS = '''
import json, sys
import numpy as np, pyarrow as pa
from streamjoin import within
from streamjoin.compile import modules
from streamjoin.kernel import buckets, codes, intervals, levenshtein, nested, ordered, pairs, ruler, strings, visit
from streamjoin.match import Matcher
from streamjoin.match.warm import warm_join
from streamjoin.pane import KeyColumn, Rows, Segment
from streamjoin.predicate import Schema, parse
from streamjoin.operators.statements import dtype_of

schema = Schema({"ts": "timestamp", "x": "int", "y": "float", "b": "bigint", "s": "string"})
n = 2000

def rows(predicate, side, rng=None, size=n):
    number = np.arange(size) if rng is None else rng.permutation(size)
    columns = {"x": number.astype(np.int32), "y": number.astype(np.float32), "b": number, "s": number}
    def column(key):
        name = key.arg.path[0]
        exact = pa.array([f"text {k}" for k in number]) if name == "s" else None
        column = columns[name].astype(dtype_of(key.type))
        column.flags.writeable = False  # as those that Arrow hands over
        return KeyColumn(column, None, exact)
    keys = tuple(column(key) for key in predicate.keys(side))
    time = np.zeros(size, np.int64) if rng is None else np.sort(rng.integers(0, 3_000_000, size))
    return Rows(time, keys, pa.record_batch([pa.array(np.arange(size))], ["id"]))

def compiled():
    """What Numba did not find on disk."""
    modules_of_kernels = (buckets, codes, intervals, levenshtein, nested, ordered, pairs, ruler, strings, visit)
    kernels = [f for module in modules_of_kernels for f in vars(module).values()]
    found = {id(f): f for f in [*kernels, *modules._LOADED.values()] if hasattr(f, "stats")}
    misses = [(f.__name__, types, n) for f in found.values() for types, n in f.stats.cache_misses.items()]
    return [f"{name}{types}" for name, types, n in misses for _ in range(n)]
'''
EVERY_KERNEL = (
    FINDS_PAIRS
    + """
found = []
for on in ("abs(l.x - r.x) <= 1 AND abs(l.y - r.y) <= 1", "l.b = r.b", "l.b < r.b"):
    predicate = parse(on, schema, schema)
    for kernel in ("buckets", "nested", "ordered"):
        matcher = Matcher(predicate, within("1 second"), kernel=kernel)
        segment = matcher.prepare("r", Segment("s", rows(predicate, "r")))
        found.append(sum(len(p.probe) for p in matcher.pairs("l", rows(predicate, "l"), segment)))
print(json.dumps({"found": found, "compiled": compiled()}))
"""
)
FOUND = [5998] * 3 + [2000] * 3 + [1999000] * 3
ONE_JOIN = (
    FINDS_PAIRS
    + """
predicate, window = parse(sys.argv[2], schema, schema).require_worker(), within("1 second")
if sys.argv[1] == "warm":
    warm_join(predicate, window)
found, rng = 0, np.random.default_rng(1)
if sys.argv[1] == "join":
    matcher = Matcher(predicate, window)
    for size in (20, 500, 5000):
        for probe, build in (("l", "r"), ("r", "l")):
            segment = matcher.prepare(build, Segment("s", rows(predicate, build, rng, size)))
            found += sum(len(p.probe) for p in matcher.pairs(probe, rows(predicate, probe, rng, size), segment))
print(json.dumps({"found": found, "compiled": compiled()}))
"""
)


def start(program: str, cache: Path, *arguments: str) -> "subprocess.Popen[str]":
    environment = os.environ | {"STREAMJOIN_CACHE_DIR": str(cache), "NUMBA_CACHE_DIR": str(cache / "not used")}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-c", program, *arguments], env=environment, text=True, **pipes)


def finish(process: "subprocess.Popen[str]") -> dict[str, Any]:
    out, error = process.communicate(timeout=600)
    assert process.returncode == 0, error
    found: dict[str, Any] = json.loads(out)
    return found


@pytest.mark.parametrize("processes", [3, pytest.param(20, marks=pytest.mark.slow)])
def test_each_kernel_is_compiled_once_whatever_starts_at_once(tmp_path: Path, processes: int) -> None:
    together = [finish(process) for process in [start(EVERY_KERNEL, tmp_path) for _ in range(processes)]]
    assert all(one["found"] == FOUND for one in together)
    files = [path.suffix for path in tmp_path.iterdir()]
    assert set(files) == {".code"}
    assert sum(len(one["compiled"]) for one in together) == len(files)
    alone = finish(start(EVERY_KERNEL, tmp_path))
    assert (alone["found"], alone["compiled"]) == (FOUND, [])


@pytest.mark.parametrize(
    "on",
    [
        pytest.param("abs(l.x - r.x) <= 10 AND abs(l.y - r.y) <= 10", id="two bands", marks=pytest.mark.slow),
        pytest.param("l.s = r.s", id="equal strings", marks=pytest.mark.slow),
        pytest.param("l.b <= r.b AND l.x = r.x", id="one end", marks=pytest.mark.slow),
        pytest.param("l.x * r.b % 7 = 3", id="compiled", marks=pytest.mark.slow),
        pytest.param(
            "l.x = r.x AND (startswith(l.s, r.s) OR levenshtein(l.s, r.s) <= 1)",
            id="string functions",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_join_finds_compiled_what_was_warmed_for_it(tmp_path: Path, on: str) -> None:
    assert finish(start(ONE_JOIN, tmp_path, "warm", on))["compiled"]
    joined = finish(start(ONE_JOIN, tmp_path, "join", on))
    assert joined["found"] > 0
    assert not joined["compiled"]


@pytest.mark.slow
def test_kernels_without_the_compiler() -> None:
    """The same kernels as plain Python: what they compute does not depend on how Numba compiles them."""
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
