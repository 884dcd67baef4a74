"""Sessions as users make them, each a program of its own: ``python -m tests.spark.sessions plain DIRECTORY``.

What a join yields is compared with Spark's own join of the same rows in the same session.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import streamjoin as sj
from streamjoin.spark.compat import UNIX_SOCKETS, read_options
from streamjoin.spark.progress import read_all_progress
from tests.spark.harness import Run, feed, run, spark_join, values
from tests.spark.test_dashboard import await_query
from tests.spark.test_types import PAYLOADS, typed

ON = "abs(l.x - r.x) <= 3"
WINDOW = {"window": sj.within("10s"), "time": "ts"}
LOCAL_TIMES = "timestamp'2026-03-08 01:59:00' + make_interval(0, 0, 0, 0, 0, 0, id % 400) AS ts"
"""Around the hour that New York leaves out."""


def table(spark: SparkSession, rows: int = 600, seed: int = 0) -> DataFrame:
    return spark.range(rows).selectExpr(LOCAL_TIMES, "id", f"int((id * 7919 + {seed}) % 1000) AS x")


def stream(spark: SparkSession, home: Path, name: str, rows: DataFrame) -> DataFrame:
    """The rows as a stream of one micro-batch."""
    rows.coalesce(1).write.mode("overwrite").parquet(str(home / name))
    return spark.readStream.schema(rows.schema).parquet(str(home / name))


@contextmanager
def refusal(*parts: str) -> Iterator[None]:
    """A `StreamJoinError` that says all this."""
    with pytest.raises(sj.StreamJoinError) as refused:
        yield
    for part in parts:
        assert part in str(refused.value)


def must_agree(found: Any, left: DataFrame, right: DataFrame) -> None:
    wanted = values(spark_join(left, right, ON, 10_000_000).collect())
    assert len(wanted) > 500, "too few matches to tell"
    assert values(found) == wanted


def must_join_batches(spark: SparkSession) -> None:
    left, right = table(spark), table(spark, seed=1)
    must_agree(sj.join(left, right, on=ON, **WINDOW).collect(), left, right)


def must_join_streams(spark: SparkSession, home: Path) -> Run:
    left, right = table(spark), table(spark, seed=1)
    sides = stream(spark, home, "left", left), stream(spark, home, "right", right)
    found = run(sj.join(*sides, on=ON, delay="1 min", **WINDOW))
    must_agree(found.rows, left, right)
    return found


def plain(home: Path) -> None:
    """Nothing set at all: `local[*]`, 200 shuffle partitions (which a stream takes long on), another state store."""
    spark = SparkSession.builder.getOrCreate()
    assert spark.conf.get("spark.sql.shuffle.partitions") == "200"
    before = spark.conf.getAll
    must_join_batches(spark)
    left = stream(spark, home, "left", table(spark))
    with refusal("call streamjoin.configure(spark) once", "providerClass", "HDFSBackedStateStoreProvider"):
        sj.join(left, left, on=ON, delay="1 minute", **WINDOW)
    assert sj.configure(spark) is spark
    changed = dict(set(spark.conf.getAll.items()) - set(before.items()))
    assert changed
    assert all(name.startswith("spark.sql.streaming.") for name in changed), changed
    advice = sj.explain(left, left, on=ON, delay="1 minute", **WINDOW)
    assert "16 cells on 200 shuffle partitions" in str(advice)
    assert any("maxBytesPerBatch" in warning for warning in advice.warnings)
    assert any("184 of 200 shuffle partitions have no cell" in warning for warning in advice.warnings)
    assert not any("changelog" in warning for warning in advice.warnings)
    if "200" not in sys.argv:
        spark.conf.set("spark.sql.shuffle.partitions", 4)
    found = must_join_streams(spark, home)
    assert len(found.metric("loads")[0]) == (16 if "200" in sys.argv else 4)


def foreign(home: Path) -> None:
    """ANSI off and case-sensitive names, another time zone; the builder configured."""
    builder = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", 3)
    builder = builder.config("spark.sql.ansi.enabled", "false").config("spark.sql.caseSensitive", "true")
    builder = builder.config("spark.sql.session.timeZone", "America/New_York")
    vendor = {"spark.sql.streaming.stateStore.providerClass": "com.vendor.RocksDBProvider"}
    kept = sj.configure(SparkSession.Builder().config(map=vendor))
    assert read_options(kept)["spark.sql.streaming.stateStore.providerClass"] == "com.vendor.RocksDBProvider"
    assert sj.configure(builder) is builder
    spark = builder.getOrCreate()
    if UNIX_SOCKETS:
        assert spark.conf.get(UNIX_SOCKETS) == "true"
    for name, value in (("spark.sql.ansi.enabled", "true"), ("spark.sql.caseSensitive", "false")):
        line = f'spark.conf.set("{name}", "{value}")'
        with refusal(line, "change your other queries too"):
            must_join_batches(spark)
        exec(line, {"spark": spark})
    must_join_batches(spark)
    must_join_streams(spark, home)
    with refusal("expected a SparkSession or SparkSession.builder"):
        sj.configure("spark")  # type: ignore[type-var]


def submitted(home: Path) -> None:
    """What ``spark-submit`` says, here in the environment, goes before what we would choose; then a running session."""
    del home
    spark = sj.session(conf={"spark.sql.session.timeZone": "UTC"})
    assert spark.sparkContext.master == "local[1]"
    assert spark.sparkContext.appName == "streamjoin"
    kept = ("spark.sql.shuffle.partitions", "spark.ui.enabled", "spark.sql.streaming.stateStore.providerClass")
    assert [spark.conf.get(name) for name in kept][:2] == ["3", "true"]
    assert "RocksDB" in str(spark.conf.get(kept[2]))
    spark.conf.set("spark.sql.caseSensitive", "true")
    assert sj.session() is spark
    assert [spark.conf.get(name) for name in ("spark.sql.shuffle.partitions", "spark.sql.caseSensitive")] == [
        "3",
        "true",
    ]
    sj.session(partitions=5, conf={"spark.sql.caseSensitive": "false"})
    assert [spark.conf.get(name) for name in ("spark.sql.shuffle.partitions", "spark.sql.caseSensitive")] == [
        "5",
        "false",
    ]
    with refusal("master: a session runs already, on local[1]; got 'local[2]'"):
        sj.session(master="local[2]")


def other_python(home: Path) -> None:
    """Spark's workers are to run with the Python on the PATH, which is not ours."""
    del home
    assert "PYSPARK_PYTHON" not in os.environ
    spark = SparkSession.builder.master("local[1]").getOrCreate()
    with refusal("which does not have streamjoin", f"PYSPARK_PYTHON={sys.executable}", "bare/python3"):
        must_join_batches(spark)


def connect(home: Path) -> None:
    """Spark Connect: no JVM to ask."""
    spark = SparkSession.builder.remote("local[2]").getOrCreate()
    spark.conf.set("spark.sql.shuffle.partitions", 2)
    must_join_batches(spark)
    left = stream(spark, home, "left", table(spark))
    with refusal("call streamjoin.configure(spark) once"):
        sj.join(left, left, on=ON, delay="1 minute", **WINDOW)
    assert sj.configure(spark) is spark
    must_be_ours(spark)
    must_join_streams(spark, home)
    one = sj.join(left, left, on=ON, delay="1 minute", select=["l.id", "l.x"], **WINDOW)
    other = sj.join(left, left, on=ON, delay="1 minute", how="left", select=["l.id", "l.x"], **WINDOW)
    with refusal("name: two joins that come together here"):
        sj.join(one, other, on="l.x = r.x", window=sj.within("1s"), time="join_time")
    assert "Grid(" in str(sj.explain(left, left, on=ON, delay="1 minute", **WINDOW))
    with refusal("on: a column is bound to its DataFrame", "name its side instead"):
        sj.join(left, left, on=left.x < left.id, delay="1 minute", **WINDOW)
    must_restart(spark, home)
    must_do_all_else(spark, home)
    must_carry_types(spark, home)
    must_use_tables(spark, home)
    must_keep_and_name(spark, home)
    must_slide(spark, home)
    must_be_watched(spark, home)


def must_be_ours(spark: SparkSession) -> None:
    """`session` takes a session of Connect as it is, but for what is given."""
    assert sj.session() is spark
    assert sj.session(partitions=3).conf.get("spark.sql.shuffle.partitions") == "3"
    assert sj.session(partitions=2) is spark
    with refusal("master: a session runs already, on a server of Spark Connect; got 'local[2]'"):
        sj.session(master="local[2]")
    with refusal("master: sc://elsewhere is a server of Spark Connect", "streamjoin.configure"):
        sj.session(master="sc://elsewhere")
    with refusal("packages: "):
        sj.session(packages=["delta"])


def must_do_all_else(spark: SparkSession, home: Path) -> None:
    """Order, count windows, every other `how`, aggregates, as-of joins: a stream and its rest are what the batch is."""
    rows = table(spark, 300)
    sides = rows, table(spark, 300, seed=5)
    streams = stream(spark, home, "one", sides[0]), stream(spark, home, "two", sides[1])
    near = {"on": lambda l, r: F.abs(l.x - r.x) <= 40, "time": "ts"}
    asked: list[tuple[Any, dict[str, Any]]] = [
        (sj.join, {**near, "window": sj.within("10s"), "how": "full", "ordered": True}),
        (sj.join, {**near, "window": sj.last(50), "select": ["l.id", "r.id AS other"]}),
        (sj.join, {**near, "window": sj.within("10s"), "how": "right"}),
        (sj.join, {**near, "window": sj.within("10s"), "how": "left_semi", "ordered": True}),
        (sj.join, {"on": "abs(l.x - r.x) <= 1", "time": "ts", "window": sj.within("10s"), "how": "left_anti"}),
        (sj.aggregate, {**near, "window": sj.within("10s"), "select": ["l.id", "count(*) AS n", "max(r.x) AS most"]}),
        (sj.asof, {**near, "tolerance": "10s", "direction": "nearest", "select": ["l.id", "r.id AS other"]}),
    ]
    for number, (verb, given) in enumerate(asked):
        place = home / f"else{number}"
        late = {**given, "delay": "1 s"}
        assert sj.check(place, *streams, **late, of=verb).startswith("begins")
        writer = verb(*streams, **late).writeStream.option("checkpointLocation", str(place))
        writer.trigger(availableNow=True).start(str(home / f"found{number}")).awaitTermination()
        found = spark.read.parquet(str(home / f"found{number}")).collect()
        found += sj.flush(place, *streams, **late, of=verb).collect()
        wanted = verb(*sides, **given).collect()
        assert len(wanted) > 200, "too few results to tell"
        assert values(found) == values(wanted), (verb, given)


def must_carry_types(spark: SparkSession, home: Path) -> None:
    """Columns of every type travel unchanged, in a stream and a batch."""
    spark.conf.set("spark.sql.timeType.enabled", "true")
    numbers = feed(home, "ts timestamp, n int", [[{"ts": n * 1_000_000, "n": n} for n in range(3)]] * 2)
    within = {"on": "l.n = r.n", "window": sj.within("2 seconds"), "time": "ts"}
    types = [type for type in PAYLOADS if type != "void"]
    rows = typed(numbers.table(spark), types)
    wanted = spark_join(rows, rows, "l.n = r.n", 2_000_000)
    batch = sj.join(rows, rows, **within)
    assert [field.dataType for field in batch.schema] == [field.dataType for field in wanted.schema]
    assert values(batch.collect()) == values(wanted.collect())
    sides = [typed(numbers.stream(spark), types) for _ in range(2)]
    assert values(run(sj.join(*sides, delay="10 seconds", **within)).rows) == values(wanted.collect())


def must_use_tables(spark: SparkSession, home: Path) -> None:
    """Tables of a catalog are source and sink."""
    left, right = table(spark), table(spark, seed=1)
    left.write.saveAsTable("trades")
    right.write.saveAsTable("quotes")
    sides = [spark.readStream.table(name) for name in ("trades", "quotes")]
    writer = sj.join(*sides, on=ON, delay="1 min", **WINDOW).writeStream
    writer = writer.option("checkpointLocation", str(home / "of_tables")).trigger(availableNow=True)
    writer.toTable("near").awaitTermination()
    must_agree(spark.table("near").collect(), left, right)


def must_keep_and_name(spark: SparkSession, home: Path) -> None:
    """Rows without a time are kept, results have ids: the same in a stream and a batch."""
    rows = table(spark, 300).selectExpr("CASE WHEN id % 10 > 0 THEN ts END AS ts", "id", "x")
    sides = rows, table(spark, 300, seed=5)
    streams = stream(spark, home, "timeless", sides[0]), stream(spark, home, "timed", sides[1])
    near = {"on": "abs(l.x - r.x) <= 40", "time": "ts", "late": "keep"}
    asked: list[tuple[Any, dict[str, Any]]] = [
        (sj.join, {**near, "window": sj.within("10s"), "result_id": True}),
        (sj.asof, {**near, "tolerance": "10s", "how": "inner", "select": ["l.id", "r.id AS other"]}),
        (sj.aggregate, {**near, "window": sj.within("10s"), "select": ["l.id", "count(*) AS n"]}),
    ]
    for number, (verb, given) in enumerate(asked):
        wanted = verb(*sides, **given)
        if "result_id" in given:
            told = wanted.where("late_reason IS NULL").select("result_id", "id_l", "id_r").distinct()
            assert told.select("result_id").distinct().count() == told.count() > 250
        found = run(verb(*streams, delay="1 min", **given)).rows
        if verb is not sj.join:  # what waits is as without
            place = home / f"kept{number}"
            writer = verb(*streams, delay="1 min", **given).writeStream.option("checkpointLocation", str(place))
            writer.trigger(availableNow=True).format("noop").start().awaitTermination()
            found += sj.flush(place, *streams, delay="1 min", of=verb, **given).collect()
        assert sum(row["late_reason"] == "no time" for row in found) == 30
        assert values(found) == values(wanted.collect()), verb


def must_slide(spark: SparkSession, home: Path) -> None:
    """Windows that slide, in a batch and in a stream as far as the watermark has passed them, as Spark's own."""
    rows = table(spark, 300).selectExpr("ts", "id % 3 AS g", "x")
    window = F.window("ts", "1 minute", "10 seconds")
    wanted = rows.groupBy(window, "g").agg(F.expr("count(*) AS n"), F.expr("max(x) AS most"))
    asked = {"size": "1 minute", "every": "10 seconds", "by": "g", "time": "ts"}
    asked |= {"select": ["count(*) AS n", "max(x) AS most"]}
    found = sj.sliding_aggregate(rows, **asked)
    assert values(found.drop("window_time").collect()) == values(wanted.collect())
    rows.coalesce(1).write.parquet(str(home / "slides"))
    spark.sql("SELECT timestamp'2027-01-01' AS ts, 0L AS g, 0 AS x").coalesce(1).write.mode("append").parquet(
        str(home / "slides")
    )
    source = spark.readStream.schema(rows.schema).option("maxFilesPerTrigger", 1).parquet(str(home / "slides"))
    slid = sj.sliding_aggregate(source, delay="0 s", **asked)
    found = slid.where("window.end < timestamp'2026-12-01'").drop("window_time")
    assert values(run(found).rows) == values(wanted.collect())


def must_be_watched(spark: SparkSession, home: Path) -> None:
    """A dashboard shows a query and how it ended, `advise` says what to expect of one."""
    rows = table(spark, 300)
    rows.repartition(4).write.parquet(str(home / "parts"))
    source = spark.readStream.schema(rows.schema).option("maxFilesPerTrigger", 1).parquet(str(home / "parts"))
    with sj.dashboard(spark) as page:
        joined = sj.join(source, source, on=ON, delay="1 min", **WINDOW)
        query = joined.writeStream.format("noop").queryName("near").trigger(availableNow=True).start()
        query.awaitTermination()
        seen = await_query(page, "near", lambda found: found["ended"] is not None)
    assert sum(sample["joins"]["streamjoin"]["rows_left"] for sample in seen["samples"] if sample["joins"]) == 300
    assert "of the last 4 micro-batches" in str(sj.advise(query, calibration="none"))


def must_restart(spark: SparkSession, home: Path) -> None:
    """Two joins in a chain go on from their checkpoint and tell their figures; another one is refused."""
    rows = table(spark, 300)
    rows.where("id % 2 = 0").coalesce(1).write.parquet(str(home / "halves"))

    def once(reach: str = "10 min") -> int:
        """How many left rows the first join saw."""
        source = spark.readStream.schema(rows.schema).parquet(str(home / "halves"))
        late = {"delay": "10 min"}
        neighbours = sj.join(
            source, source, on="l.id = r.id + 1", how="left", select=["l.id AS id", "r.id AS other"], **late, **WINDOW
        )
        chained = {"time": ("join_time", "ts"), "window": sj.within(reach), "delay": (None, "10 min")}
        found = sj.join(neighbours, source, on="l.id = r.id", select=["l.id AS id", "l.other AS other"], **chained)
        writer = found.writeStream.option("checkpointLocation", str(home / "checkpoint"))
        query = writer.trigger(availableNow=True).start(str(home / "pairs"))
        query.awaitTermination()
        return sum(done.rows_left for done in read_all_progress(query))

    assert once() == 150
    rows.where("id % 2 = 1").coalesce(1).write.mode("append").parquet(str(home / "halves"))
    assert once() == 150
    found = spark.read.parquet(str(home / "pairs")).selectExpr("id", "other").collect()
    # Every row but the first has a neighbour, which came in the other batch; the first waits on.
    assert sorted(map(tuple, found)) == [(n, n - 1) for n in range(1, 300)]
    rows.coalesce(1).write.mode("append").parquet(str(home / "halves"))
    with pytest.raises(StreamingQueryException, match="This checkpoint was written by another join"):
        once("11 min")


SCENARIOS: dict[str, Callable[[Path], None]] = {
    scenario.__name__: scenario for scenario in (plain, foreign, submitted, other_python, connect)
}

if __name__ == "__main__":
    SCENARIOS[sys.argv[1]](Path(sys.argv[2]))
    print("all is well")  # noqa: T201
