"""``streamjoin run`` in the session of the tests: what it remembers, what it refuses, what it emits."""

import io
import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from rich.console import Console

import streamjoin as sj
from streamjoin.cli import files
from streamjoin.cli.files import FileJoin
from streamjoin.spark import kafka, stored

ON = "l.sym = r.sym AND abs(l.price - r.ask) <= 0.5"
Run = Callable[..., str]
MET = {"on": "l.sym = r.sym", "window": sj.within("5 seconds"), "select": ["l.sym", "count(*) AS n"], "how": "left"}
NEAREST = {"by": ["sym"], "tolerance": "1 minute", "select": ["l.sym", "r.ask"]}


def drop(directory: Path, name: str, *rows: dict[str, Any]) -> None:
    directory.mkdir(exist_ok=True)
    (directory / f"{name}.json").write_text("\n".join(json.dumps(row) for row in rows))


def at(second: int, sym: str, **columns: Any) -> dict[str, Any]:
    return {"ts": f"2026-01-05T09:30:{second:02}Z", "sym": sym, **columns}


@pytest.fixture
def run(spark: SparkSession, tmp_path: Path) -> Run:
    drop(tmp_path / "trades", "1", at(0, "ACME", price=20.1), at(4, "BETA", price=41.0), at(5, "GAMMA", price=1.0))
    drop(tmp_path / "quotes", "1", at(1, "ACME", ask=20.5), at(2, "BETA", ask=40.6))

    def run(
        right: str = "quotes",
        flush: bool = False,
        format: str = "json",
        verb: Any = sj.join,
        to_late: str | None = None,
        bad: Any = "fail",
        schemas: tuple[str | None, str | None] = (None, None),
        **arguments: Any,
    ) -> str:
        """A run over all files that there are; what it says."""
        console = Console(file=io.StringIO(), width=200)
        given = {"time": ("ts", "ts"), "delay": ("10 seconds", "10 seconds"), **arguments}
        if verb is sj.join:
            given = {"on": ON, "window": sj.within("5 seconds"), "how": "inner", "ordered": False, **given}
        paths = {"left": str(tmp_path / "trades"), "right": str(tmp_path / right), "out": str(tmp_path / "near")}
        job = FileJoin(
            **paths,
            formats=(format, format),
            checkpoint=None,
            schemas=schemas,
            verb=verb,
            arguments=given,
            once=True,
            flush=flush,
            trigger="1 second",
            late=to_late,
            bad=bad,
        )
        job.run(spark, console, lambda: False)
        return str(console.file.getvalue())  # type: ignore[attr-defined]

    return run


def test_a_new_field_is_no_change_and_another_join_or_input_is_refused_before_it_starts(
    run: Run, tmp_path: Path
) -> None:
    assert "2 matches found" in run()
    drop(tmp_path / "trades", "2", at(6, "BETA", price=40.7, venue="X"))
    again = run()
    assert "trades: price double, sym string, ts timestamp (as at the first start)" in again
    assert "1 match found" in again

    checkpoint = tmp_path / "near" / "_checkpoint"
    before = {path: path.stat().st_mtime_ns for path in checkpoint.rglob("*")}
    with pytest.raises(sj.StreamJoinError, match="'-6 seconds', '6 seconds'"):
        run(window=sj.within("6 seconds"))
    with pytest.raises(
        sj.StreamJoinError, match=r"--right: the checkpoint in .* was written by a join of .*/quotes, and"
    ):
        run(right="asks")
    assert {path: path.stat().st_mtime_ns for path in checkpoint.rglob("*")} == before


def forget_commits(checkpoint: Path) -> None:
    """Leave what a run leaves that died before its first commit: what it was to read, and what it remembers."""
    (checkpoint / "streamjoin" / "plan.json").unlink()
    for logged in [*(checkpoint / "commits").iterdir(), *(checkpoint / "offsets").iterdir()]:
        if logged != checkpoint / "offsets" / "0":
            logged.unlink()
    shutil.rmtree(checkpoint / "state")


def test_a_run_that_died_before_its_first_commit_goes_on_and_another_is_refused(run: Run, tmp_path: Path) -> None:
    run()
    checkpoint = tmp_path / "near" / "_checkpoint"
    forget_commits(checkpoint)
    shutil.rmtree(tmp_path / "near" / "_spark_metadata")
    kept = (checkpoint / "streamjoin" / "run.json").read_text()
    drop(tmp_path / "trades", "2", at(6, "BETA", price=40.7, venue="X"))
    with pytest.raises(sj.StreamJoinError) as refused:
        run(window=sj.within("6 seconds"))
    assert str(refused.value).splitlines()[1:] == [
        "--- the checkpoint's join",
        "window        between('-5 seconds', '5 seconds')",
        "--- this join",
        "window        between('-6 seconds', '6 seconds')",
    ]
    with pytest.raises(sj.StreamJoinError, match=r"left columns.*price float"):
        run(schemas=("ts TIMESTAMP, sym STRING, price FLOAT", None))
    with pytest.raises(sj.StreamJoinError, match=r"--right: the checkpoint in .* was written by a join of .*/quotes"):
        run(right="asks")
    with pytest.raises(sj.StreamJoinError, match=r"--format: .* read .*/trades as json, and this one reads it as csv"):
        run(format="csv")
    assert (checkpoint / "streamjoin" / "run.json").read_text() == kept
    said = run()
    assert "trades: price double, sym string, ts timestamp (as at the first start)" in said
    assert "3 matches found" in said


@pytest.mark.every_spark
def test_a_spark_that_cannot_read_state_goes_on_by_what_is_remembered_and_flushes(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (stored, files):
        monkeypatch.setattr(module, "READS_STATE", False)
    run(**MET, verb=sj.aggregate)
    (tmp_path / "near" / "_checkpoint" / "streamjoin" / "plan.json").unlink()
    said = run(**MET, verb=sj.aggregate, flush=True)
    assert "all that waited is emitted by --flush" in said
    assert read(tmp_path / "near", "sym", "n") == [("ACME", 1), ("BETA", 1), ("GAMMA", 0)]


def test_a_start_that_read_nothing_is_forgotten(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise sj.StreamJoinError("the disk is full")

    with monkeypatch.context() as broken:
        broken.setattr(FileJoin, "_follow", fail)
        with pytest.raises(sj.StreamJoinError, match="the disk is full"):
            run(late="keep", to_late=str(tmp_path / "late"), window=sj.within("1 hour"))
    assert "2 matches found" in run()
    assert "0 matches found" in run()


def test_a_count_of_seconds_is_a_time_where_the_hint_says_so(run: Run, tmp_path: Path) -> None:
    """JSON alone reads numbers as seconds."""
    (tmp_path / "trades" / "1.json").write_text('{"ts": 1767605400, "sym": "ACME", "price": 20.1}')
    said = (
        r"--time: left column 'ts' is of type bigint; .* give --left-schema \"ts TIMESTAMP, ...\" if it counts seconds"
    )
    with pytest.raises(sj.StreamJoinError, match=said):
        run()
    assert "1 match found" in run(schemas=("ts TIMESTAMP, sym STRING, price DOUBLE", None))


@pytest.mark.parametrize("ddl", ["ts TIMESTMP, sym STRING", "ts TIMESTAMP, x DECIMAL(99, 1)"])
def test_a_schema_that_spark_cannot_read_is_no_unreadable_path(run: Run, ddl: str) -> None:
    with pytest.raises(sj.StreamJoinError, match=r"^--right-schema: got 'ts TIME.*expected columns with their types"):
        run(schemas=(None, ddl))


def test_bad_values_of_a_topic_are_kept_under_their_own_reason(
    run: Run, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here the records come from files of text."""

    def read(spark: SparkSession, url: str, *, schema: Any, bad: str, config: Any, streaming: bool) -> Any:
        lines = (spark.readStream if streaming else spark.read).text(url)
        records = lines.selectExpr("value", "'t' AS topic", "0 AS partition", "0L AS offset")
        return kafka.parse_values(records, schema, [], bad)

    monkeypatch.setattr(kafka, "read", read)
    (tmp_path / "trades" / "2.json").write_text('{"ts": "2026-01-05T09:30:00Z", "price": "much"}\n{"sym": "ZETA"}')
    declared = tuple(f"ts TIMESTAMP, sym STRING, {column} DOUBLE" for column in ("price", "ask"))
    given = {"format": "kafka", "bad": "keep", "late": "keep", "to_late": str(tmp_path / "late"), "how": "left"}
    said = run(schemas=declared, flush=True, select=["l.sym", "r.ask"], **given)
    assert "2 rows without a time in" in said
    (tmp_path / "trades" / "3.json").write_text("no json")
    assert "1 row without a time in" in run(select=["l.sym", "r.ask"], **given), "as it was at the first start"
    late = spark.read.parquet(str(tmp_path / "late")).collect()
    assert Counter((row.sym, row.late_reason) for row in late) == {(None, "bad value"): 2, ("ZETA", "no time"): 1}


@pytest.mark.slow  # the next one flushes too
def test_a_flush_says_how_many_rows_came_out(run: Run, tmp_path: Path) -> None:
    said = run(how="full", flush=True, select=["l.sym AS traded", "r.sym AS quoted"])
    assert "2 matches found" in said
    assert "1 row emitted unmatched by --flush" in said
    rows = [json.loads(line) for file in (tmp_path / "near").glob("*.json") for line in file.read_text().splitlines()]
    assert sorted(row.get("quoted", "none") for row in rows) == ["ACME", "BETA", "none"]


def test_what_each_row_met_is_emitted_once_and_the_rest_by_a_flush(run: Run, tmp_path: Path) -> None:
    assert "3 rows are undecided so far" in run(verb=sj.aggregate, **MET)
    assert "3 rows emitted by --flush" in run(verb=sj.aggregate, flush=True, **MET)
    assert read(tmp_path / "near", "sym", "n") == [("ACME", 1), ("BETA", 1), ("GAMMA", 0)]


@pytest.mark.slow  # tutorials do the same in Python
def test_the_last_row_before_each_is_picked(run: Run, tmp_path: Path) -> None:
    said = run(verb=sj.asof, flush=True, by=["sym"], tolerance="1 minute", direction="nearest")
    assert "3 rows emitted by --flush" in said
    assert read(tmp_path / "near", "sym", "ask") == [("ACME", 20.5), ("BETA", 40.6), ("GAMMA", None)]


@pytest.mark.parametrize(("verb", "given"), [(sj.aggregate, MET), (sj.asof, NEAREST)], ids=["aggregate", "asof"])
def test_rows_that_aggregate_and_asof_drop_go_into_a_directory_too(
    run: Run, tmp_path: Path, spark: SparkSession, verb: Any, given: Any
) -> None:
    drop(tmp_path / "trades", "2", {**at(9, "ZETA", price=8.0), "ts": None})
    given = {**given, "late": "keep", "verb": verb, "to_late": str(tmp_path / "late")}
    run(flush=True, **given)
    drop(tmp_path / "trades", "3", at(0, "LATE", price=1.0))
    assert f"1 late row in {tmp_path / 'late'}" in run(flush=True, **given)
    kept = spark.read.json(str(tmp_path / "late")).collect()
    assert {(row.sym, row.late_reason, row.late_side) for row in kept} == {
        ("ZETA", "no time", "left"),
        ("LATE", "late", "left"),
    }
    assert len(kept) == 2
    near = spark.read.json(str(tmp_path / "near")).where("sym IS NOT NULL")
    assert sorted(row.sym for row in near.collect()) == ["ACME", "BETA", "GAMMA"]


def read(out: Path, *columns: str) -> list[tuple[Any, ...]]:
    rows = [json.loads(line) for file in out.glob("*.json") for line in file.read_text().splitlines()]
    return sorted(tuple(row.get(name) for name in columns) for row in rows)


def test_json_read_as_parquet_is_one_paragraph(run: Run) -> None:
    with pytest.raises(
        sj.StreamJoinError, match=r"--left: cannot read .*trades as parquet: .*not a Parquet file"
    ) as told:
        run(format="parquet")
    assert "\n" not in str(told.value)


def test_late_rows_go_into_a_directory_of_their_own_and_the_sink_stays_what_it_was(
    run: Run, tmp_path: Path, spark: SparkSession
) -> None:
    to_late = str(tmp_path / "late")
    assert "2 matches found" in run(to_late=to_late, late="keep", delay=("0 seconds", "0 seconds"))
    drop(tmp_path / "trades", "2", at(1, "ACME", price=7.0), {**at(9, "ZETA", price=8.0), "ts": None})
    drop(tmp_path / "quotes", "2", at(6, "BETA", ask=41.1))
    again = run(to_late=to_late, late="keep", delay=("0 seconds", "0 seconds"))
    assert f"1 late row and 1 row without a time in {to_late}" in again
    kept = spark.read.json(to_late).collect()
    assert {(row.sym_l, row.late_reason, row.late_side) for row in kept} == {
        ("ACME", "late", "left"),
        ("ZETA", "no time", "left"),
    }
    assert len(kept) == 2
    near = spark.read.json(str(tmp_path / "near"))
    assert near.count() == 3
    assert "late_reason" not in near.columns
    with pytest.raises(sj.StreamJoinError, match="--late: got none, but the run on this checkpoint began with --late"):
        run(delay=("0 seconds", "0 seconds"))
