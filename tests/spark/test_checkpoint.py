"""A checkpoint belongs to one join: another one is refused, with both plans in the message."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming import StreamingQuery

import streamjoin as sj
from streamjoin.spark import stored
from streamjoin.spark.compat import READS_STATE
from tests.spark.filejoin import FileJoin, expected, write_inputs
from tests.spark.live import settings

ON = "abs(l.x - r.x) <= 5"
WINDOW = sj.within("15 seconds")


@dataclass(frozen=True)
class Arguments:
    """A join of files, and how its arguments may be changed."""

    on: str = ON
    window: Any = WINDOW
    layout: Any = "auto"
    select: tuple[str, ...] | None = ("l.id AS l", "r.id AS r")
    how: str = "inner"
    delay: str = "3 seconds"
    change: Callable[[DataFrame], DataFrame] = lambda frame: frame

    def frames(self, spark: SparkSession, told: FileJoin) -> list[DataFrame]:
        return [
            self.change(spark.readStream.schema("id BIGINT, ts TIMESTAMP, x INT").parquet(f"{told.home}/{side}"))
            for side in ("left", "right")
        ]

    @property
    def named(self) -> dict[str, Any]:
        return {
            "on": self.on,
            "window": self.window,
            "time": "ts",
            "delay": self.delay,
            "select": self.select,
            "layout": self.layout,
            "how": self.how,
        }

    def run(self, spark: SparkSession, told: FileJoin) -> StreamingQuery:
        """Join all files that there are and have not been joined yet."""
        joined = sj.join(*self.frames(spark, told), **self.named)
        writer = joined.writeStream.format("parquet").option("checkpointLocation", str(told.checkpoint))
        query = writer.trigger(availableNow=True).start(str(told.sink))
        query.awaitTermination()
        return query


def begin(spark: SparkSession, home: Path, arguments: Arguments) -> FileJoin:
    """A join with a checkpoint after one batch, and rows for another batch."""
    told = FileJoin(str(home))
    write_inputs(home, files=1)
    arguments.run(spark, told)
    write_inputs(home, files=1, first=1)
    return told


@pytest.fixture(scope="module")
def begun(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> FileJoin:
    """A checkpoint to be refused, which leaves it as it is."""
    return begin(spark, tmp_path_factory.mktemp("begun"), Arguments())


CHANGES: dict[str, tuple[Arguments, str, str]] = {
    "predicate": (Arguments(on="abs(l.x - r.x) <= 6"), "<= 5", "<= 6"),
    "one-sided filter": (Arguments(on=f"{ON} AND l.x > 3"), ON, "l.x > 3"),
    "window": (Arguments(window=sj.within("16 seconds")), "15 seconds", "16 seconds"),
    "layout": (Arguments(layout=sj.Grid(2, 2)), "Grid(1, 2)", "Grid(2, 2)"),
    "select": (Arguments(select=("l.id AS l", "r.id AS r", "r.x")), "columns id bigint\n", "columns id bigint, x int"),
    "type of a column": (
        Arguments(change=lambda frame: frame.withColumn("id", frame.id.cast("string"))),
        "id bigint",
        "id string",
    ),
    "type of a key": (Arguments(change=lambda frame: frame.withColumn("x", frame.x.cast("double"))), "int", "double"),
}


QUICK = ("window", "layout", "type of a key")
"""Told in different ways; of the others the unit tests of `flow.checkpoint` know."""


@pytest.mark.parametrize(
    "change",
    [
        *(pytest.param(change, marks=pytest.mark.every_spark if change == "window" else ()) for change in QUICK),
        *(pytest.param(change, marks=pytest.mark.slow) for change in CHANGES if change not in QUICK),
    ],
)
def test_another_join_is_refused_with_both_plans(spark: SparkSession, begun: FileJoin, change: str) -> None:
    other, was, now = CHANGES[change]
    with pytest.raises(StreamingQueryException) as refused:
        other.run(spark, begun)
    message = str(refused.value)
    assert "This checkpoint was written by another join" in message
    assert ("Only the layout differs" in message) == (change == "layout")
    before, _, after = message.partition("--- the checkpoint's join\n")[2].partition("--- this join\n")
    after = after.partition("\n\n")[0]
    assert was in before, before
    assert now in after, after


@pytest.mark.every_spark
def test_another_join_is_refused_at_the_start_and_leaves_the_checkpoint_as_it_was(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Also when no rows come; and `check` says it before."""
    told = FileJoin(str(tmp_path))
    write_inputs(tmp_path, files=1)
    same, other = Arguments(), Arguments(window=sj.within("16 seconds"))
    assert sj.check(told.checkpoint, *same.frames(spark, told), **same.named).startswith("begins: ")
    same.run(spark, told)
    while not (told.checkpoint / "streamjoin" / "plan.json").exists():  # Spark tells of a commit after it
        time.sleep(0.05)
    time.sleep(0.2)
    before = list_files(told.checkpoint)
    with pytest.raises(sj.StreamJoinError, match="16 seconds"):
        sj.check(told.checkpoint, *other.frames(spark, told), **other.named)
    start = time.perf_counter()
    with pytest.raises(StreamingQueryException) as refused:
        other.run(spark, told)
    assert time.perf_counter() - start < 5
    assert "StreamJoinError: This checkpoint was written by another join" in str(refused.value)
    assert "<= 5" not in str(refused.value), "only the lines that differ"
    assert list_files(told.checkpoint) == before
    assert sj.check(str(told.checkpoint), *same.frames(spark, told), **same.named).startswith("goes on: ")


def test_a_checkpoint_without_a_plan_file_is_told_by_its_state(spark: SparkSession, tmp_path: Path) -> None:
    told = FileJoin(str(tmp_path))
    write_inputs(tmp_path, files=1)
    same, other = Arguments(), Arguments(window=sj.within("16 seconds"))
    same.run(spark, told)
    (told.checkpoint / "streamjoin" / "plan.json").unlink(missing_ok=True)
    with pytest.raises(sj.StreamJoinError, match="16 seconds"):
        sj.check(told.checkpoint, *other.frames(spark, told), **other.named)
    assert sj.check(told.checkpoint, *same.frames(spark, told), **same.named).startswith("goes on: ")


def list_files(directory: Path) -> dict[str, int]:
    return {str(file): file.stat().st_mtime_ns for file in directory.rglob("*") if file.is_file()}


def test_a_new_column_is_named_with_what_keeps_it_out(spark: SparkSession, tmp_path: Path) -> None:
    told = FileJoin(str(tmp_path))
    write_inputs(tmp_path, files=1)
    every = Arguments(select=None)
    every.run(spark, told)
    wider = Arguments(select=None, change=lambda frame: frame.selectExpr("*", "x + 1 AS y"))
    with pytest.raises(sj.StreamJoinError) as refused:
        sj.check(told.checkpoint, *wider.frames(spark, told), **wider.named)
    assert 'New on the left side: y int. If that is new in the input, join left.select("id", "ts", "x")' in str(
        refused.value
    )
    kept = Arguments(select=None, change=lambda frame: wider.change(frame).select("id", "ts", "x"))
    assert sj.check(told.checkpoint, *kept.frames(spark, told), **kept.named).startswith("goes on: ")


@pytest.mark.skipif(not READS_STATE, reason="Spark 4.0 cannot read the state of joins, and flush says so")
@pytest.mark.parametrize(
    ("how", "layout"),
    [
        pytest.param("full", "auto", marks=pytest.mark.every_spark),
        pytest.param("full", sj.Grid(2, 2), marks=pytest.mark.slow),
        pytest.param("left_anti", "auto", marks=pytest.mark.slow),
        pytest.param("left_anti", sj.Grid(2, 2), marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_rows_that_wait_at_the_end_are_told_and_can_be_had(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture, how: str, layout: Any
) -> None:
    told = FileJoin(str(tmp_path))
    write_inputs(tmp_path, files=2)
    select = ("l.id AS l",) if how == "left_anti" else ("l.id AS l", "r.id AS r")
    join = Arguments(on="abs(l.x - r.x) <= 0", window=sj.within("2 seconds"), how=how, layout=layout, select=select)
    join.run(spark, told)
    waiting = sj.flush(told.checkpoint, *join.frames(spark, told), **join.named)
    rows = waiting.collect()
    assert rows
    while not caplog.records:  # Spark tells of the end after it
        time.sleep(0.05)
    assert "unmatched in its join 'streamjoin'" in caplog.text
    assert f"streamjoin.flush('file:{told.checkpoint}', ...)" in caplog.text
    batch = replace(join, change=lambda frame: frame)
    history = [
        spark.read.schema("id BIGINT, ts TIMESTAMP, x INT").parquet(f"{tmp_path}/{s}") for s in ("left", "right")
    ]
    wanted = sj.join(*history, **{**batch.named, "delay": None, "layout": "auto"})
    found = spark.read.parquet(str(told.sink)).unionByName(waiting)
    assert sorted(map(str, found.collect())) == sorted(map(str, wanted.collect()))


def test_a_new_join_takes_over_without_a_gap(spark: SparkSession, tmp_path: Path) -> None:
    """As the guide says: the new one reads from both ends of the window before the watermark on."""
    old, new = (FileJoin(str(tmp_path / name)) for name in ("old", "new"))
    join = Arguments(window=sj.within("2 seconds"), how="full")
    write_inputs(Path(old.home), files=2)
    progress = join.run(spark, old).lastProgress
    assert progress is not None
    watermark = F.lit(progress["eventTime"]["watermark"]).cast("timestamp")
    for first, files in ((0, 2), (2, 1)):
        write_inputs(Path(new.home), files=files, first=first)
    late = replace(join, change=lambda frame: frame.where(frame.ts >= watermark - F.expr("INTERVAL 4 SECONDS")))
    late.run(spark, new)
    waiting = sj.flush(new.checkpoint, *late.frames(spark, new), **late.named)
    before, after = (spark.read.parquet(str(told.sink)) for told in (old, new))
    assert after.where(after.join_time < watermark).count()  # what was read twice
    found = before.where(before.join_time < watermark).unionByName(after.where(after.join_time >= watermark))
    history = [
        spark.read.schema("id BIGINT, ts TIMESTAMP, x INT").parquet(f"{new.home}/{s}") for s in ("left", "right")
    ]
    wanted = sj.join(*history, **{**join.named, "delay": None})
    assert sorted(map(str, found.unionByName(waiting).collect())) == sorted(map(str, wanted.collect()))


def test_where_no_rows_wait_flush_says_so(spark: SparkSession, begun: FileJoin, tmp_path: Path) -> None:
    frames = Arguments().frames(spark, begun)
    with pytest.raises(sj.StreamJoinError, match="flush: a join of how='inner' emits no unmatched rows"):
        sj.flush(begun.checkpoint, *frames, **Arguments().named)
    with pytest.raises(sj.StreamJoinError, match=f"no join has committed to {tmp_path} yet"):
        sj.flush(tmp_path, *frames, **Arguments(how="left").named)
    with pytest.raises(sj.StreamJoinError, match="checkpoint: got 5; expected the path"):
        sj.check(5, *frames, **Arguments().named)  # type: ignore[arg-type]


def test_where_spark_cannot_read_state_it_is_refused_by_name(
    spark: SparkSession, begun: FileJoin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "READS_STATE", False)
    join = Arguments()
    assert sj.check(begun.checkpoint, *join.frames(spark, begun), **join.named).startswith("goes on: ")
    monkeypatch.setattr(stored, "read_file", lambda *_: None)  # as if there were no plan file
    with pytest.raises(sj.StreamJoinError, match=r"checkpoint: Spark \S+ cannot read the state in "):
        sj.check(begun.checkpoint, *join.frames(spark, begun), **join.named)


@pytest.mark.guarantee
@pytest.mark.slow
@pytest.mark.every_spark
def test_another_delay_goes_on_and_so_does_the_old_join_after_a_refusal(spark: SparkSession, tmp_path: Path) -> None:
    told = begin(spark, tmp_path, Arguments())
    with pytest.raises(StreamingQueryException):
        Arguments(window=sj.within("16 seconds")).run(spark, told)
    Arguments(delay="10 seconds").run(spark, told)
    write_inputs(tmp_path, files=1, first=2)
    Arguments(delay="4 seconds").run(spark, told)
    assert told.results(spark) == expected(tmp_path)


@pytest.mark.parametrize("layout", ["auto", pytest.param(sj.Grid(1, 3), marks=pytest.mark.slow)], ids=str)
def test_another_number_of_shuffle_partitions_is_refused_or_changes_nothing(
    spark: SparkSession, tmp_path: Path, layout: Any
) -> None:
    told = begin(spark, tmp_path, Arguments(layout=layout))
    with settings(spark, {"spark.sql.shuffle.partitions": "5"}):
        try:
            Arguments(layout=layout).run(spark, told)
        except StreamingQueryException as refused:
            assert "set spark.sql.shuffle.partitions to 2 and take layout=Grid(1," in str(refused)  # noqa: PT017
        else:
            assert told.results(spark) == expected(tmp_path)
