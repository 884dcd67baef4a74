"""Rows of two batch DataFrames, in the form in which cells are given them: a stretch of time that both have."""

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import TimestampNTZType, TimestampType

from streamjoin.errors import StreamJoinError
from streamjoin.flow.emit import read_rows
from streamjoin.pane import Rows
from streamjoin.plan import Plan
from streamjoin.predicate import On
from streamjoin.spark.build import plan
from streamjoin.spec.how import How
from streamjoin.spec.side import SIDES, Side
from streamjoin.spec.window import Window


def sample_frames(
    left: DataFrame, right: DataFrame, rows: int, *, on: On, window: Window | None, time: tuple[str, str], how: How
) -> tuple[Plan, Mapping[Side, Rows]]:
    """The plan of their join, and about so many rows of each side from the midst of the time that they share."""
    none: Any = (None, None)
    planned = plan(
        left=left, right=right, on=on, window=window, how=how, time=time, delay=none, select=None, layout=None,
        suffixes=("_l", "_r"), name="streamjoin",
    )  # fmt: skip
    frames, job = planned.to_job()
    times = {side: _to_micros(frames[side], f"c{job.sources[side].time}") for side in SIDES}
    spans = {side: _find_span(frames[side], times[side]) for side in SIDES}
    start, end = max(span[0] for span in spans.values()), min(span[1] for span in spans.values())
    if end < start:
        raise StreamJoinError("samples: the times of left and right do not overlap")
    densest = max(count / max(last - first, 1) for first, last, count in spans.values())
    length = min(end - start, int(rows / densest))
    begin = start + (end - start - length) // 2
    found: dict[Side, Rows] = {}
    for side, frame in frames.items():
        table = frame.where(f"{times[side]} BETWEEN {begin} AND {begin + length}").limit(2 * rows).toArrow()
        batch = table.combine_chunks().to_batches() or [table.schema.empty_table().to_batches()]
        found[side] = read_rows(job, side, batch[0])[0]
    return planned.plan, found


def _to_micros(frame: DataFrame, column: str) -> str:
    """The time in microseconds, as SQL: a column that results carry too is a timestamp still."""
    match frame.schema[column].dataType:
        case TimestampType():
            return f"unix_micros({column})"
        case TimestampNTZType():
            return f"timestampdiff(MICROSECOND, TIMESTAMP_NTZ'1970-01-01', {column})"
    return column


def _find_span(frame: DataFrame, time: str) -> tuple[int, int, int]:
    """The first and the last time, and how many rows have one."""
    row = frame.selectExpr(f"min({time})", f"max({time})", f"count({time})").first()
    if row is None or row[2] == 0:
        raise StreamJoinError("samples: one of the inputs has no row with a time")
    return int(row[0]), int(row[1]), int(row[2])
