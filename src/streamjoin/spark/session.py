"""A Spark session with what the join needs, and the check that a session has it."""

import os
import sys

from pyspark.sql import SparkSession

from streamjoin.errors import StreamJoinError
from streamjoin.spark.java import ensure_java

_STATE = "spark.sql.streaming.stateStore"
_PROVIDER = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

NEEDED = {
    f"{_STATE}.providerClass": (_PROVIDER, "the join keeps its windows in several state variables"),
    f"{_STATE}.rocksdb.changelogCheckpointing.enabled": (
        "true",
        "otherwise every micro-batch uploads whole state files, not what it changed",
    ),
    "spark.sql.streaming.multipleWatermarkPolicy": (
        "min",
        "under any other policy the faster input's watermark would drop rows of the slower one that can still match",
    ),
    "spark.sql.ansi.enabled": ("true", "a condition means what it means in standard SQL"),
    "spark.sql.caseSensitive": ("false", "names in a condition are matched without regard to case"),
}
"""The settings that a join depends on: their values, and why. All can be set on a running session."""

UNIX_SOCKETS = "spark.python.unix.domain.socket.enabled"
"""Spark and its Python workers then talk without TCP. With it, when both ends of a connection have much to say, Linux
can lose an acknowledgement and wait for minutes (docs/decisions/0008). Set when the session is made, or never."""

_ADVISED = {
    f"{_STATE}.checkpointFormatVersion": "2",  # a task that was given up cannot overwrite what its successor wrote
    "spark.sql.execution.arrow.maxBytesPerBatch": str(16 << 20),
    UNIX_SOCKETS: "true",
}

_FILES = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
LOCAL_FILES = {"spark.sql.streaming.checkpointFileManagerClass": _FILES}
"""For checkpoints on a local disk. There the manager that Spark takes by default starts a process, `readlink`, for each
path it touches, some forty in a micro-batch; this one renames as atomically and starts none for it."""


def session(
    app_name: str = "streamjoin",
    *,
    master: str | None = None,
    partitions: int | None = None,
    conf: dict[str, str] | None = None,
) -> SparkSession:
    """A local Spark session set up for joins, or a running one with these settings added.

    `master` is ``local[cores,4]`` by default, so that a task that fails is tried again; `partitions` is the number of
    shuffle partitions, by default one per core; `conf` holds any other settings of Spark.

    >>> session(partitions=2).conf.get("spark.sql.shuffle.partitions")
    '2'
    """
    cores = os.cpu_count() or 1
    master = master or f"local[{cores},4]"
    settings = {
        "spark.sql.shuffle.partitions": str(partitions or cores),
        "spark.log.level": "ERROR",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **{name: value for name, (value, _) in NEEDED.items()},
        **_ADVISED,
        **(LOCAL_FILES if master.startswith("local") else {}),
        **(conf or {}),
    }
    ensure_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(app_name).master(master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def check(spark: SparkSession, *, streaming: bool) -> None:
    """Refuse a session that would make the join wrong or slow, and say what to change."""
    wrong = []
    for name, (value, reason) in NEEDED.items():
        if name.startswith("spark.sql.streaming.") and not streaming:
            continue
        found = spark.conf.get(name, "")
        if (found or "").lower() != value.lower():
            wrong.append(f'spark.conf.set("{name}", "{value}")  # now {found or "not set"}: {reason}')
    if wrong:
        raise StreamJoinError(
            "The Spark session lacks settings that the join depends on. Make it with streamjoin.session(), or say:\n"
            + "\n".join(wrong)
        )
