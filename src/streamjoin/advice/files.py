"""Rows of both inputs out of files, without Spark: keys are computed by the plain meaning of expressions."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from numpy.typing import NDArray

from streamjoin.advice.question import understand
from streamjoin.advice.sample import SAMPLE_ROWS, Sampled, measure_sample
from streamjoin.advice.times import find_time, to_timestamps
from streamjoin.errors import StreamJoinError
from streamjoin.local.intake import to_key
from streamjoin.operators.onesided import evaluate_column, read_schema
from streamjoin.pane import Rows
from streamjoin.plan import Plan
from streamjoin.predicate import On
from streamjoin.spec.how import How
from streamjoin.spec.side import NAMED, SIDES, Side
from streamjoin.spec.window import Window

_TEXTS = {".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json"}
_FORMATS = {**_TEXTS, ".orc": "orc", ".feather": "feather", ".arrow": "feather"}


def sample_files(
    paths: Mapping[Side, Any], on: On, window: Window | None, time: tuple[str, str], how: How
) -> tuple[Plan, Sampled]:
    """The plan of a join of files, and what a stretch of their rows tells."""
    names = dict(zip(SIDES, time, strict=True))
    found = {side: _open(NAMED[side], Path(paths[side]), names[side]) for side in SIDES}
    times = {side: _read_times(NAMED[side], paths[side], found[side], names[side]) for side in SIDES}
    schemas = {side: read_schema(_set_time(found[side].schema, names[side], times[side].type)) for side in SIDES}
    plan = understand(on, schemas, window, how, time)
    counts = {side: times[side].view(pa.int64()) for side in SIDES}
    start, end = find_stretch({side: column.drop_null().to_numpy() for side, column in counts.items()})
    rows = {}
    for side in SIDES:
        inside = pc.fill_null(pc.and_(pc.greater_equal(counts[side], start), pc.less_equal(counts[side], end)), False)
        at = pa.array(np.flatnonzero(inside.to_numpy(zero_copy_only=False)))
        with _refusing(NAMED[side], paths[side]):
            table = found[side].take(at)
        rows[side] = _to_rows(plan, side, table, names[side], times[side].take(at))
    return plan, measure_sample(plan, rows)


def find_stretch(times: Mapping[Side, NDArray[np.int64]]) -> tuple[int, int]:
    """A stretch of time in the midst of what both sides have in common, with at most `SAMPLE_ROWS` rows of each."""
    if any(len(times[side]) == 0 for side in SIDES):
        raise StreamJoinError("samples: one of the inputs has no row with a time")
    start = max(int(times[side].min()) for side in SIDES)
    end = min(int(times[side].max()) for side in SIDES)
    if end < start:
        raise StreamJoinError("samples: the times of left and right do not overlap")
    most = max(int(np.count_nonzero((times[side] >= start) & (times[side] <= end))) for side in SIDES)
    length = int((end - start) * min(1.0, SAMPLE_ROWS / max(most, 1)))
    begin = start + (end - start - length) // 2
    return begin, begin + length


def _open(named: str, path: Path, time: str) -> Any:
    """The rows of a file or directory, the column of event times as `to_timestamps` reads it."""
    inside = path if path.is_file() else next((p for p in sorted(path.rglob("[!._]*")) if p.is_file()), path)
    format = _FORMATS.get(inside.suffix.lower(), "parquet")
    with _refusing(named, path):
        dataset = ds.dataset(path, format=format)
    found = find_time(named, dataset.schema, time, is_text=format in _TEXTS.values())
    return ds.dataset(path, format=format, schema=_set_time(dataset.schema, time, found.type))


def _read_times(named: str, path: Any, dataset: Any, name: str) -> pa.Array:
    with _refusing(named, path):
        column = dataset.to_table(columns=[name]).column(0)
    return to_timestamps(named, name, column)


@contextmanager
def _refusing(named: str, path: Any) -> Iterator[None]:
    try:
        yield
    except (OSError, pa.ArrowInvalid) as error:
        raise StreamJoinError(f"{named}: cannot read {path}: {error}") from error


def _set_time(schema: pa.Schema, name: str, type: pa.DataType) -> pa.Schema:
    return schema.set(schema.get_field_index(name), schema.field(name).with_type(type))


def _to_rows(plan: Plan, side: Side, table: pa.Table, name: str, times: pa.Array) -> Rows:
    columns = [times if of == name else table.column(of).combine_chunks() for of in table.schema.names]
    payload = pa.RecordBatch.from_arrays(columns, names=table.schema.names)
    keys = tuple(to_key(evaluate_column(key, payload), key.type) for key in plan.keys[side])
    return Rows(times.view(pa.int64()).to_numpy(), keys, payload)
