"""A window of ten million rows a side costs the memory of its columns and its index, and little more."""

import json
import subprocess
import sys

import pytest

SCRIPT = """
import gc, json, resource
import numpy as np, pyarrow as pa
from streamjoin import within
from streamjoin.pane import KeyColumn, Rows
from streamjoin.predicate import Schema, parse
from streamjoin.plan import Block, Plan
from streamjoin.worker import Worker

ROWS, PARTS, SPAN = 10_000_000, 50, 900_000_000
schema = Schema({"ts": "timestamp", "x": "int", "y": "float"})
payload = pa.schema([("id", pa.int64())])
predicate = parse("abs(l.x - r.x) <= 10 AND abs(l.y - r.y) <= 10", schema, schema)
worker = Worker(Plan(predicate, within("15 minutes"), payload, payload), journal=False)
rng = np.random.default_rng(1)

def block(n, first, last):
    keys = KeyColumn(rng.integers(0, 30_000, n, np.int32)), KeyColumn(rng.uniform(0, 30_000, n).astype(np.float32))
    time = np.linspace(first, last, n, endpoint=False).astype(np.int64)
    ids = pa.record_batch([pa.array(rng.integers(0, 2**40, n))], schema=payload)
    return Block(Rows(time, keys, ids), probes=np.zeros(n, np.bool_))

def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()

list(worker.process(block(10, 0, 1), block(10, 0, 1)))  # everything is loaded
before = resident()
for part in range(2 * PARTS):  # twice the window: the first half expires
    first, last = part * SPAN // PARTS, (part + 1) * SPAN // PARTS
    list(worker.process(block(ROWS // PARTS, first, last), block(ROWS // PARTS, first, last), watermark=first))
segments = worker.list_segments()
print(json.dumps({
    "live": worker.size.live_left + worker.size.live_right,
    "columns": (worker.size.live_left + worker.size.live_right) * 24,
    "index": sum(array.nbytes for segment in segments for array in segment.index.values()),
    "batch": 2 * ROWS // PARTS * 24,
    "held": worker.size.bytes,
    "resident": resident() - before,
}))
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads resident memory from /proc")
def test_ten_million_rows_a_side() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    said = json.loads(done.stdout)
    assert said["live"] >= 20_000_000
    allowed = 1.5 * said["columns"] + said["index"] + said["batch"]
    assert said["held"] <= allowed, said
    assert said["resident"] <= allowed + 200 * 2**20, said  # allocators keep some
