"""A streaming band join over files, as a program that can be killed: ``python -m tests.spark.filejoin {...}``.

Each micro-batch takes up one file of either side; the program ends when all files are processed. Where it is started
again with the same checkpoint, it goes on.
"""

import itertools
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

import streamjoin as sj
from streamjoin.cli.layout import parse_layout

BAND = 5
WINDOW_SECONDS = 15
FILE_SECONDS = 10
JITTER_SECONDS = 3
"""How far a row may be behind an earlier one."""

Pairs = Counter[tuple[int | None, int | None, int]]
"""Results as (left id, right id, join time in microseconds), each with its multiplicity."""

LAST = 10**9
"""The ids of the rows that come last, far after all others: they see to it that nobody else waits."""

GROUPS, EVERY_SECONDS, SLIDES = 7, 5, 4
"""Windows that slide: so many groups, a window every so many seconds, so many times as long."""

START_SECONDS = 10**9
"""When time begins in the files."""

SCHEMA = "id BIGINT, ts TIMESTAMP, x INT"


@dataclass(frozen=True)
class FileJoin:
    """What the program is told. `home` holds its inputs, checkpoint, results and cache."""

    home: str
    delay: str = "10 seconds"
    master: str = "local[2,4]"
    on: str = f"abs(l.x - r.x) <= {BAND}"
    layout: str = "auto"
    how: str = "inner"
    ordered: bool = False
    verb: str = "join"
    """Beside the matches themselves: their number (`aggregate`), the nearest (`asof`), windows of left rows alone."""
    conf: dict[str, str] = field(default_factory=dict)

    @property
    def cache(self) -> Path:
        return Path(self.home, "cache")

    @property
    def checkpoint(self) -> Path:
        return Path(self.home, "checkpoint")

    @property
    def sink(self) -> Path:
        return Path(self.home, "sink")

    @property
    def batches_done(self) -> int:
        """How many micro-batches were committed."""
        return sum(path.name.isdigit() for path in (self.checkpoint / "commits").glob("*"))

    def arguments(self) -> list[str]:
        """How to run this with `python`."""
        return ["-m", "tests.spark.filejoin", json.dumps(asdict(self))]

    def start(self, spark: SparkSession) -> StreamingQuery:
        """The query, on a session that is already there."""
        writer = self.write_results(self.joined(spark)).option("checkpointLocation", str(self.checkpoint))
        return writer.trigger(availableNow=True).start()

    def write_results(self, joined: DataFrame) -> Any:
        """A writer of the results into the sink."""
        return joined.writeStream.format("parquet").option("path", str(self.sink))

    def joined(self, spark: SparkSession) -> DataFrame:
        left, right = (
            spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(Path(self.home, side)))
            for side in ("left", "right")
        )
        asked: dict[str, Any] = {
            "time": "ts",
            "delay": self.delay,
            "layout": "auto" if self.layout == "auto" else parse_layout(self.layout),
        }
        if self.verb == "sliding_aggregate":
            return _slide(left, asked)
        asked |= {"on": self.on, "how": self.how}
        if self.verb == "asof":
            near = {"tolerance": f"{WINDOW_SECONDS} seconds", "direction": "nearest"}
            return sj.asof(left, right, select=["l.id AS l", "r.id AS r"], **near, **asked)
        asked["window"] = sj.within(f"{WINDOW_SECONDS} seconds")
        if self.verb == "aggregate":
            return sj.aggregate(left, right, select=["l.id AS l", "count(*) AS r"], **asked)
        return sj.join(left, right, select=["l.id AS l", "r.id AS r"], ordered=self.ordered, **asked)

    def results(self, spark: SparkSession) -> Pairs:
        """What the sink holds; a reader of Spark's sees committed files only."""
        rows = spark.read.parquet(str(self.sink)).where(f"coalesce(l, r) < {LAST}")
        found = rows.selectExpr("l", "r", "unix_micros(join_time) AS t").toArrow()
        return Counter(zip(*(found[name].to_pylist() for name in ("l", "r", "t")), strict=True))

    def sequence(self) -> list[tuple[int | None, int | None, int]]:
        """What the sink's files hold, in the order of the micro-batches that wrote them."""
        found: list[tuple[int | None, int | None, int]] = []
        logs = [log for log in Path(self.sink, "_spark_metadata").glob("*") if log.name.split(".")[0].isdigit()]
        files: dict[str, int] = {}
        for log in logs:  # one a micro-batch; a compacted one repeats those before it
            for line in log.read_text().splitlines()[1:]:
                path, batch = json.loads(line)["path"], int(log.name.split(".")[0])
                files[path] = min(batch, files.get(path, batch))
        for path in sorted(files, key=lambda path: files[path]):
            table = pq.read_table(path.removeprefix("file://"))
            times = table["join_time"].cast(pa.timestamp("us")).cast(pa.int64()).to_pylist()
            found += zip(table["l"].to_pylist(), table["r"].to_pylist(), times, strict=True)
        return [row for row in found if (row[0] if row[0] is not None else row[1]) < LAST]


def _slide(rows: DataFrame, asked: dict[str, Any]) -> DataFrame:
    """Windows as (start and group, count and greatest value, time of the window)."""
    slid = sj.sliding_aggregate(
        rows.selectExpr("*", f"id % {GROUPS} AS g"),
        size=f"{SLIDES * EVERY_SECONDS} seconds",
        every=f"{EVERY_SECONDS} seconds",
        by="g",
        select=["count(*) * 1000 + max(x) AS r"],
        **asked,
    )
    start = f"unix_seconds(window.start) - {START_SECONDS}"
    return slid.selectExpr(f"({start}) * 10000 + g AS l", "r", "window_time AS join_time")


def write_inputs(home: Path, *, files: int = 10, rows: int = 300, first: int = 0, seed: int = 1) -> None:
    """Write as many files a side, numbered from `first` on, of rows that are out of order by `JITTER_SECONDS`."""
    for side in ("left", "right"):
        random = np.random.default_rng([seed, first, side == "left"])
        Path(home, side).mkdir(parents=True, exist_ok=True)
        for number in range(first, first + files):
            seconds = np.sort(random.uniform(number, number + 1, rows)) * FILE_SECONDS
            seconds -= random.uniform(0, JITTER_SECONDS, rows)
            ids, values = np.arange(number * rows, (number + 1) * rows), random.integers(0, 1000, rows)
            _write(Path(home, side), number, ids, seconds, values)


def write_last(home: Path, files: int) -> None:
    """Write two more files a side, with one row each, far after the `files` that are there."""
    for side, number in itertools.product(("left", "right"), (files, files + 1)):
        _write(Path(home, side), number, np.array([LAST + number]), np.array([1e6 + number]), np.array([0]))


def _write(directory: Path, number: int, ids: Any, seconds: Any, values: Any) -> None:
    table = pa.table(
        {
            "id": ids.astype(np.int64),
            "ts": pa.array((seconds * 1e6).astype(np.int64) + START_SECONDS * 1_000_000, pa.timestamp("us", "UTC")),
            "x": values.astype(np.int32),
        }
    )
    path = directory / f"{number:04}.parquet"
    scratch = directory / f".{path.name}"
    pq.write_table(table, scratch)
    os.utime(scratch, (10**9 + number, 10**9 + number))  # Spark takes the oldest file first
    scratch.rename(path)


def expected(home: Path, how: str = "inner") -> Pairs:
    """What DuckDB finds in all rows at once: none of them is late under a delay of at least `JITTER_SECONDS`.

    A row without partner is decided when the window after it is over.
    """
    window = WINDOW_SECONDS * 1_000_000
    with duckdb.connect() as db:
        db.execute("SET TimeZone = 'UTC'")
        rows = db.execute(
            f"""SELECT l.id, r.id, greatest(l.t, r.t) + if(l.t IS NULL OR r.t IS NULL, {window}, 0)
            FROM (SELECT id, x, epoch_us(ts) AS t FROM '{home}/left/*.parquet' WHERE id < {LAST}) l
            {how.upper()} JOIN (SELECT id, x, epoch_us(ts) AS t FROM '{home}/right/*.parquet' WHERE id < {LAST}) r
            ON abs(l.x - r.x) <= {BAND} AND abs(l.t - r.t) <= {window}"""
        ).fetchall()
    return Counter(rows)


def expected_counts(home: Path) -> Pairs:
    """Each left row and the number of its matches, at the time when the window after it is over."""
    window = WINDOW_SECONDS * 1_000_000
    matches = Counter(left for left, right, _ in expected(home, "left").elements() if right is not None)
    table = pq.read_table(Path(home, "left"))
    times = zip(table["id"].to_pylist(), table["ts"].cast(pa.int64()).to_pylist(), strict=True)
    return Counter((n, matches[n], time + window) for n, time in times if n < LAST)


def expected_nearest(home: Path) -> Pairs:
    """Each left row and the nearest of its matches, at the time when the window after it is over."""
    window = WINDOW_SECONDS * 1_000_000
    with duckdb.connect() as db:
        db.execute("SET TimeZone = 'UTC'")
        rows = db.execute(
            f"""SELECT l.id, arg_min(r.id, (abs(l.t - r.t), r.t)), l.t + {window}
            FROM (SELECT id, x, epoch_us(ts) AS t FROM '{home}/left/*.parquet' WHERE id < {LAST}) l
            LEFT JOIN (SELECT id, x, epoch_us(ts) AS t FROM '{home}/right/*.parquet' WHERE id < {LAST}) r
            ON abs(l.x - r.x) <= {BAND} AND abs(l.t - r.t) <= {window} GROUP BY l.id, l.t"""
        ).fetchall()
    return Counter(rows)


def expected_windows(home: Path) -> Pairs:
    """What DuckDB finds in windows that slide, in the form of `_slide`."""
    size = SLIDES * EVERY_SECONDS
    with duckdb.connect() as db:
        db.execute("SET TimeZone = 'UTC'")
        rows = db.execute(
            f"""SELECT (start - {START_SECONDS}) * 10000 + g, count(*) * 1000 + max(x), (start + {size}) * 1000000 - 1
            FROM (SELECT x, id % {GROUPS} AS g, {EVERY_SECONDS} * (epoch_us(ts) // {EVERY_SECONDS * 1_000_000} - back)
                  AS start FROM '{home}/left/*.parquet', range({SLIDES}) slides(back) WHERE id < {LAST})
            GROUP BY start, g"""
        ).fetchall()
    return Counter(rows)


def expected_sequence(home: Path, how: str) -> list[tuple[int | None, int | None, int]]:
    """The same in order; no two rows of a side have one time, so times decide."""
    times = {
        side: dict(zip(table["id"].to_pylist(), table["ts"].cast(pa.int64()).to_pylist(), strict=True))
        for side in ("left", "right")
        for table in [pq.read_table(Path(home, side))]
    }

    def order(row: tuple[int | None, int | None, int]) -> tuple[int, int, int]:
        left, right, join_time = row
        return join_time, *(-1 if n is None else times[side][n] for side, n in (("left", left), ("right", right)))

    return sorted(expected(home, how).elements(), key=order)


def open_session(told: FileJoin, packages: Sequence[str] = ()) -> SparkSession:
    """The session of the program."""
    os.environ["TZ"] = "UTC"
    time.tzset()
    conf = {"spark.sql.session.timeZone": "UTC", "spark.streamjoin.cache.directory": str(told.cache)} | told.conf
    return sj.session("filejoin", master=told.master, partitions=2, conf=conf, packages=packages)


def main(told: FileJoin) -> None:
    spark = open_session(told)
    told.start(spark).awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(FileJoin(**json.loads(sys.argv[1])))
