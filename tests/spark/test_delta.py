"""Delta as source and sink of joins: exactly the reference's rows, whatever is started again; by `make test-delta`."""

import io
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console

import streamjoin as sj
from streamjoin import reference
from streamjoin.cli.files import FileJoin
from streamjoin.reference import Batch
from streamjoin.spark.compat import RELEASE, VERSION
from streamjoin.spark.packages import PACKAGES
from tests.spark.maven import fetch
from tests.spark.test_docs import execute

pytestmark = [
    pytest.mark.delta,
    pytest.mark.skipif(VERSION > (4, 2), reason="Delta has no release for this Spark: make test-delta"),
]

SMALL = {"spark.databricks.delta.snapshotPartitions": "2"}
SECOND = 1_000_000
MISSED = "CheckpointInfo length: 0" if VERSION >= (4, 1) else "assertion failed"
"""What Spark says where Delta's own sink passed over a batch whose state it needs."""
NEAR: dict[str, Any] = {
    "on": "abs(l.x - r.x) <= 2",
    "window": sj.within("5 seconds"),
    "time": ("ts", "ts"),
    "delay": ("1 minute", "1 minute"),
    "select": ["l.id AS l", "r.id AS r"],
}


def make_rows(part: int, seed: int) -> list[dict[str, int]]:
    ids = range(40 * part, 40 * (part + 1))
    return [{"id": n, "ts": n * SECOND // 2, "x": (n * 7919 + seed) % 23} for n in ids]


def expected(parts: int) -> Counter[tuple[int, int]]:
    """What the reference finds in so many parts of both sides, none of whose rows is late."""
    left, right = ([row for part in range(parts) for row in make_rows(part, seed)] for seed in (0, 5))
    found = reference.join([Batch(left, right)], lambda l, r: abs(l["x"] - r["x"]) <= 2, NEAR["window"])
    return Counter((joined.left["id"], joined.right["id"]) for joined in found.rows)  # type: ignore[index]


@pytest.fixture(scope="module")
def delta(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    scratch = tmp_path_factory.mktemp("delta")
    fetch(PACKAGES["delta"](RELEASE).coordinates, scratch)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        conf = {"spark.sql.session.timeZone": "UTC", "spark.sql.warehouse.dir": str(scratch / "warehouse"), **SMALL}
        session = sj.session("delta", master="local[2]", partitions=2, conf=conf, packages=["delta"])
        yield session
        session.stop()


def add(spark: SparkSession, home: Path, part: int) -> None:
    """One more part of both sides."""
    for side, seed in (("left", 0), ("right", 5)):
        rows = [(row["id"], datetime.fromtimestamp(row["ts"] / SECOND, UTC), row["x"]) for row in make_rows(part, seed)]
        frame = spark.createDataFrame(rows, "id BIGINT, ts TIMESTAMP, x INT").coalesce(1)
        frame.write.format("delta").mode("append").save(str(home / side))


def joined(spark: SparkSession, home: Path) -> DataFrame:
    left, right = (spark.readStream.format("delta").load(str(home / side)) for side in ("left", "right"))
    return sj.join(left, right, **NEAR)


def pairs(rows: DataFrame) -> Counter[tuple[int, int]]:
    return Counter((row["l"], row["r"]) for row in rows.select("l", "r").collect())


def forget_last_commit(checkpoint: Path) -> int:
    """As if the driver had died after the sink had its rows and before Spark noted it: the batch is run again."""
    last = max(int(file.name) for file in (checkpoint / "commits").glob("[0-9]*"))
    (checkpoint / "commits" / str(last)).unlink()
    (checkpoint / "commits" / f".{last}.crc").unlink(missing_ok=True)
    return last


def test_source_and_sink_over_restarts_hold_exactly_the_reference_s_rows(delta: SparkSession, tmp_path: Path) -> None:
    out, checkpoint = tmp_path / "near", tmp_path / "checkpoint"

    def once() -> Counter[tuple[int, int]]:
        writer = joined(delta, tmp_path).writeStream.format("delta").option("checkpointLocation", str(checkpoint))
        writer.trigger(availableNow=True).start(str(out)).awaitTermination()
        return pairs(delta.read.format("delta").load(str(out)))

    add(delta, tmp_path, 0)
    assert once() == expected(1)
    add(delta, tmp_path, 1)
    assert once() == expected(2)
    assert expected(2).total() > expected(1).total() > 50
    forget_last_commit(checkpoint)
    with pytest.raises(StreamingQueryException, match=MISSED):  # as the guide says
        once()


def test_a_merge_is_made_once_for_each_batch_by_its_transaction(delta: SparkSession, tmp_path: Path) -> None:
    """A count that is added to would be wrong if a batch were merged twice."""
    counts, checkpoint, seen = tmp_path / "counts", tmp_path / "checkpoint", list[int]()
    delta.sql(f"CREATE TABLE delta.`{counts}` (l BIGINT, n BIGINT) USING delta")

    def merge(rows: DataFrame, batch: int) -> None:
        seen.append(batch)
        rows.persist().count()
        spark = rows.sparkSession
        spark.conf.set("spark.databricks.delta.write.txnAppId", "counts")
        spark.conf.set("spark.databricks.delta.write.txnVersion", str(batch))
        rows.groupBy("l").count().createOrReplaceTempView("more")
        spark.sql(
            f"MERGE INTO delta.`{counts}` AS c USING more ON c.l = more.l "
            "WHEN MATCHED THEN UPDATE SET n = c.n + more.count "
            "WHEN NOT MATCHED THEN INSERT (l, n) VALUES (more.l, more.count)"
        )
        rows.unpersist()

    def once() -> dict[int, int]:
        writer = joined(delta, tmp_path).writeStream.foreachBatch(merge)
        writer = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
        writer.start().awaitTermination()
        return {row["l"]: row["n"] for row in delta.read.format("delta").load(str(counts)).collect()}

    for part in (0, 1):
        add(delta, tmp_path, part)
        wanted = Counter(left for left, _ in expected(part + 1).elements())
        assert once() == wanted
    last = forget_last_commit(checkpoint)
    assert once() == wanted
    assert seen.count(last) == 2, "the batch was not replayed"


def test_run_joins_tables_of_delta_in_a_catalog(delta: SparkSession, tmp_path: Path) -> None:
    add(delta, tmp_path, 0)
    delta.sql("CREATE DATABASE IF NOT EXISTS shop")
    for side in ("left", "right"):
        delta.sql(f"CREATE TABLE shop.{side} USING delta LOCATION '{tmp_path / side}'")
    job = FileJoin(
        left="table:shop.left",
        right="table:shop.right",
        out="table:shop.near",
        formats=("table", "table"),
        checkpoint=str(tmp_path / "checkpoint"),
        schemas=(None, None),
        verb=sj.join,
        arguments={"how": "inner", "ordered": False, **NEAR},
        once=True,
        flush=False,
        trigger="1 second",
        out_format="delta",
    )

    def once() -> Counter[tuple[int, int]]:
        job.run(delta, Console(file=io.StringIO()), lambda: False)
        return pairs(delta.table("shop.near"))

    assert once() == expected(1)
    add(delta, tmp_path, 1)
    assert once() == expected(2)
    forget_last_commit(tmp_path / "checkpoint")
    assert once() == expected(2), "a batch that was written is not written again"
    assert delta.sql("DESCRIBE DETAIL shop.near").first()["format"] == "delta"  # type: ignore[index]


def test_the_command_line_reads_and_writes_delta(
    delta: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(delta, tmp_path, 0)
    speak_of_small_tables(monkeypatch)
    told = ["--left=left", "--right=right", "--out=near", "--on", NEAR["on"], "--within=5s", "--time=ts", "--delay=60s"]
    done = subprocess.run(
        [sys.executable, "-m", "streamjoin", "run", *told, "--select=l.id AS l, r.id AS r", "--format=delta", "--once"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{expected(1).total()} matches found" in done.stdout
    assert pairs(delta.read.format("delta").load(str(tmp_path / "near"))) == expected(1)


def test_the_guide_does_what_it_says(delta: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    speak_of_small_tables(monkeypatch)
    execute(tmp_path, "docs/guides/delta.md")


def speak_of_small_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    conf = " ".join(f"--conf {name}={value}" for name, value in SMALL.items())
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"{conf} pyspark-shell")
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
