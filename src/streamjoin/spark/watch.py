"""What the driver does about queries that hold joins: refuse, remember, warn, clean up.

A query starts on a checkpoint that may belong to another join. Tasks would notice, but by then Spark has logged offsets
for them, and tries each task four times. So the driver looks first: every join leaves a mark in its plan, by which a
started query tells which joins it holds, and their keys are compared with the plan file beside the checkpoint.
"""

import atexit
import json
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from streamjoin.errors import StreamJoinError
from streamjoin.flow.cache import CacheSpec
from streamjoin.flow.cache.directory import remove
from streamjoin.flow.job import Job
from streamjoin.flow.planfile import PLAN_FILE, check_joins, read_plan, write_plan
from streamjoin.plan.reduction import Aggregates, Pick, Sliding
from streamjoin.spark.compat import is_classic, listen
from streamjoin.spark.jvm import StartedQuery, find_query, read_file, write_file

log = logging.getLogger(__name__)
_MARK = "streamjoin_"
_MARKED = re.compile(rf"SubqueryAlias {_MARK}([0-9a-f]+)")


def mark_of(job: Job) -> str:
    """An alias for the frame of a join, by which its key is found in the plan of a query."""
    return _MARK + job.key.digest


def watch(spark: SparkSession, job: Job) -> None:
    """Look after every query of this session that holds the join."""
    if spark not in _watched:
        _watched[spark] = session = SessionWatch(spark)
        if is_classic(spark):  # on Connect only the server could look
            stop = listen(
                spark,
                started=_quietly(session.query_started),
                progressed=_quietly(session.query_progressed),
                ended=_quietly(session.query_ended),
            )
            atexit.register(_quietly(stop))  # events after the end of Python would be traces of Java's
            atexit.register(_quietly(session.finish))  # goes before
    _watched[spark].add(job)


def _quietly(function: Callable[..., None]) -> Callable[..., None]:
    """A function that Spark calls: of an error in it Spark would print a trace that helps nobody."""

    def call(*arguments: Any) -> None:
        try:
            function(*arguments)
        except Exception:
            log.info("a query was not looked after", exc_info=True)

    return call


@dataclass
class _Run:
    """A query that runs, its joins, and whether its checkpoint has a plan file."""

    query: StartedQuery
    jobs: list[Job]
    has_plan: bool


class SessionWatch:
    """Watches the queries of one session."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._jobs: dict[str, Job] = {}
        self._caches: set[CacheSpec] = set()
        self._runs: dict[str, _Run] = {}

    def add(self, job: Job) -> None:
        """Know a join by its mark."""
        self._jobs[job.key.digest] = job
        self._caches.add(job.cache)

    def query_started(self, run: str, name: str | None) -> None:  # noqa: ARG002
        """Refuse the query if its checkpoint belongs to other joins."""
        self._remember_committed()
        query = find_query(self._spark, run)
        found = _MARKED.findall(query.plan)
        jobs = [self._jobs[digest] for digest in found if digest in self._jobs]
        if not jobs:
            return
        keys = [job.key for job in jobs]
        text = read_file(self._spark, query.checkpoint, PLAN_FILE)
        stored = read_plan(text) if text else []
        try:
            check_joins(keys, stored or [key.to_json() for key in keys])
        except StreamJoinError as refused:
            query.fail(f"{type(refused).__name__}: {refused}")
        else:
            self._runs[run] = _Run(query, jobs, bool(stored))

    def query_progressed(self, report: str) -> None:
        """A micro-batch was committed, so the checkpoint is these joins' now."""
        if all(run.has_plan for run in self._runs.values()):
            return
        known = self._runs.get(json.loads(report)["runId"])
        if known and not known.has_plan:
            self._write_plan(known)

    def finish(self) -> None:
        """Python ends, maybe before Spark has told what the last queries did."""
        self._remember_committed()
        for run in self._runs.values():
            if run.query.ends_by_itself and not run.query.is_active:
                _warn_of_waiting(run)

    def _remember_committed(self) -> None:
        """Write the plan files of queries that have committed, whether Spark has told so or not."""
        for run in self._runs.values():
            if not run.has_plan and run.query.read_reports():
                self._write_plan(run)

    def _write_plan(self, run: _Run) -> None:
        run.has_plan = True
        write_file(self._spark, run.query.checkpoint, PLAN_FILE, write_plan([job.key for job in run.jobs]))

    def query_ended(self, query: str, run: str, reason: str | None) -> None:  # noqa: ARG002
        """Delete the cached segments on this host, and say so if rows still wait."""
        for cache in self._caches.copy():
            remove(cache.root, query)
        if (known := self._runs.pop(run, None)) and known.query.ends_by_itself:
            _warn_of_waiting(known)


def _warn_of_waiting(run: _Run) -> None:
    reports = run.query.read_reports()
    for job in run.jobs:
        far = "unmatched" if job.plan.reduction is None else "undecided"
        for metric, why, when in (
            ("waiting_rows", far, "emitted when a later run moves the watermark past the last time a partner can have"),
            ("held_rows", "for their turn", "joined when a later run moves the watermark past them"),
        ):
            if waiting := _read_last(reports, job.name, metric):
                log.warning(
                    "the query has ended, and %s %s in its join %r: %s, or read now by streamjoin.flush(%r, ...%s)",
                    "1 row waits" if waiting == 1 else f"{waiting:,} rows wait",
                    why,
                    job.name,
                    when,
                    run.query.checkpoint,
                    _name_verb(job),
                )


def _name_verb(job: Job) -> str:
    """What `flush` must be told of a verb that is not `join`."""
    match job.plan.reduction:
        case Pick():
            return ", of=streamjoin.asof"
        case Aggregates():
            return ", of=streamjoin.aggregate"
        case Sliding():
            return ", of=streamjoin.sliding_aggregate"
    return ""


def _read_last(reports: Sequence[Mapping[str, Any]], join: str, metric: str) -> int:
    """What the last report that tells a metric of a join says; 0 where none does."""
    told = [r["observedMetrics"].get(join, {}).get(metric) for r in reports if "observedMetrics" in r]
    return next((number for number in reversed(told) if number is not None), 0)


_watched: dict[SparkSession, SessionWatch] = {}
