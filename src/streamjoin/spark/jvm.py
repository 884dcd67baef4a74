"""Queries as Spark's JVM knows them, and files beside their checkpoints: classic sessions alone, never Connect.

Some of it is behind Spark's public API, the same in 4.0 to 4.3: which checkpoint a query has, how it is made to fail
before it begins. Where a later Spark lacks a part, the call raises, the driver goes without, and tasks notice what it
could not.
"""

import json
from collections.abc import Mapping
from typing import Any, cast

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from streamjoin.errors import StreamJoinError
from streamjoin.paths import beneath
from streamjoin.spark.compat import is_classic


class StartedQuery:
    """A run of a query, which lasts until the query is stopped, fails or ends."""

    def __init__(self, spark: SparkSession, query: Any) -> None:
        self._jvm: Any = spark._jvm
        self._query = query
        self.id, self.run = str(query.id().toString()), str(query.runId().toString())

    @property
    def checkpoint(self) -> str:
        """Where its checkpoint lies."""
        return str(self._query.streamingQuery().resolvedCheckpointRoot())

    @property
    def plan(self) -> str:
        """Its analyzed plan, in Spark's words."""
        return str(self._query.streamingQuery().analyzedPlan().toString())

    @property
    def ends_by_itself(self) -> bool:
        """Whether it processes what is there and ends."""
        return str(self._query.streamingQuery().trigger().toString()).startswith(("AvailableNow", "OneTime"))

    @property
    def is_active(self) -> bool:
        """Whether it still runs."""
        return bool(self._query.isActive())

    def fail(self, message: str) -> None:
        """End the query before it begins, with this message: to be called while it starts.

        It finds itself stopped once it has looked up its sources, and what it died of is what we say.
        """
        execution, jvm = self._query.streamingQuery(), self._jvm
        said = {"id": self.id, "runId": self.run, "message": message}
        cause = jvm.java.lang.RuntimeException(message)
        failure = jvm.org.apache.spark.sql.streaming.StreamingQueryException(
            "", cause, "", "", "STREAM_FAILED", jvm.PythonUtils.toScalaMap(said)
        )
        getattr(execution, "streamDeathCause_$eq")(failure)
        state = execution.state()
        package = str(state.get().getClass().getName()).rpartition(".")[0]
        ended: Any = jvm
        for name in [*package.split("."), "TERMINATED$", "MODULE$"]:
            ended = getattr(ended, name)
        state.set(ended)

    def read_reports(self) -> list[Mapping[str, Any]]:
        """Its progress reports that Spark remembers."""
        return [json.loads(str(report.json())) for report in self._query.recentProgress()]


def find_query(spark: SparkSession, run: str) -> StartedQuery:
    """The query that is in this run."""
    active = cast("Any", spark)._jsparkSession.streams().active()
    return StartedQuery(spark, next(query for query in active if str(query.runId().toString()) == run))


# Files, wherever Spark can write a checkpoint


def read_file(spark: SparkSession, directory: str, name: str) -> str | None:
    """The text of a file; None where there is none. On Connect a job of Spark's reads it."""
    if not is_classic(spark):
        return _read_remotely(spark, beneath(directory, name))
    system, path, jvm = _find_file(spark, directory, name)
    try:
        if not system.exists(path):
            return None
        stream = system.open(path)
        try:
            return str(jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()
    except Py4JError as error:
        raise StreamJoinError(f"cannot read {name} in {directory}: {_first_line(error)}") from error


def write_file(spark: SparkSession, directory: str, name: str, text: str) -> None:
    """Write a file whole, in place of what was there."""
    system, path, _ = _find_file(spark, directory, name)
    draft = path.suffix(".draft")
    stream = system.create(draft, True)
    stream.write(bytearray(text.encode()))
    stream.close()
    system.delete(path, False)
    system.rename(draft, path)


def may_have_commits(spark: SparkSession, checkpoint: str) -> bool:
    """Whether a query has committed a micro-batch to a checkpoint; True on Connect, where only a job could tell."""
    if not is_classic(spark):
        return True
    return bool(list_names(spark, checkpoint, "commits"))


def list_names(spark: SparkSession, directory: str, name: str) -> list[str]:
    """The names of what lies in a directory below this one; none where there is no such directory."""
    system, path, _ = _find_file(spark, directory, name)
    if not system.exists(path):
        return []
    return [str(status.getPath().getName()) for status in system.listStatus(path)]


def _find_file(spark: SparkSession, directory: str, name: str) -> tuple[Any, Any, Any]:
    jvm: Any = spark._jvm
    path = jvm.org.apache.hadoop.fs.Path(jvm.org.apache.hadoop.fs.Path(directory), name)
    return path.getFileSystem(cast("Any", spark)._jsparkSession.sessionState().newHadoopConf()), path, jvm


def _read_remotely(spark: SparkSession, path: str) -> str | None:
    from pyspark.errors import AnalysisException

    try:
        row = spark.read.text(path, wholetext=True).first()
    except AnalysisException:
        return None
    return None if row is None else str(row[0])


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
