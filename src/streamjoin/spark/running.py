"""What the progress reports of a running query tell of a join in it."""

import os
import statistics
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from streamjoin.errors import StreamJoinError
from streamjoin.flow.job import Job
from streamjoin.spark.known import find_known
from streamjoin.spark.progress import Progress, read_progress

LATEST = 20
"""Micro-batches that are looked at."""


@dataclass(frozen=True)
class Observed:
    """A join and its latest micro-batches; `interval` is the seconds of event time, or else of the clock, of each."""

    job: Job
    reports: tuple[Progress, ...]
    interval: float
    cores: int

    @property
    def seconds(self) -> float:
        """What a micro-batch takes."""
        return statistics.median(report.seconds for report in self.reports)


def observe_query(query: StreamingQuery, name: str) -> Observed:
    """The join of this name in a query, as its latest micro-batches with rows show it."""
    found = [(report, read) for report in query.recentProgress if (read := read_progress(report, name)) is not None]
    reports = [read for _, read in found][-LATEST:]
    if len(reports) < 3:
        raise StreamJoinError(
            f"query: it has reported {len(reports)} micro-batches of the join {name!r}; ask again after the third"
        )
    known = find_known(reports[-1].plan)
    if known is None:
        raise StreamJoinError(
            "query: its join was not built by this driver, so its plan is not known here; give on=, window= and the "
            "figures of sj.progress(query) instead"
        )
    started = [datetime.fromisoformat(report["timestamp"]) for report, _ in found][-LATEST:]
    return Observed(known.job, tuple(reports), _find_interval(reports, started), _find_cores())


def _find_interval(reports: list[Progress], started: list[datetime]) -> float:
    """Mean seconds that the watermark moves on by in a micro-batch; where it stands still, those between starts."""
    moves = [
        (later.watermark - earlier.watermark).total_seconds()
        for earlier, later in pairwise(reports)
        if earlier.watermark is not None and later.watermark is not None
    ]
    if len(moves) > 1 and sum(moves) > 0:
        return sum(moves) / len(moves)
    return max((started[-1] - started[0]).total_seconds() / (len(started) - 1), 1e-3)


def _find_cores() -> int:
    try:
        spark = SparkSession.getActiveSession()
        return spark.sparkContext.defaultParallelism if spark else os.cpu_count() or 1
    except PySparkException:  # a client of Connect does not know
        return os.cpu_count() or 1
