"""The settings of Spark that a join depends on, and those that make it faster."""

from collections.abc import Iterator
from dataclasses import dataclass

import pyspark
from pyspark.sql import SparkSession

from streamjoin.errors import StreamJoinError
from streamjoin.spark import NEWEST
from streamjoin.spark.compat import FILE_MANAGER, UNIX_SOCKETS, VERSION, read_setting

_STATE = "spark.sql.streaming.stateStore"
_PROVIDER = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


@dataclass(frozen=True)
class Setting:
    """A setting, the value that we want, and what happens under another one."""

    name: str
    value: str
    otherwise: str
    declared: bool = True
    """Whether Spark tells a default."""

    def holds(self, spark: SparkSession) -> bool:
        """Whether the session has a value that serves."""
        return self.accepts(self.read(spark))

    def accepts(self, value: str | None) -> bool:
        """Whether a value serves; a vendor's own RocksDB does."""
        found = (value or "").lower()
        return "rocksdb" in found if self.value == _PROVIDER else found == self.value.lower()

    def read(self, spark: SparkSession) -> str | None:
        """What the session has."""
        return read_setting(spark, self.name, declared=self.declared)

    def line(self) -> str:
        """How to set it, in Python."""
        return f'spark.conf.set("{self.name}", "{self.value}")'


MEANING = (
    Setting("spark.sql.ansi.enabled", "true", "a condition would not mean what it means in standard SQL"),
    Setting(
        "spark.sql.caseSensitive", "false", "columns whose names differ in case alone would be taken for one another"
    ),
)
"""What every join depends on. Other queries of the session mean something else under them, so the user sets them."""

STREAMING = (
    Setting(f"{_STATE}.providerClass", _PROVIDER, "Spark's other state store cannot hold a join's windows"),
    Setting(
        "spark.sql.streaming.multipleWatermarkPolicy",
        "min",
        "the faster input's watermark would drop rows of the slower one that can still match",
    ),
)
"""What a join of streams depends on besides."""

ADVISED = (
    Setting(
        f"{_STATE}.rocksdb.changelogCheckpointing.enabled",
        "true",
        "every micro-batch uploads whole state files, not only what it changed",
        declared=False,
    ),
    Setting(
        f"{_STATE}.checkpointFormatVersion",
        "2",
        "a task that was given up but still runs may overwrite the state that its successor wrote",
    ),
)
"""What makes a join of streams faster or safer, and can be set on a running session."""

ARROW_BYTES = Setting(
    "spark.sql.execution.arrow.maxBytesPerBatch",
    str(16 << 20),
    "Spark may hand several large blocks to Python at once, which takes more memory",
)

LOCAL_FILES = {"spark.sql.streaming.checkpointFileManagerClass": FILE_MANAGER}
"""For checkpoints on a local disk. There the manager that Spark takes by default starts a process, `readlink`, for each
path it touches, some forty in a micro-batch; this one renames as atomically and starts none for it."""

WHEN_MADE = {UNIX_SOCKETS: "true"} if UNIX_SOCKETS else {}
"""What only a session that is yet to be made can be given: Unix sockets. With TCP, when both ends of a connection have
much to say, Linux can lose an acknowledgement and wait for minutes (docs/decisions/0008)."""


def check_settings(spark: SparkSession, *, streaming: bool) -> None:
    """Refuse a session under which the join would mean something else, or could not run."""
    if wrong := [wanted for wanted in MEANING if not wanted.holds(spark)]:
        raise StreamJoinError(
            "The Spark session has settings under which a join would mean something else. They change your other "
            "queries too, so it is for you to set them:\n" + _list_lines(spark, wrong)
        )
    if streaming and (wrong := [wanted for wanted in STREAMING if not wanted.holds(spark)]):
        raise StreamJoinError(
            "The Spark session lacks settings that a join of streams depends on: call streamjoin.configure(spark) "
            "once before the join. It will set\n" + _list_lines(spark, wrong)
        )


def advise(spark: SparkSession, *, streaming: bool) -> Iterator[str]:
    """What the session could be given to run a join faster or more safely, with the line that does it."""
    if VERSION > NEWEST:
        yield f"Spark {pyspark.__version__} is newer than the releases that this streamjoin was tested with"
    lacking = [wanted for wanted in ADVISED if streaming and not wanted.holds(spark)]
    if lacking:
        names = " and ".join(f"{wanted.name} is not {wanted.value}: {wanted.otherwise}" for wanted in lacking)
        yield f"{names}. Call streamjoin.configure(spark)"
    if _read_bytes(read_setting(spark, ARROW_BYTES.name)) > int(ARROW_BYTES.value):
        yield f"{ARROW_BYTES.name} is above 16 MiB: {ARROW_BYTES.otherwise}. {ARROW_BYTES.line()}"
    if UNIX_SOCKETS and read_setting(spark, UNIX_SOCKETS, declared=False) != "true":
        yield (
            f"{UNIX_SOCKETS} is not set: Spark talks to its Python workers over TCP, which is slower and under heavy "
            "load may stand still for minutes. It can only be set when the session is made: "
            "streamjoin.configure(SparkSession.builder).getOrCreate()"
        )


def _list_lines(spark: SparkSession, wanted: list[Setting]) -> str:
    return "\n".join(f"{one.line()}  # now {one.read(spark) or 'not set'}: {one.otherwise}" for one in wanted)


def _read_bytes(value: str | None) -> int:
    """A size as Spark writes it: ``67108864b``; of one that it does not tell, 0."""
    return int(value.rstrip("b")) if value and value.rstrip("b").isdigit() else 0
