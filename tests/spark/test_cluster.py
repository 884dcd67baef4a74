"""A cluster whose hosts lack streamjoin: the package comes with the job, as docs/guides/cluster.md says."""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pyspark
import pytest

from tests.spark.filejoin import expected, write_inputs
from tests.spark.processes import ROOT, cluster, running

SUBMIT = str(Path(pyspark.__file__).parent / "bin" / "spark-submit")


def make_python(home: Path) -> Path:
    """A Python with all that streamjoin needs, and without it: what its .pth file leads to is not looked up."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    packages = [path for path in sys.path if path.endswith("site-packages")]
    place = next(home.glob("lib/python*/site-packages"))
    (place / "dependencies.pth").write_text("\n".join(packages))
    python = home / "bin" / "python"
    alone = os.environ | {"PYTHONPATH": ""}
    imports = [[str(python), "-c", f"import {name}"] for name in ("pyspark", "streamjoin")]
    tried = [subprocess.run(each, cwd=home, env=alone) for each in imports]
    assert [done.returncode for done in tried] == [0, 1], "it should have the dependencies alone"
    return python


def build_wheel(home: Path) -> Path:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet", "--no-deps"]
    subprocess.run([*command, "--wheel-dir", str(home), str(ROOT)], check=True)
    return next(home.glob("streamjoin-*.whl"))


@pytest.mark.slow
def test_a_wheel_shipped_by_py_files_joins_where_nobody_installed_it(tmp_path: Path) -> None:
    wheel = build_wheel(tmp_path)
    archive = wheel.rename(tmp_path / "streamjoin.zip")  # Spark puts .zip on the path of Python, and not .whl
    python, cache = make_python(tmp_path / "bare"), tmp_path / "code"
    cache.mkdir(mode=0o700)
    write_inputs(tmp_path, files=2, rows=60)
    own = {"PYTHONPATH": "", "PYSPARK_PYTHON": str(python)}
    conf = {
        "spark.driver.host": "127.0.0.1",
        "spark.executor.memory": "512m",
        "spark.executorEnv.STREAMJOIN_CACHE_DIR": str(cache),
        "spark.sql.session.timeZone": "UTC",
    }
    with cluster(tmp_path / "cluster", **own) as (url, _):
        told = [part for name, value in conf.items() for part in ("--conf", f"{name}={value}")]
        command = [SUBMIT, "--master", url, "--py-files", str(archive), *told, str(ROOT / "tests/spark/shipped.py")]
        with running([*command, str(tmp_path), str(cache)], tmp_path / "submit.log", **own) as program:
            program.finish()
            said = re.search(r"^shipped: (.*)$", program.said, re.MULTILINE)
    assert said is not None
    found = json.loads(said[1])
    assert all("streamjoin.zip" in place for place in (found["driver"], *found["tasks"])), found
    first, second = found["compiled"]
    assert first, "nothing was compiled"
    assert second == first, "what was compiled on this host is compiled once"
    wanted = Counter((left, right) for left, right, _ in expected(tmp_path).elements())
    for name in ("first", "second"):
        rows = pq.read_table(tmp_path / name)  # no task failed, so all files are of the result
        assert Counter(zip(rows["l"].to_pylist(), rows["r"].to_pylist(), strict=True)) == wanted
