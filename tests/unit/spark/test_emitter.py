"""Record batches of an emitter are of bounded size, however many cells a block goes to."""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from streamjoin import Grid, Scale, within
from streamjoin.flow.cache import CacheSpec
from streamjoin.flow.checkpoint import CheckpointKey
from streamjoin.flow.emit import emit
from streamjoin.flow.job import Job, KeySource, Source
from streamjoin.layout import Layout, fit_plan
from streamjoin.pane import Segment
from streamjoin.plan import Plan
from streamjoin.predicate import Schema, parse
from streamjoin.spark import emitter
from streamjoin.spark.emitter import BATCH_BYTES, to_batches
from streamjoin.spark.placement import cell_keys

INT = Schema({"x": "int"})
PAYLOAD = pa.schema([("text", pa.string())])
SMALL = 20_000


def job(layout: Layout) -> Job:
    plan = Plan(parse("abs(l.x - r.x) <= 1", INT, INT), within("1 minute"), PAYLOAD, PAYLOAD)
    source = Source((0,), (KeySource(plan.keys["l"][0].type, 1),), time=2, route=3)
    cache = CacheSpec("", None)
    key = CheckpointKey({}, {})
    return Job("join", key, fit_plan(layout, plan), layout, layout.cells, {"l": source, "r": source}, cache)


def send(job: Job, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    keys = cell_keys(job.layout.cells, job.partitions)
    for records in emit(job, "l", iter([rows]), 0):
        yield from to_batches(records, keys)


def rows(count: int, width: int) -> pa.RecordBatch:
    numbers = np.arange(count)
    text = pa.array([f"{number:0{width}}" for number in range(count)])
    return pa.record_batch(
        {"c0": text, "c1": numbers.astype(np.int32), "c2": numbers, "c3": np.random.default_rng(1).permutation(numbers)}
    )


def records(batches: Iterator[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    for batch in batches:
        yield from batch.to_pylist()


@pytest.mark.parametrize("layout", [Scale(16), Grid(1, 16)], ids=str)
@pytest.mark.parametrize("most", [SMALL, 1], ids=["several blocks", "one block"])
def test_batches_stay_within_the_bound_and_hold_every_copy_once(
    monkeypatch: pytest.MonkeyPatch, layout: Layout, most: int
) -> None:
    told, given = job(layout), rows(500, 40)
    whole = list(records(send(told, given)))
    monkeypatch.setattr(emitter, "BATCH_BYTES", most)
    batches = list(send(told, given))
    sizes = [[block.as_buffer().size for block in batch["block"] if block.is_valid] for batch in batches]
    assert all(sum(blocks) <= most or len(blocks) == 1 for blocks in sizes)
    assert all(sum(blocks) + following[0] > most for blocks, following in pairwise(sizes[:-1]))  # none in vain
    assert len(batches) > 5
    assert list(records(iter(batches))) == whole
    texts = Counter(
        text
        for record in whole
        if record["block"]
        for text in Segment.from_bytes(record["block"], "").rows.payload["text"].to_pylist()
    )
    assert texts == dict.fromkeys(given["c0"].to_pylist(), 16)
    assert {record["cell"] for record in whole if record["block"] is None} == {
        *cell_keys(told.layout.cells, told.partitions).values()
    }


def test_copies_that_pass_2_gib_together_are_sent() -> None:
    sent, total = 0, 0
    for batch in send(job(Scale(256)), rows(8192, 1024)):
        assert batch.nbytes <= 1.1 * BATCH_BYTES
        total += batch.nbytes
        sent += batch.num_rows - batch["block"].null_count
    assert total > 2**31
    assert sent == 256 * 256
