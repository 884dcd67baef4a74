"""A Spark session that has what a join needs: one of our making, or the user's."""

import os
import sys
from collections.abc import Sequence
from typing import Any, TypeVar, cast

from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from streamjoin.errors import StreamJoinError
from streamjoin.spark.compat import (
    ANY_MASTER,
    RELEASE,
    asks_for_connect,
    is_classic,
    read_options,
    read_setting,
    read_submitted,
)
from streamjoin.spark.java import ensure_java
from streamjoin.spark.packages import PACKAGES_SETTING, find_settings
from streamjoin.spark.settings import ADVISED, ARROW_BYTES, LOCAL_FILES, MEANING, STREAMING, WHEN_MADE

SessionOrBuilder = TypeVar("SessionOrBuilder", SparkSession, SparkSession.Builder)


def session(
    app_name: str = "streamjoin",
    *,
    master: str | None = None,
    partitions: int | None = None,
    conf: dict[str, str] | None = None,
    packages: Sequence[str] = (),
) -> SparkSession:
    """A local Spark session set up for joins; where one runs, that one, with what joins of streams need added.

    What a running session (one of Spark Connect, too), ``spark-submit`` or ``spark-defaults.conf`` say is kept, but for
    what is given here. Else `master` is ``local[cores,4]``, so that a task that fails is tried again; `partitions`, the
    number of shuffle partitions, is one per core. `conf` holds any other settings of Spark. `packages` names what Spark
    loads from Maven when it starts, for the installed release: ``"kafka"``, ``"delta"``.

    >>> session(partitions=2).conf.get("spark.sql.shuffle.partitions")
    '2'
    """
    given = dict(conf or {})
    if partitions is not None:
        given["spark.sql.shuffle.partitions"] = str(partitions)
    if (running := _find_running(master)) is None:
        spark = _start(app_name, master, find_settings(packages, RELEASE, given))
    else:
        spark = configure(running)
        _check_loaded(spark, packages)
        _check_master(spark, master)
        for name, value in given.items():
            spark.conf.set(name, value)
    if is_classic(spark) and (spark.sparkContext.master or "").startswith("local"):
        for name, value in LOCAL_FILES.items():
            if read_setting(spark, name, declared=False) is None:
                spark.conf.set(name, value)
    return spark


def _find_running(master: str | None) -> SparkSession | None:
    """The session that runs already, or that of Spark Connect for which the environment asks."""
    if master and master.startswith("sc://"):
        raise StreamJoinError(
            f"master: {master} is a server of Spark Connect, which has a master of its own. Make the session yourself, "
            f'SparkSession.builder.remote("{master}").getOrCreate(), and give it to streamjoin.configure'
        )
    active = SparkSession.getActiveSession()
    if active is not None and not is_classic(active):
        return active
    return SparkSession.builder.getOrCreate() if active is not None or asks_for_connect() else None


def _check_master(spark: SparkSession, master: str | None) -> None:
    where = spark.sparkContext.master if is_classic(spark) else "a server of Spark Connect"
    if master and master != where:
        raise StreamJoinError(
            f"master: a session runs already, on {where}; got {master!r}. Stop it first, spark.stop(), or leave out "
            "master="
        )


def _check_loaded(spark: SparkSession, packages: Sequence[str]) -> None:
    """Refuse a running session that was started without the packages: Spark loads none later."""
    have = (read_setting(spark, PACKAGES_SETTING, declared=False) or "").split(",")
    wanted = find_settings(packages, RELEASE).get(PACKAGES_SETTING)
    if lacking := [one for one in wanted.split(",") if one not in have] if wanted else []:
        raise StreamJoinError(
            f"packages: a session runs already, without {', '.join(lacking)}. Stop it first, spark.stop(), or leave "
            "out packages= if it has the same by other means"
        )


def _make_session(app_name: str, master: str | None, given: dict[str, str]) -> SparkSession:
    ensure_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    cores = os.cpu_count() or 1
    told = read_submitted(given)
    if told.get("spark.master", ANY_MASTER) == ANY_MASTER:  # which spark-submit says of itself where nobody does
        told["spark.master"] = f"local[{cores},4]"
    if master:
        told["spark.master"] = master
    settings = {
        "spark.app.name": app_name,
        "spark.sql.shuffle.partitions": str(cores),
        "spark.log.level": "ERROR",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **{wanted.name: wanted.value for wanted in (*MEANING, *STREAMING, *ADVISED, ARROW_BYTES)},
        **WHEN_MADE,
        **told,
        **given,
    }
    builder = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _start(app_name: str, master: str | None, given: dict[str, str]) -> SparkSession:
    """A session; where Java ends before it begins, what it was to load is named."""
    try:
        return _make_session(app_name, master, given)
    except PySparkRuntimeError as error:
        asked = given.get(PACKAGES_SETTING)
        if error.getCondition() != "JAVA_GATEWAY_EXITED" or not asked:
            raise
        raise StreamJoinError(
            f"packages: Java ended before Spark began, with {asked} to load. Most likely your Maven lacks it, or a jar "
            "that it needs, for this release of Spark: take a release that has them, or name another repository with "
            "conf={'spark.jars.repositories': ...}"
        ) from None


def configure(spark: SessionOrBuilder) -> SessionOrBuilder:
    """Give a session of yours, or its builder, the settings that joins of streams need; returns what it was given.

    On a session it sets ``spark.sql.streaming.*`` alone: the RocksDB state store, its changelog and safe checkpoint
    format, and the `min` policy for watermarks. Queries started before, and checkpoints that exist, keep their own. A
    builder is given Unix sockets for Spark's Python workers too, which a session that runs can no longer take.

    >>> configure(spark).conf.get("spark.sql.streaming.multipleWatermarkPolicy")
    'min'
    """
    wanted, told = (*STREAMING, *ADVISED), cast("Any", spark)  # a session or a builder of Connect's is of another class
    if hasattr(told, "getOrCreate"):
        given = read_options(told)
        lacking = {one.name: one.value for one in wanted if not one.accepts(given.get(one.name))}
        for name, value in (lacking | WHEN_MADE).items():
            told.config(name, value)
    elif hasattr(told, "conf"):
        for one in wanted:
            if not one.holds(told):
                told.conf.set(one.name, one.value)
    else:
        raise StreamJoinError(f"configure: got {spark!r}; expected a SparkSession or SparkSession.builder")
    return spark
