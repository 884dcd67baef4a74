"""Every metric of a join, declared once: its type, its kind, what it means, how cells are put together.

What cells report, the columns that Spark observes, `Progress` and the table in docs/metrics.md all follow from here. To
add a metric of cells, add a field to `CellMetrics` and its value in `cell.CellBatch._measure`.
"""

from dataclasses import dataclass, field, fields
from typing import Any, Literal

Kind = Literal["count", "level", "seconds"]
Together = Literal["sum", "least", "most", "spread", "each"]
"""Over all cells: the sum, the extremes, the standard deviation in percent of the mean, the value of each cell."""


def _metric(kind: Kind, meaning: str, together: Together = "sum", of: str = "") -> Any:
    return {"kind": kind, "meaning": meaning, "together": together, "of": of}


_ARRIVED = "rows that arrived, each once however many copies its layout makes"
_LATE = "rows before the watermark of the micro-batch: dropped, or kept apart if so asked"
_NEWEST = "the latest time of the rows that arrived, in microseconds since 1970; NULL where none did"
_HELD = "what the windows of all cells hold: copies of rows, bytes with indexes, and the segments they lie in"
_LOAD = "how evenly the comparisons fell on the cells"


@dataclass(frozen=True)
class CellMetrics:
    """What one cell reports of one micro-batch."""

    rows_left: int = field(metadata=_metric("count", _ARRIVED))
    rows_right: int = field(metadata=_metric("count", _ARRIVED))
    late_left: int = field(metadata=_metric("count", _LATE))
    late_right: int = field(metadata=_metric("count", _LATE))
    invalid_rows: int = field(metadata=_metric("count", "rows without a time: dropped, or kept apart if so asked"))
    newest_left: int | None = field(metadata=_metric("level", _NEWEST, "most"))
    newest_right: int | None = field(metadata=_metric("level", _NEWEST, "most"))
    comparisons: int = field(
        metadata=_metric(
            "count", "pairs decided, as the papers count them: every probing row times the live opposite window"
        )
    )
    examined: int = field(metadata=_metric("count", "pairs that an index left to look at"))
    matches: int = field(metadata=_metric("count", "pairs found, before conditions that only Spark evaluates"))
    state_rows: int = field(metadata=_metric("level", _HELD))
    state_bytes: int = field(metadata=_metric("level", _HELD))
    segments: int = field(metadata=_metric("level", _HELD))
    held_rows: int = field(
        metadata=_metric(
            "level", "rows that the watermark has not passed: where order matters they wait, each counted once"
        )
    )
    uncached_segments: int = field(
        metadata=_metric(
            "level",
            "segments that the [cache](guides/cache.md) has no room for, or no directory: they are read from state in "
            "every micro-batch, which is slow",
        )
    )
    rows_sent: int = field(metadata=_metric("count", "copies of rows that were sent to cells"))
    probes: int = field(metadata=_metric("count", "copies of rows that probed in the cell that they were sent to"))
    waiting_rows: int = field(
        metadata=_metric(
            "level",
            "rows of a preserved side that are unmatched so far and emitted if they stay so; where several cells "
            "decide together, those of one of them, which is the most that there can be",
        )
    )
    worker_seconds: float = field(metadata=_metric("seconds", "time that cells spent, all together"))
    probe_seconds: float = field(metadata=_metric("seconds", "of it, time spent looking for pairs"))


@dataclass(frozen=True)
class Metrics(CellMetrics):
    """What a join reports of one micro-batch: the metrics of its cells, put together."""

    load_min: int = field(metadata=_metric("level", _LOAD, "least", "comparisons"))
    load_max: int = field(metadata=_metric("level", _LOAD, "most", "comparisons"))
    load_std_percent: float = field(metadata=_metric("level", _LOAD, "spread", "comparisons"))
    loads: tuple[int, ...] = field(metadata=_metric("level", "the comparisons of each cell", "each", "comparisons"))


@dataclass(frozen=True)
class Metric:
    """A metric as it was declared; `of` is the metric of cells that it puts together."""

    name: str
    kind: Kind
    meaning: str
    together: Together
    of: str


FINGERPRINT = "plan"
"""Beside the metrics: the digest of the checkpoint's key, by which the driver knows the plan."""

METRICS = tuple(Metric(**{"name": f.name, **f.metadata, "of": f.metadata["of"] or f.name}) for f in fields(Metrics))
SECONDS = tuple(f.name for f in fields(CellMetrics) if f.metadata["kind"] == "seconds")
NUMBERS = tuple(f.name for f in fields(CellMetrics) if f.name not in SECONDS)
"""The metrics of cells by their type, in the order in which a cell reports them."""
