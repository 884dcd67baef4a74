"""A join that runs on the session of the tests and is fed step by step."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tests.spark.filejoin import FileJoin, Pairs, expected, write_inputs


@contextmanager
def settings(spark: SparkSession, values: Mapping[str, str]) -> Iterator[None]:
    """The session with these settings, for a while."""
    before = {name: spark.conf.get(name, None) for name in values}
    try:
        for name, value in values.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            if value is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, value)


class Live:
    """A running join of files: feed it, look at its results."""

    def __init__(self, spark: SparkSession, job: FileJoin, rows: int) -> None:
        self.job, self._spark, self._rows, self._fed = job, spark, rows, 0
        write_inputs(Path(job.home), files=0)
        writer = job.joined(spark).writeStream.format("memory").queryName(f"live_{id(self)}")
        self.query = writer.option("checkpointLocation", str(job.checkpoint)).start()

    def feed(self, *, skip: int = 0) -> None:
        """Let a file of either side arrive, be joined and be over; `skip` leaves out some time before."""
        self._fed += skip
        write_inputs(Path(self.job.home), files=1, first=self._fed, rows=self._rows)
        self._fed += 1
        self.query.processAllAvailable()

    @property
    def results(self) -> Pairs:
        found = self._spark.table(self.query.name).selectExpr("l", "r", "unix_micros(join_time)").toArrow()
        return Counter(zip(*(column.to_pylist() for column in found.columns), strict=True))

    @property
    def is_exact(self) -> bool:
        return self.results == expected(Path(self.job.home))

    @property
    def progress(self) -> list[dict[str, Any]]:
        """Of every micro-batch that had rows."""
        return [told for told in self.query.recentProgress if told["numInputRows"]]


@contextmanager
def live(spark: SparkSession, home: Path, *, rows: int = 300, conf: Mapping[str, str] | None = None) -> Iterator[Live]:
    """A join with a cache of its own, stopped at the end."""
    job = FileJoin(str(home), "3 seconds")
    with settings(spark, {"spark.streamjoin.cache.directory": str(job.cache), **(conf or {})}):
        running = Live(spark, job, rows)
    try:
        yield running
    finally:
        running.query.stop()
        spark.catalog.dropTempView(running.query.name)
