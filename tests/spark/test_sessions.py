"""Joins in sessions that users make for themselves; each in a process of its own, with nothing of ours set."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark import cloudpickle

from streamjoin.spark.compat import VERSION
from streamjoin.spark.emitter import emit_batches
from streamjoin.spark.java import ensure_java
from streamjoin.spark.remote import remote
from tests.spark.processes import PATIENCE_SECONDS, ROOT, SOURCES


def run_scenario(name: str, home: Path, *more: str, **environment: str) -> None:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYSPARK_", "SPARK_", "STREAMJOIN_"))}
    ours = {
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(SOURCES), os.environ.get("PYTHONPATH", "")]),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "JAVA_HOME": str(ensure_java()),
        "PYTHONWARNINGS": "ignore",
        "SPARK_SUBMIT_OPTS": os.environ["SPARK_SUBMIT_OPTS"],
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.sessions", name, str(home), *more],
        cwd=home,  # where a plain session leaves its warehouse
        env=kept | ours | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]
    assert "all is well" in done.stdout


FOREIGN = pytest.param("foreign", marks=(pytest.mark.every_spark, pytest.mark.slow))  # CI runs it on the oldest Spark


@pytest.mark.parametrize("name", ["plain", FOREIGN])
def test_a_session_of_the_users_own(name: str, tmp_path: Path) -> None:
    run_scenario(name, tmp_path, PYSPARK_PYTHON=sys.executable)


def test_our_session_keeps_what_spark_submit_and_a_running_session_say(tmp_path: Path) -> None:
    said = "--master local[1] --conf spark.sql.shuffle.partitions=3 --conf spark.ui.enabled=true pyspark-shell"
    run_scenario("submitted", tmp_path, PYSPARK_PYTHON=sys.executable, PYSPARK_SUBMIT_ARGS=said)


@pytest.mark.slow
def test_a_stream_on_two_hundred_partitions(tmp_path: Path) -> None:
    run_scenario("plain", tmp_path, "200", PYSPARK_PYTHON=sys.executable)


def test_workers_with_another_python_are_told_before_the_query_starts(tmp_path: Path) -> None:
    bare = tmp_path / "bare" / "python3"
    bare.parent.mkdir()
    bare.write_text(f'#!/bin/sh\nPYTHONPATH= exec {sys.executable} -S -I "$@"\n')  # without site-packages
    bare.chmod(0o755)
    run_scenario("other_python", tmp_path, PATH=os.pathsep.join([str(bare.parent), os.environ["PATH"]]))


@pytest.mark.every_spark
@pytest.mark.skipif(VERSION < (4, 2), reason="Connect is supported from Spark 4.2 on")
@pytest.mark.guarantee
@pytest.mark.slow
def test_a_session_of_spark_connect(tmp_path: Path) -> None:
    pytest.importorskip("grpc")
    run_scenario("connect", tmp_path, PYSPARK_PYTHON=sys.executable)


def test_a_worker_that_lacks_us_says_which_python_it_is() -> None:
    """As on a cluster, whose hosts the driver knows nothing of."""
    program = f"""
import pickle, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "streamjoin":
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
function = pickle.loads({cloudpickle.dumps(remote(emit_batches, b"job", "l"))!r})
try:
    list(function(iter([])))
except RuntimeError as error:
    print(error)
"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    for part in (sys.executable, "cannot import streamjoin.spark.emitter", "PYSPARK_PYTHON", "pip install"):
        assert part in said


def test_what_is_sent_finds_its_function_where_it_runs() -> None:
    function = pickle.loads(cloudpickle.dumps(remote(emit_batches, b"job", "l")))
    with pytest.raises(pickle.UnpicklingError):  # of the job, so it got there
        list(function(iter([])))
