"""The rows that wait in a checkpoint are those that cells emit once no row can come any more."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

from streamjoin import Grid, within
from streamjoin.errors import StreamJoinError
from streamjoin.flow.cache import CacheSpec
from streamjoin.flow.emit import PLAN_CELL
from streamjoin.flow.settle import Answer, settle, unpack_results
from streamjoin.plan import Plan
from streamjoin.predicate import Schema, parse
from streamjoin.reference import Batch
from streamjoin.spark import processor, stored
from streamjoin.spark.job import pack_job
from streamjoin.spark.placement import cell_keys
from streamjoin.spark.processor import list_chunks
from streamjoin.spark.stored import finish_cells
from tests.blocks import arrow_schema
from tests.unit.flow.runtime import Contents, Runtime, to_job

SCHEMA = Schema({"ts": "bigint", "x": "int"})
ENDED = 10**12
LEFT = [{"ts": 1_000_000 * t, "x": t % 3} for t in range(9)]
RIGHT = [{"ts": 1_000_000 * t, "x": t % 4} for t in range(9)]
ROWS = pa.schema([("key", pa.int32()), ("plan", pa.string()), *((n, pa.binary()) for n in ("worker", "cell"))])
ROWS = ROWS.append(pa.field("name", pa.string())).append(pa.field("content", pa.binary()))


def to_rows(key: int, state: Contents, chunk: int) -> list[tuple[object, ...]]:
    """The state of a cell as Spark's source for state gives it, large contents in pieces."""
    assert state.note is not None
    chunks = {name: -(-len(content) // chunk) for name, content in state.values.items() if len(content) > chunk}
    noted = json.dumps({"chunks": chunks}).encode()
    rows: list[tuple[object, ...]] = [(key, state.note.key, state.note.manifest, noted, None, None)]
    for name, content in state.values.items():
        for number, piece in enumerate(list_chunks(name, chunks)):
            rows.append((key, None, None, None, piece, content[number * chunk : (number + 1) * chunk]))
    return rows


@pytest.mark.parametrize("chunk", [processor.CHUNK_BYTES, 100])
@pytest.mark.parametrize("layout", [Grid(1, 2), Grid(2, 2)], ids=str)
@pytest.mark.parametrize("how", ["left", "full"])
def test_what_waits_in_state_is_emitted_as_a_later_watermark_would(
    tmp_path: Path, how: str, layout: Grid, chunk: int
) -> None:
    on = parse("l.x = r.x + 1", SCHEMA, SCHEMA)
    plan = Plan(on, within("2 seconds"), arrow_schema(SCHEMA), arrow_schema(SCHEMA), how)  # type: ignore[arg-type]
    job = to_job(plan, layout, CacheSpec(str(tmp_path), None))
    runtime = Runtime(job)
    runtime.run(Batch(LEFT[:6], RIGHT[:6], None))
    runtime.run(Batch(LEFT[6:], RIGHT[6:], 3_000_000))

    keys = cell_keys(layout.cells, job.partitions)
    cells = {cell: state for cell, state in runtime.states.items() if cell != PLAN_CELL}
    rows = [row for cell, state in cells.items() for row in to_rows(keys[cell], state, chunk)]
    batch = pa.record_batch([list(column) for column in zip(*rows, strict=True)], schema=ROWS)
    batches = finish_cells(pack_job(job), iter([batch.slice(0, 5), batch.slice(5)]))
    answers = [
        Answer(*values) for found in batches for values in zip(*(c.to_pylist() for c in found.columns), strict=True)
    ]
    if plan.shared:
        results = list(settle(layout, answers, in_order=False))
    else:
        results = [part for answer in answers for part in unpack_results(pa.py_buffer(answer.block))]

    wanted = runtime.run(Batch([], [], ENDED))
    assert to_texts(results) == to_texts(wanted)
    assert to_texts(results), "some rows wait"


@pytest.mark.parametrize(
    ("from_state", "said"), [(True, "Waiting rows come out of the query itself"), (False, "Start the query as it was")]
)
def test_a_spark_that_cannot_read_state_says_what_to_do_instead(
    monkeypatch: pytest.MonkeyPatch, from_state: bool, said: str
) -> None:
    monkeypatch.setattr(stored, "READS_STATE", False)
    monkeypatch.setattr(stored, "read_file", lambda *_: None)
    monkeypatch.setattr(stored, "may_have_commits", lambda *_: True)
    with pytest.raises(StreamJoinError, match=said):
        stored._read_keys(None, "near", from_state=from_state)  # type: ignore[arg-type]


def to_texts(results: list[pa.RecordBatch]) -> list[str]:
    return sorted(str(row) for part in results for row in part.to_pylist())
