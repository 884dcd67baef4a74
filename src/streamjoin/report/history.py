"""What is remembered of running queries: their reports of the last hour, in bounded memory.

Spark reports each micro-batch as JSON. A query keeps the part of it that is shown, up to an hour and at most
`MOST_SAMPLES` micro-batches; of queries that have ended the last few stay, with the reason why they ended.
"""

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock
from typing import Any
from uuid import uuid4

from streamjoin.flow.metrics import METRICS

KEPT_MS = 3_600_000
MOST_SAMPLES = 3_600
MOST_ENDED = 8
"""Queries that have ended and are still shown."""

COUNTS = tuple(metric.name for metric in METRICS if metric.kind == "count")

Sample = dict[str, Any]
"""One micro-batch as the page gets it."""


@dataclass(frozen=True)
class Plan:
    """A join's plan in words, and how long the watermark of each input waits, in microseconds."""

    text: str
    delay_left: int | None = None
    delay_right: int | None = None


@dataclass
class Query:
    """One run of a query."""

    run: str
    name: str
    started: int
    """In milliseconds, as are all times here."""
    ended: int | None = None
    reason: str | None = None
    """Why it failed; None if it was stopped or has come to its end."""
    samples: deque[Sample] = field(default_factory=lambda: deque(maxlen=MOST_SAMPLES))
    totals: dict[str, Counter[str]] = field(default_factory=dict)
    """Of each join, the sum of its counts since the query started."""
    last: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Of each join, the metrics of its last micro-batch that had any."""


class History:
    """The queries of a session; listeners write to it while a server reads."""

    def __init__(self) -> None:
        self._queries: dict[str, Query] = {}
        self._lock, self._sequence = Lock(), 0
        self._name = uuid4().hex

    def start(self, run: str, name: str | None, at: int) -> None:
        """A query has started."""
        with self._lock:
            self._queries[run] = Query(run, name or run[:8], at)

    def add(self, report: Mapping[str, Any]) -> None:
        """A micro-batch of a query is done; `report` is Spark's own."""
        sample = read_sample(report)
        with self._lock:
            run = report["runId"]
            if run not in self._queries:  # it was running before anybody listened
                self._queries[run] = Query(run, report.get("name") or run[:8], sample["at"])
            query = self._queries[run]
            self._sequence += 1
            interval = find_interval(query.samples[-1], sample) if query.samples else None
            query.samples.append({"sequence": self._sequence, "interval": interval, **sample})
            while query.samples[0]["at"] < sample["at"] - KEPT_MS:
                query.samples.popleft()
            for join, metrics in sample["joins"].items():
                query.totals.setdefault(join, Counter()).update({name: metrics[name] for name in COUNTS})
                before = query.last.get(join, {})
                query.last[join] = {name: before.get(name) if each is None else each for name, each in metrics.items()}

    def end(self, run: str, at: int, reason: str | None) -> None:
        """A query has ended, and why if it failed."""
        with self._lock:
            if query := self._queries.get(run):
                query.ended, query.reason = at, reason
            ended = [query for query in self._queries.values() if query.ended is not None]
            for oldest in sorted(ended, key=lambda query: query.ended or 0)[:-MOST_ENDED]:
                del self._queries[oldest.run]

    def read(self, since: int = 0) -> dict[str, Any]:
        """All queries, each with the samples that came after the one numbered `since`; numbers are of this history."""
        with self._lock:
            return {
                "history": self._name,
                "sequence": self._sequence,
                "queries": [
                    {
                        "run": query.run,
                        "name": query.name,
                        "started": query.started,
                        "ended": query.ended,
                        "reason": query.reason,
                        "samples": [sample for sample in query.samples if sample["sequence"] > since],
                    }
                    for query in self._queries.values()
                ],
            }

    def list_fingerprints(self) -> list[str]:
        """Of all joins, by their last metrics."""
        with self._lock:
            return sorted(
                {last["plan"] for query in self._queries.values() for last in query.last.values() if "plan" in last}
            )

    def read_last(self) -> list[tuple[str, str, dict[str, Any]]]:
        """Of each join of each running query: query, join, and metrics: counts since the start, all else as it is."""
        with self._lock:
            return [
                (query.name, join, query.last[join] | totals)
                for query in self._queries.values()
                if query.ended is None
                for join, totals in query.totals.items()
            ]


def read_sample(report: Mapping[str, Any]) -> Sample:
    """What is shown of one of Spark's reports; of its observed metrics those that a join made."""
    event, parts = report.get("eventTime", {}), dict(report.get("durationMs", {}))
    total = parts.pop("triggerExecution", 0)
    watermark = read_time(event["watermark"]) if "watermark" in event else 0
    return {
        "at": read_time(report["timestamp"]) + total,
        "batch": report["batchId"],
        "milliseconds": total,
        "parts": parts,
        "sources": [
            {"name": source["description"], "rows": source["numInputRows"]} for source in report.get("sources", [])
        ],
        "watermark": watermark or None,
        "newest": read_time(event["max"]) if "max" in event else None,
        "joins": {
            name: metrics
            for name, metrics in report.get("observedMetrics", {}).items()
            if metrics.keys() >= set(COUNTS) and metrics["rows_left"] is not None
        },
    }


def find_interval(before: Sample, sample: Sample) -> int | None:
    """Milliseconds from the start of one micro-batch to that of the next, in which the rows of the latter came.

    None where the clock was set back meanwhile.
    """
    between = (sample["at"] - sample["milliseconds"]) - (before["at"] - before["milliseconds"])
    return between if between > 0 else None


def read_time(text: str) -> int:
    """Milliseconds of a time as Spark writes it."""
    return round(datetime.fromisoformat(text).timestamp() * 1000)
