"""All that depends on which Spark it is: releases 4.0 to 4.3, classic or Connect.

On Connect there is no JVM to ask: analysis waits until a schema is asked for, whether a plan is deterministic is not
known, and no listener of ours hears that a query has ended.
"""

import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from typing import Any, ClassVar

import pyarrow as pa
import pyspark
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.streaming.listener import StreamingQueryListener
from pyspark.sql.types import DataType
from pyspark.sql.utils import is_remote

RELEASE = pyspark.__version__
VERSION = tuple(int(part) for part in RELEASE.split(".")[:2])
"""Of the client; Spark's own rules let a Connect client differ from its server, which then has the last word."""

UTC = "UTC"
UNIX_SOCKETS = "spark.python.unix.domain.socket.enabled" if VERSION >= (4, 1) else None
"""The setting by which Spark talks to its Python workers without TCP; a release before 4.1 has none."""

STATE_VALUE_BYTES = 16 << 10 if RELEASE in ("4.0.0", "4.0.1") else 32 << 20
"""The largest value that goes into state: Spark holds several copies of it while it travels. The first two releases
read no more of a message than has arrived (SPARK-53870), so theirs must fit into one packet."""

READS_STATE = VERSION >= (4, 1)
"""Whether Spark's source for state reads checkpoints in the format that joins write; on 4.0 it fails to."""

_PACKAGE = "org.apache.spark.sql.execution.streaming" + (".checkpointing" if VERSION >= (4, 1) else "")
FILE_MANAGER = f"{_PACKAGE}.FileSystemBasedCheckpointFileManager"


def is_classic(spark: SparkSession) -> bool:
    """Whether the session's JVM can be asked; not so on Connect, whose sessions are of another class."""
    return isinstance(spark, SparkSession)


def asks_for_connect() -> bool:
    """Whether the environment asks for sessions of Connect."""
    return is_remote() or "SPARK_REMOTE" in os.environ or os.environ.get("SPARK_API_MODE", "").lower() == "connect"


def read_setting(spark: SparkSession, name: str, *, declared: bool = True) -> str | None:
    """A setting as Spark goes by it, with its default; None where it has neither.

    `declared` says that Spark knows the setting and may have a default for it. Asked without a default of ours: Spark
    checks one as if it were set.
    """
    found = spark.conf.get(name, None)
    if found is not None or not declared:
        return found
    try:
        return spark.conf.get(name)
    except PySparkException as error:
        if error.getCondition() == "SQL_CONF_NOT_FOUND":
            return None
        raise


def read_options(builder: Any) -> Mapping[str, str]:
    """What was said to the builder of a session so far; nothing where it does not tell."""
    return {name: str(value) for name, value in getattr(builder, "_options", {}).items()}


ANY_MASTER = "local[*]"
_at_launch: dict[str, str] = {}  # settings of ours that Java was started with, so that they are nobody else's


def read_submitted(given: Mapping[str, str]) -> dict[str, str]:
    """What ``spark-submit``, its arguments in the environment and ``spark-defaults.conf`` say.

    Java must run to be asked. It is started with the settings that are `given`, some of which, as its memory, it takes
    at no other time.
    """
    if not SparkContext._gateway:
        _at_launch.update(given)
    SparkContext._ensure_initialized(conf=SparkConf(loadDefaults=False).setAll([*given.items()]))
    told = {name: value for name, value in SparkConf().getAll() if _at_launch.get(name) != value}
    if told.get("spark.app.name") == "pyspark-shell":  # what spark-submit says where nobody called it
        for name in ("spark.app.name", "spark.ui.showConsoleProgress"):
            told.pop(name, None)
    return told


def find_python(spark: SparkSession) -> str | None:
    """The command by which this host starts Spark's Python workers; None where workers run elsewhere."""
    if not is_classic(spark) or not (spark.sparkContext.master or "").startswith("local"):
        return None
    return str(spark.sparkContext.pythonExec)


# Frames


def analyze(frame: DataFrame) -> None:
    """Have Spark look at a plan now, so that what is wrong with it is raised here."""
    frame.schema  # noqa: B018 - on Connect nothing is analyzed before


@contextmanager
def ask_quietly() -> Iterator[None]:
    """Keep PySpark from logging what Spark refuses meanwhile: we ask on trial, and say ourselves what is wrong."""
    asker, logger = threading.get_ident(), PySparkLogger.getLogger("SQLQueryContextLogger")

    def is_of_others(record: logging.LogRecord) -> bool:
        return record.thread != asker

    logger.addFilter(is_of_others)
    try:
        yield
    finally:
        logger.removeFilter(is_of_others)


def is_deterministic(frame: DataFrame) -> bool:
    """Whether a plan yields the same rows each time; True where Spark cannot be asked."""
    if not is_classic(frame.sparkSession):
        return True
    return bool(frame._jdf.queryExecution().analyzed().deterministic())


# Types

_TAKES_ZONE = "timezone" in signature(to_arrow_type).parameters


def find_zone(spark: SparkSession) -> str:
    """The zone that Spark wants on timestamps that Arrow hands to it; before 4.2 always UTC."""
    return read_setting(spark, "spark.sql.session.timeZone") or UTC if _TAKES_ZONE else UTC


def arrow_type(type: DataType, zone: str) -> pa.DataType:
    """The type in which Spark hands a column over."""
    convert: Any = to_arrow_type
    known = {"timezone": zone} if _TAKES_ZONE else {}
    return convert(type, error_on_duplicated_field_names_in_struct=True, **known)


# Queries

ENDS_BY_ITSELF = VERSION >= (4, 2)
"""Whether a query of a source in Python ends with ``availableNow`` after as many micro-batches as the source wants."""

TriggerAvailableNow: type = object  # before 4.2 a source in Python cannot end by itself
if ENDS_BY_ITSELF:
    from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow

    TriggerAvailableNow = SupportsTriggerAvailableNow


def find_observed(report: Any, name: str) -> Mapping[str, Any] | None:
    """What was observed under a name in a progress report, by column."""
    found = report["observedMetrics"].get(name)
    if found is None:
        return None
    row: dict[str, Any] = found.asDict()
    if row.keys() == {"schema", "values"}:  # so on Connect
        return dict(zip((field["name"] for field in row["schema"]["fields"]), row["values"], strict=True))
    return row


def _ignore(*_: object) -> None:
    """Do nothing about what happens to a query."""


def listen(
    spark: SparkSession,
    *,
    started: Callable[[str, str | None], None] = _ignore,
    progressed: Callable[[str], None] = _ignore,
    ended: Callable[[str, str, str | None], None] = _ignore,
) -> Callable[[], None]:
    """Call functions, from a thread of Spark's, for what happens to any query; returns the function that stops it.

    `started` is told run and name, `progressed` each report as JSON, `ended` query, run and, if it failed, why.
    """
    told = _Told(started, progressed, ended)
    listener: Any = _LeanListener(told) if is_classic(spark) else _ConnectListener(told)
    spark.streams.addListener(listener)
    return lambda: spark.streams.removeListener(listener)


@dataclass(frozen=True)
class _Told:
    """The functions that a listener calls."""

    started: Callable[[str, str | None], None]
    progressed: Callable[[str], None]
    ended: Callable[[str, str, str | None], None]


class _LeanListener:
    """Spark's own base class for listeners fetches every part of every progress report from Java, value by value.

    That takes some 60 ms of a batch on two cores. This one fetches a report once, as text, and only where it is wanted.
    """

    def __init__(self, told: "_Told") -> None:
        self._told = told

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        """Tell run and name."""
        self._told.started(str(event.runId().toString()), event.name())

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        """Tell the report."""
        self._told.progressed(str(event.progress().json()))

    def onQueryIdle(self, event: object) -> None:  # noqa: N802
        """Nothing to do."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        """Tell which one, and why if it failed."""
        failure = event.exception()
        reason = str(failure.get()) if failure.isDefined() else None
        self._told.ended(str(event.id().toString()), str(event.runId().toString()), reason)

    @cached_property
    def _jlistener(self) -> Any:
        """What Spark registers, and later takes away."""
        jvm: Any = SparkContext._jvm
        return jvm.PythonStreamingQueryListenerWrapper(self)

    class Java:
        """What Java sees."""

        implements: ClassVar = ["org.apache.spark.sql.streaming.PythonStreamingQueryListener"]


class _ConnectListener(StreamingQueryListener):
    """The same where events come from a server, as objects of Python's."""

    def __init__(self, told: "_Told") -> None:
        self._told = told

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        """Tell run and name."""
        self._told.started(str(event.runId), event.name)

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        """Tell the report."""
        self._told.progressed(event.progress.json)

    def onQueryIdle(self, event: object) -> None:  # noqa: N802
        """Nothing to do."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        """Tell which one, and why if it failed."""
        self._told.ended(str(event.id), str(event.runId), event.exception)
