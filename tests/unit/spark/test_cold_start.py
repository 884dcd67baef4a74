"""What Spark's Python processes load before they have anything to join."""

import json
import subprocess
import sys

import pytest

HEAVY = ("numba", "llvmlite", "streamjoin.worker", "streamjoin.match", "streamjoin.kernel", "sqlglot")
JOB = """
import pyarrow as pa
from streamjoin import Grid, within
from streamjoin.flow.cache import CacheSpec
from streamjoin.flow.checkpoint import CheckpointKey
from streamjoin.flow.job import Job, KeySource, Source
from streamjoin.plan import Plan
from streamjoin.predicate import Schema, parse
from streamjoin.spark.job import pack_job

schema, names = pa.schema([("x", pa.int32())]), Schema({"x": "int"})
plan = Plan(parse("abs(l.x - r.x) <= 1", names, names), within("1 minute"), schema, schema)
source = Source((0,), (KeySource(plan.keys["l"][0].type, 0),), 1, 1)
job = Job("join", CheckpointKey({}, {}), plan, Grid(1, 1), 1, {"l": source, "r": source}, CacheSpec("", None))
print(pack_job(job).hex())
"""
EMITTER = """
import pyarrow as pa
from streamjoin.spark.emitter import emit_batches

rows = pa.record_batch({"c0": pa.array([1], pa.int32()), "c1": pa.array([0])})
assert sum(batch.num_rows for batch in emit_batches(packed, "l", iter([rows]))) == 3
"""
COLLECTOR = "from streamjoin.spark.collector import collect, settle_batches"
DECLARING = """
from streamjoin.spark.processor import CellProcessor
from unittest.mock import Mock
CellProcessor(packed).init(Mock())
"""


def run(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def packed() -> str:
    return run(JOB).strip()


@pytest.mark.parametrize("program", [EMITTER, COLLECTOR, DECLARING], ids=["emitter", "collector", "declaring"])
def test_no_compiler_and_no_matcher_is_loaded(packed: str, program: str) -> None:
    told = f"packed = bytes.fromhex({packed!r})\n{program}\nimport json, sys\nprint(json.dumps(list(sys.modules)))"
    assert not {*HEAVY} & {*json.loads(run(told))}


def test_a_cell_without_numba_says_what_to_install(packed: str) -> None:
    said = run(f"""
import sys
sys.modules["numba"] = None
from streamjoin import StreamJoinError
from streamjoin.spark.job import unpack_job
try:
    unpack_job(bytes.fromhex({packed!r}), "streamjoin.flow.cell")
except StreamJoinError as error:
    print(error)
""")
    for part in ("cannot run streamjoin", "numba", "pip install", "PYSPARK_PYTHON"):
        assert part in said
    assert said.count("\n") == 1
