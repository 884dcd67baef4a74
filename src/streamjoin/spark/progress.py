"""What a join did in a micro-batch, from Spark's own progress reports."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from streamjoin.errors import StreamJoinError
from streamjoin.flow.metrics import FINGERPRINT, METRICS, Metrics
from streamjoin.spark.compat import find_observed
from streamjoin.table import to_html

_NONE_YET = "1970-01-01T00:00:00.000Z"


@dataclass(frozen=True)
class _Report:
    batch: int
    seconds: float
    watermark: datetime | None
    plan: str


@dataclass(frozen=True)
class Progress(Metrics, _Report):
    """The metrics of one join in one micro-batch; counts of rows are of rows, but `rows_sent` of their copies.

    `plan` is the fingerprint of the join's plan.
    `comparisons` are the pairs decided, as the papers count them: every probing row times the live opposite window;
    `examined` are those that were looked at. `load_*` say how evenly the comparisons fell on the cells.
    """

    def _repr_html_(self) -> str:
        """The same as a table, for notebooks."""
        return to_html(self.list_lines())

    def list_lines(self) -> list[tuple[str, str]]:
        """What people ask first: how fast, how late, how full, how even."""
        dropped = {"late": self.late_left + self.late_right, "without a time": self.invalid_rows}
        waiting = {"unmatched so far": self.waiting_rows, "held for the watermark": self.held_rows}
        told = [
            ("Micro-batch", f"{self.batch}, {self.seconds:.2f} s"),
            ("Rows", f"{self.rows_left:,} left, {self.rows_right:,} right; {self.rows_per_second:,.0f} a second"),
            ("Matches", f"{self.matches:,}; {self.matches_per_second:,.0f} a second"),
            ("Pairs decided", f"{self.comparisons_per_second:,.0f} a second; {self.examined:,} were looked at"),
            ("Windows", f"{self.state_rows:,} rows in {self.segments:,} segments, {self.state_bytes / 1e6:,.1f} MB"),
            ("Load", f"{self.load_std_percent:.1f} % spread over {len(self.loads)} cells"),
            ("Watermark", str(self.watermark or "none yet")),
        ]
        for heading, counted in (("Dropped", dropped), ("Waiting", waiting)):
            if any(counted.values()):
                told.append((heading, ", ".join(f"{count:,} {what}" for what, count in counted.items() if count)))
        return told

    @property
    def complete_to(self) -> datetime | None:
        """The time up to which results are complete: all with an earlier `join_time` were emitted, none will follow.

        With ``ordered=True`` the sequence ends there. None before there is a watermark.
        """
        return self.watermark

    @property
    def rows_per_second(self) -> float:
        """Input rows of both sides per second of the micro-batch."""
        return (self.rows_left + self.rows_right) / self.seconds

    @property
    def matches_per_second(self) -> float:
        """Results per second of the micro-batch."""
        return self.matches / self.seconds

    @property
    def comparisons_per_second(self) -> float:
        """Pairs decided per second of the micro-batch."""
        return self.comparisons / self.seconds


def progress(query: StreamingQuery, name: str = "streamjoin") -> Progress | None:
    """What the join of this name did in the last micro-batch that had rows; None before there is one.

    >>> from streamjoin import join, within
    >>> ticks = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()
    >>> same = join(ticks, ticks, on=["value"], window=within("1 second"), time="timestamp", delay="1 second")
    >>> query = same.writeStream.format("noop").trigger(availableNow=True).start()
    >>> query.awaitTermination()
    >>> progress(query).matches
    10
    """
    if not hasattr(type(query), "recentProgress"):
        raise StreamJoinError(f"query: expected what start() returns, a streaming query; got a {type(query).__name__}")
    reports = read_all_progress(query, name)
    return reports[-1] if reports else None


def read_all_progress(query: StreamingQuery, name: str = "streamjoin") -> list[Progress]:
    """The same for every micro-batch that Spark remembers (`spark.sql.streaming.numRecentProgressUpdates`)."""
    return [found for report in query.recentProgress if (found := read_progress(report, name)) is not None]


def read_progress(report: Any, name: str) -> Progress | None:
    """One of Spark's reports; None where it does not tell of the join."""
    metrics = find_observed(report, name)
    if metrics is None or metrics["rows_left"] is None:
        return None
    watermark = datetime.fromisoformat(report["eventTime"].get("watermark", _NONE_YET))
    return Progress(
        batch=report["batchId"],
        seconds=max(report["durationMs"].get("triggerExecution", 0), 1) / 1000,
        watermark=None if watermark == datetime.fromisoformat(_NONE_YET) else watermark,
        plan=metrics.get(FINGERPRINT) or "",
        **{**{m.name: metrics[m.name] for m in METRICS}, "loads": tuple(metrics["loads"])},
    )
