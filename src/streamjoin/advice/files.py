"""Rows of both inputs out of files, without Spark: keys are computed by the plain meaning of expressions."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from numpy.typing import NDArray

from streamjoin.advice.question import understand
from streamjoin.advice.sample import SAMPLE_ROWS, Sampled, measure_sample
from streamjoin.errors import StreamJoinError
from streamjoin.local.intake import to_key
from streamjoin.operators.onesided import evaluate_column, read_schema
from streamjoin.pane import Rows
from streamjoin.plan import Plan
from streamjoin.predicate import On
from streamjoin.spec.how import How
from streamjoin.spec.side import NAMED, SIDES, Side
from streamjoin.spec.window import Window

_FORMATS = {".csv": "csv", ".json": "json", ".jsonl": "json", ".orc": "orc", ".feather": "feather", ".arrow": "feather"}


def sample_files(
    paths: Mapping[Side, Any], on: On, window: Window | None, time: tuple[str, str], how: How
) -> tuple[Plan, Sampled]:
    """The plan of a join of files, and what a stretch of their rows tells."""
    found = {side: _open(NAMED[side], Path(paths[side])) for side in SIDES}
    names = dict(zip(SIDES, time, strict=True))
    schemas = {side: read_schema(dataset.schema) for side, dataset in found.items()}
    plan = understand(on, schemas, window, how, time)
    times = {side: _read_times(NAMED[side], found[side], names[side]) for side in SIDES}
    start, end = find_stretch({side: column.drop_null().to_numpy() for side, column in times.items()})
    rows = {}
    for side in SIDES:
        inside = pc.fill_null(pc.and_(pc.greater_equal(times[side], start), pc.less_equal(times[side], end)), False)
        at = np.flatnonzero(inside.to_numpy(zero_copy_only=False))
        rows[side] = _to_rows(plan, side, found[side].take(pa.array(at)), times[side].take(pa.array(at)).to_numpy())
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


def _open(named: str, path: Path) -> Any:
    inside = path if path.is_file() else next((p for p in sorted(path.rglob("[!._]*")) if p.is_file()), path)
    try:
        return ds.dataset(path, format=_FORMATS.get(inside.suffix.lower(), "parquet"))
    except (OSError, pa.ArrowInvalid) as error:
        raise StreamJoinError(f"{named}: cannot read {path}: {error}") from error


def _read_times(named: str, dataset: Any, name: str) -> pa.Array:
    if name not in dataset.schema.names or not pa.types.is_timestamp(dataset.schema.field(name).type):
        raise StreamJoinError(
            f"time: the {named} file has no timestamp {name!r}; expected one of "
            f"{', '.join(f.name for f in dataset.schema if pa.types.is_timestamp(f.type)) or 'none is there'}"
        )
    column = dataset.to_table(columns=[name]).column(0)
    return pc.cast(column, pa.timestamp("us", tz=column.type.tz)).combine_chunks().view(pa.int64())


def _to_rows(plan: Plan, side: Side, table: pa.Table, time: NDArray[np.int64]) -> Rows:
    columns = [column.combine_chunks() for column in table.columns]
    payload = pa.RecordBatch.from_arrays(columns, names=table.schema.names)
    return Rows(time, tuple(to_key(evaluate_column(key, payload), key.type) for key in plan.keys[side]), payload)
