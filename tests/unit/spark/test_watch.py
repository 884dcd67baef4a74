"""What the driver does about queries that hold joins, on a Spark of a few lines."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from streamjoin import Grid, within
from streamjoin.flow.cache import CacheSpec
from streamjoin.flow.job import Job
from streamjoin.plan import Plan
from streamjoin.plan.reduction import Aggregate, Aggregates, Pick, Reduction, Sliding
from streamjoin.predicate import Schema, parse
from streamjoin.spark import watch
from streamjoin.spark.watch import SessionWatch, mark_of
from tests.blocks import arrow_schema
from tests.unit.flow.runtime import to_job

SCHEMA = Schema({"ts": "timestamp", "x": "int"})


def job_of(window: str, cache: Path, **more: Any) -> Job:
    columns = arrow_schema(SCHEMA)
    plan = Plan(parse("l.x = r.x", SCHEMA, SCHEMA), within(window), columns, columns, **more)
    return to_job(plan, Grid(1, 2), CacheSpec(str(cache), None), name="near")


@dataclass
class Query:
    """A query as the watch sees it."""

    plan: str
    run: str = "run"
    checkpoint: str = "checkpoint"
    ends_by_itself: bool = True
    is_active: bool = False
    reports: list[Any] = field(default_factory=list)
    failed: str = ""

    def fail(self, message: str) -> None:
        self.failed = message

    def read_reports(self) -> list[Any]:
        return self.reports


class Files(dict[str, str]):
    """The files beside checkpoints."""

    def read(self, spark: object, directory: str, name: str) -> str | None:
        return self.get(f"{directory}/{name}")

    def write(self, spark: object, directory: str, name: str, text: str) -> None:
        self[f"{directory}/{name}"] = text


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> Files:
    kept = Files()
    monkeypatch.setattr(watch, "read_file", kept.read)
    monkeypatch.setattr(watch, "write_file", kept.write)
    return kept


def holding(*jobs: Job, **options: Any) -> Any:
    plan = "~Project [l0#1]\n+- ~" + "\n   +- ~".join(f"SubqueryAlias {mark_of(job)}" for job in jobs)
    return Query(plan, **options)


def start(session: SessionWatch, query: Any) -> None:
    found: dict[str, Any] = {query.run: query}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(watch, "find_query", lambda spark, run: found[run])
        session.query_started(query.run, None)


def end(job: Job, told: list[dict[str, Any]], **options: Any) -> None:
    """A query that holds the join reports this of it, once with nothing of it, and ends."""
    session: Any = SessionWatch(None)  # type: ignore[arg-type]
    session.add(job)
    reports = [*({"observedMetrics": {"near": metrics}} for metrics in told), {"batchId": 9}]
    start(session, holding(job, reports=reports, **options))
    session.query_ended("query", "run", None)


def test_a_checkpoint_is_a_joins_from_its_first_commit_on(files: Files, tmp_path: Path) -> None:
    session: Any = SessionWatch(None)  # type: ignore[arg-type]
    one, other = (job_of(window, tmp_path) for window in ("1 second", "2 seconds"))
    session.add(one)
    session.add(other)

    start(session, holding(one))
    session.query_ended("query", "run", None)
    assert not files, "nothing is committed yet"
    start(session, first := holding(other))
    assert not first.failed
    session.query_progressed('{"runId": "run"}')
    assert list(files) == ["checkpoint/streamjoin/plan.json"]

    start(session, refused := holding(one, run="another run"))
    assert refused.failed.startswith("StreamJoinError: This checkpoint was written by another join.")
    start(session, again := holding(other, run="a third run"))
    assert not again.failed
    session.query_progressed("is not read any more")


def test_what_spark_has_not_told_yet_is_not_lost(
    files: Files, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    session: Any = SessionWatch(None)  # type: ignore[arg-type]
    one, other = (job_of(window, tmp_path) for window in ("1 second", "2 seconds"))
    session.add(one)
    session.add(other)
    start(session, holding(one, reports=[{"observedMetrics": {"near": {"waiting_rows": 7}}}]))
    start(session, refused := holding(other, run="at once"))
    assert refused.failed
    files.clear()
    start(session, holding(other, run="last", checkpoint="elsewhere", is_active=True, reports=[{}]))
    session.finish()
    assert list(files) == ["elsewhere/streamjoin/plan.json"]
    assert "7 rows wait" in caplog.text


def test_queries_without_a_join_of_ours_are_left_alone(files: Files, tmp_path: Path) -> None:
    session: Any = SessionWatch(None)  # type: ignore[arg-type]
    start(session, query := holding(job_of("1 second", tmp_path)))  # of another session
    session.query_progressed('{"runId": "run"}')
    session.query_ended("query", "run", None)
    assert not query.failed
    assert not files


@pytest.mark.parametrize(
    ("waiting", "ends_by_itself", "said"),
    [
        ([3, None], True, "3 rows wait unmatched in its join 'near'"),
        ([3, 1], True, "1 row waits unmatched"),
        ([3, 0], True, ""),
        ([None], True, ""),
        ([3], False, ""),
    ],
)
def test_rows_that_wait_when_a_query_has_processed_what_is_there_are_told(
    files: Files,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    waiting: list[int | None],
    ends_by_itself: bool,
    said: str,
) -> None:
    end(job_of("1 second", tmp_path), [{"waiting_rows": number} for number in waiting], ends_by_itself=ends_by_itself)
    assert said in caplog.text
    assert bool(said) == bool(caplog.text)


def test_rows_that_wait_for_their_turn_are_told_too(
    files: Files, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    end(job_of("1 second", tmp_path), [{"waiting_rows": 2, "held_rows": 9}, {"waiting_rows": 0, "held_rows": 5}])
    assert "read now by streamjoin.flush('checkpoint', ...)" in caplog.text
    assert "5 rows wait for their turn in its join 'near': joined when a later run" in caplog.text
    assert "unmatched" not in caplog.text


_COUNTED = (Aggregate("count", (), pa.int64()),)


@pytest.mark.parametrize(
    ("how", "reduction", "verb"),
    [
        ("left", Aggregates(0, _COUNTED), "aggregate"),
        ("left", Pick("backward"), "asof"),
        ("inner", Sliding(1_000_000, 1_000_000, 0, _COUNTED), "sliding_aggregate"),
    ],
)
def test_rows_that_wait_to_be_reduced_are_not_called_unmatched_and_are_flushed_by_their_verb(
    files: Files, tmp_path: Path, caplog: pytest.LogCaptureFixture, how: str, reduction: Reduction, verb: str
) -> None:
    end(job_of("1 second", tmp_path, how=how, reduction=reduction), [{"waiting_rows": 1, "held_rows": 0}])
    assert "1 row waits undecided in its join 'near'" in caplog.text
    assert f"streamjoin.flush('checkpoint', ..., of=streamjoin.{verb})" in caplog.text
