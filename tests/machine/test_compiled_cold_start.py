"""Compiled code kept on disk: many processes at once on an empty cache, damage, places that cannot be written to."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from streamjoin.compile import modules, ondisk

SOMEBODY = 54321
SCRIPT = """
import json, os, sys, time
import numpy as np
from streamjoin.predicate import Schema, parse

limit = int(sys.argv[1])
predicate = parse(f"l.x * r.a <= {limit}", Schema({"x": "int"}), Schema({"a": "int"}))
started = time.perf_counter()
from streamjoin.compile import modules
from streamjoin.operators.compiled import CompiledCheck, new_cursor

if sys.argv[-1] == "54321":  # once all is imported that is imported late: another user may not read where it lies
    import numba, pyarrow.compute
    numba.njit("int64(int64[:])", error_model="numpy")(lambda a: max(a.size, min(a[0], 1)) * abs(a[0]) // 3)
    os.setuid(54321)

check = CompiledCheck([conjunct.exact for conjunct in predicate.conjuncts])
x, a = np.arange(100, dtype=np.int32), np.arange(50, dtype=np.int32)
li, ri = (side.ravel() for side in np.meshgrid(np.arange(100), np.arange(50), indexing="ij"))
pairs = int(check.pairs([(x, None)], [(a, None)], li, ri).sum())
first = time.perf_counter() - started
nested = 0
if "nested" in sys.argv:
    for side, rows, other in (("l", 100, 50), ("r", 50, 100)):
        bounds = np.zeros(rows, np.int64), np.full(rows, 10**6), np.arange(other)
        cursor, out = new_cursor(), np.empty((2, 64), np.int64)
        while cursor[0] >= 0:
            nested += check.nested(side, [(x, None)], [(a, None)], *bounds, *out, cursor)
loaded = list(modules._LOADED.values())
print(json.dumps({
    "pairs": pairs,
    "nested": nested,
    "compiled": sum(sum(f.stats.cache_misses.values()) for f in loaded),
    "directories": sorted({f.stats.cache_path for f in loaded}),
    "seconds": first,
}))
"""


def expected(limit: int) -> int:
    return sum(x * a <= limit for x in range(100) for a in range(50))


def start(limit: int = 10, *more: str, user: int | None = None, **environment: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", SCRIPT, str(limit), *more, *([str(user)] if user else [])]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "XDG_", "STREAMJOIN_"))}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, env=kept | environment, text=True, **pipes)


def finish(process: "subprocess.Popen[str]", said: str = "") -> dict[str, Any]:
    """What a process found; it said this on the way, or nothing."""
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert said in err if said else not err
    found: dict[str, Any] = json.loads(out)
    return found


def inside(found: dict[str, Any], directory: Path) -> bool:
    return all(Path(path).is_relative_to(directory) for path in found["directories"])


def test_the_second_process_only_loads_whatever_its_constants(tmp_path: Path) -> None:
    elsewhere = tmp_path / "numba"
    cache = {"STREAMJOIN_CACHE_DIR": str(tmp_path / "cache"), "NUMBA_CACHE_DIR": str(elsewhere)}
    first, second = (finish(start(limit, "nested", **cache)) for limit in (10, 20))
    assert (first["pairs"], first["nested"], first["compiled"]) == (expected(10), 2 * expected(10), 3)
    assert (second["pairs"], second["nested"], second["compiled"]) == (expected(20), 2 * expected(20), 0)
    assert inside(first, tmp_path / "cache")
    assert not elsewhere.exists()


@pytest.mark.slow
def test_twenty_processes_at_once_on_an_empty_cache(tmp_path: Path) -> None:
    """All of one structure, with constants of their own; one compiles, the others wait for it."""
    running = [start(limit, "nested", STREAMJOIN_CACHE_DIR=str(tmp_path)) for limit in range(20)]
    found = [finish(process) for process in running]
    assert [(f["pairs"], f["nested"]) for f in found] == [(expected(n), 2 * expected(n)) for n in range(20)]
    assert sum(f["compiled"] for f in found) == 3


def test_damaged_files_are_compiled_anew(tmp_path: Path) -> None:
    cache = {"STREAMJOIN_CACHE_DIR": str(tmp_path)}
    assert finish(start(**cache))["compiled"] == 1
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    not_even_a_pickle = ondisk.digest(b"?") + b"?"
    for damaged in (whole[: len(whole) // 2], whole[:-1] + b"?", b"", not_even_a_pickle):
        file.write_bytes(damaged)
        found = finish(start(**cache))
        assert (found["pairs"], found["compiled"]) == (expected(10), 1), damaged[:20]
    assert finish(start(**cache))["compiled"] == 0


def test_what_was_not_used_for_longest_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STREAMJOIN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(ondisk, "_MOST", 2)

    def load(number: int) -> int:
        """How many were compiled for it."""
        monkeypatch.setattr(modules, "_LOADED", {})
        entry: Any = modules.load(f"@on_disk('int64()')\ndef entry():\n    return {number}\n", "entry")
        assert entry() == number
        return sum(entry.stats.cache_misses.values())

    assert [load(number) for number in (1, 2, 1, 3)] == [1, 1, 0, 1]
    assert len(list(tmp_path.iterdir())) == 2  # no locks are left
    assert [load(number) for number in (1, 3, 2)] == [0, 0, 1]


def test_homes_that_cannot_be_written_to_do_not_matter(tmp_path: Path) -> None:
    """A file in the place of the directory, as root may write into any that is only read-only."""
    occupied, temporary = tmp_path / "occupied", tmp_path / "tmp"
    occupied.write_text("")
    temporary.mkdir()
    place = {"HOME": str(occupied / "home"), "TMPDIR": str(temporary), "STREAMJOIN_CACHE_DIR": str(occupied / "cache")}
    first, second = (finish(start(**place), "Not a directory") for _ in range(2))
    assert (first["pairs"], first["compiled"]) == (expected(10), 1)
    assert (second["pairs"], second["compiled"]) == (expected(10), 0)
    assert inside(first, temporary)


@pytest.fixture
def open_path() -> Iterator[Path]:
    """A directory that other users may read, which those of pytest are not."""
    with tempfile.TemporaryDirectory() as path:
        Path(path).chmod(0o755)
        yield Path(path)


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_directory_that_can_only_be_read_serves_as_far_as_it_goes(open_path: Path) -> None:
    """Root has warmed an image, another user runs: what is there is loaded, what is not goes to the user's own."""
    image, home = open_path / "image", open_path / "home"
    home.mkdir()
    os.chown(home, SOMEBODY, SOMEBODY)
    image.mkdir(mode=0o755)
    assert finish(start(STREAMJOIN_CACHE_DIR=str(image)))["compiled"] == 1
    before = {file: file.stat().st_mtime_ns for file in image.iterdir()}
    own = {"STREAMJOIN_CACHE_DIR": str(image), "HOME": str(home)}
    assert finish(start(user=SOMEBODY, **own))["compiled"] == 0
    assert {file: file.stat().st_mtime_ns for file in image.iterdir()} == before
    found = finish(start(10, "nested", user=SOMEBODY, **own))
    assert found["compiled"] == 2
    assert inside(found, home)
    assert finish(start(10, "nested", user=SOMEBODY, **own))["compiled"] == 0


@pytest.mark.parametrize("asked_for", [False, True], ids=["usual", "asked for"])
def test_a_directory_that_others_may_write_to_is_not_trusted(tmp_path: Path, asked_for: bool) -> None:
    shared = tmp_path / f"streamjoin-code-{os.geteuid()}"
    shared.mkdir()
    shared.chmod(0o777)
    own = tmp_path / "own"
    place = {"HOME": str(own)} if asked_for else {"HOME": "/dev/null", "TMPDIR": str(tmp_path)}
    process = start(**place, **({"STREAMJOIN_CACHE_DIR": str(shared)} if asked_for else {}))
    out, err = process.communicate(timeout=300)
    found = json.loads(out)
    assert found["pairs"] == expected(10)
    assert not list(shared.iterdir())
    assert err.count("may be written to by others (mode 777)") == 1
    assert (f"kept in {own}" if asked_for else "compiled by each process anew") in err
    assert found["directories"] == [str(own / ".cache" / "streamjoin") if asked_for else ""]
