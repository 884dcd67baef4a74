"""What the task of one side sends: each row once a copy, headers, and blocks that can be read again."""

import subprocess
import sys
from collections import Counter
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from streamjoin import Grid, Scale, within
from streamjoin.flow.cache import CacheSpec
from streamjoin.flow.emit import PLAN_CELL, Sent, emit, read_block
from streamjoin.flow.job import Job
from streamjoin.flow.late import REASON
from streamjoin.flow.settle import unpack_results
from streamjoin.layout import Layout
from tests.properties.test_worker import plan_of
from tests.strategies import us
from tests.unit.flow.runtime import to_batch, to_job

ROWS = [{"ts": t, "x": 1, "y": 0.5} for t in (5, None, 3, 4, None)]


def job(layout: Layout) -> Job:
    return to_job(plan_of("l.x = r.a", within(us(9))), layout, CacheSpec("", None))


def send(layout: Layout, part: int = 0, block_rows: int = 10) -> list[Sent]:
    told = job(layout)
    groups = emit(told, "l", iter([to_batch(told, "l", ROWS[:2]), to_batch(told, "l", ROWS[2:])]), part, block_rows)
    return [record for records in groups for record in records]


def test_rows_without_a_time_are_counted_and_left_out() -> None:
    sent = send(Grid(1, 1))
    assert sum(record.invalid for record in sent) == 2
    [block] = [read_block(record) for record in sent if record.block is not None]
    assert block.rows.payload.column("ts").to_pylist() == block.time.tolist() == [5, 3, 4]


@pytest.mark.parametrize(
    ("bad", "reasons"), [(None, {"no time": 2}), ((None, 4), {"no time": 1, "bad value": 1})], ids=["untold", "told"]
)
def test_rows_without_a_time_say_whether_they_could_be_read(bad: Any, reasons: dict[str, int]) -> None:
    told = replace(job(Grid(1, 1)), keeps_late=True)
    batch = to_batch(told, "l", ROWS)
    if bad:
        batch = batch.append_column("bad", pa.array([at in bad for at in range(len(ROWS))]))
        left = replace(told.sources["l"], bad=batch.num_columns - 1)
        told = replace(told, sources={**told.sources, "l": left})
    sent = [record for records in emit(told, "l", iter([batch]), 0) for record in records]
    parts = [part for record in sent if record.is_kept for part in unpack_results(pa.py_buffer(record.block))]
    assert Counter(reason for part in parts for reason in part.column(REASON).to_pylist()) == reasons


@pytest.mark.parametrize("part", [0, 1])
def test_the_first_task_sends_every_cell_and_the_plan_s_a_header(part: int) -> None:
    headers = [record for record in send(Grid(2, 2), part) if record.block is None and not record.invalid]
    assert [header.cell for header in headers] == ([0, 1, 2, 3, PLAN_CELL] if part == 0 else [])


def test_blocks_are_numbered_and_bear_the_time_of_their_first_row() -> None:
    blocks = [record for record in send(Grid(1, 2), 7, block_rows=1) if record.block is not None]
    assert [(record.part, record.seq, record.since) for record in blocks] == [(7, 0, 5)] * 2 + [(7, 1, 3)] * 2


def test_a_block_says_whether_its_rows_probe_are_stored_and_are_counted() -> None:
    blocks = [read_block(record) for record in send(Scale(3)) if record.block is not None]
    stored = [block for block in blocks if block.stores is None]
    assert sum(map(len, stored)) == sum(len(block) for block in blocks if block.first is None) == 3
    assert sum(map(len, blocks)) == 9
    assert all(block.probes is None for block in blocks)
    assert not any(block.stores.any() for block in blocks if block.stores is not None)


@pytest.mark.parametrize("module", ["emit", "settle", "backfill", "checkpoint", "cache", "metrics", "state"])
def test_only_cells_load_the_worker(module: str) -> None:
    program = f"import sys, streamjoin.flow.{module}; print([*sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    for heavy in ("numba", "streamjoin.worker", "streamjoin.match", "pandas", "pyspark"):
        assert f"'{heavy}'" not in loaded
