"""Kafka's topics as DataFrames: JSON values by a schema, bad ones shown or kept, results under their id."""

import os
import re
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StringType, StructField, StructType

from streamjoin.errors import StreamJoinError
from streamjoin.spark.compat import RELEASE
from streamjoin.spark.inputs import BAD
from streamjoin.spark.packages import PACKAGES
from streamjoin.sql.select import RESULT_ID, quote_path

CONFIG = "STREAMJOIN_KAFKA_CONFIG"
"""The variable of the environment that names a file of settings."""
BAD_VALUE = "bad_value"
_EXTRA = ("key", "headers", "partition", "offset")
_URL = re.compile(r"kafka://(?P<servers>[^/@\s]+:\d+(?:,[^/@\s]+:\d+)*)/(?P<topic>[A-Za-z0-9._-]{1,249})/?")
_CORRUPT = "__streamjoin_corrupt"
_SHOWN = 200  # characters of a bad value
_SECRET = re.compile(r"(kafka\.)?(sasl|ssl)\.(?!mechanism$)")  # Spark shows the values of options in plans
_PROVIDER = {
    "kafka.config.providers": "file",
    "kafka.config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
}
_TIMES = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX", "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"}

Config = str | PathLike[str] | None


class Topic(NamedTuple):
    """Where a topic is."""

    servers: str
    name: str


def parse_url(url: str, argument: str = "url") -> Topic:
    """The topic that a URL names.

    >>> parse_url("kafka://one:9092,two:9092/trades")
    Topic(servers='one:9092,two:9092', name='trades')
    """
    found = _URL.fullmatch(url) if isinstance(url, str) else None
    if not found:
        # What is given is not repeated: it may hold a password.
        raise StreamJoinError(
            f"{argument}: got no topic's URL; expected kafka://host:port/topic, or several host:port with commas. "
            f"Credentials belong into a file of Kafka's settings, which {CONFIG} or an argument names"
        )
    return Topic(found["servers"], found["topic"])


def read_config(given: Config = None) -> dict[str, str]:
    """Kafka's settings of a properties file, as options of Spark's; without one, of that which the environment names.

    What may be secret is no option: Kafka's clients are told to look it up in the file.
    """
    path = given or os.environ.get(CONFIG)
    if not path:
        return {}
    place = Path(path).absolute()
    try:
        text = place.read_text()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise StreamJoinError(f"config: cannot read Kafka's settings in {place}: {why}") from error
    options = {**_PROVIDER}
    for line in re.sub(r"\\\r?\n[ \t]*", "", text).splitlines():
        name, equals, value = (part.strip() for part in line.partition("="))
        if not line.strip() or name.startswith(("#", "!")):
            continue
        if not equals or not re.fullmatch(r"[A-Za-z0-9._-]+", name):
            raise StreamJoinError(f"config: {place} has a line that is not name=value; it is not shown here")
        options[f"kafka.{name}"] = f"${{file:{place}:{name}}}" if _SECRET.match(name) else value
    return options


def read(
    spark: SparkSession,
    url: str,
    *,
    schema: str | StructType,
    keep: Sequence[str] = (),
    bad: Literal["fail", "keep"] = "fail",
    partition: int | None = None,
    config: Config = None,
    options: Mapping[str, Any] | None = None,
    streaming: bool = True,
) -> DataFrame:
    """A topic's JSON values as columns, from its beginning.

    :param url: ``kafka://host:port/topic``.
    :param schema: the columns, as DDL or a `StructType`; fields that a value lacks are NULL.
    :param keep: of ``key``, ``headers``, ``partition`` and ``offset`` those that are wanted as columns too.
    :param bad: what to do with a value that the schema does not fit: "fail" with an error that shows it, or "keep" it
        in a column ``bad_value``, all columns of the schema NULL. A join drops and counts it, as its time is NULL; with
        ``late="keep"`` it comes out with the reason "bad value".
    :param partition: this one alone. One DataFrame for each partition, in a list, is how a lagging one loses no row.
    :param config: a properties file of Kafka's own settings, such as ``security.protocol``; by default the one that
        the variable STREAMJOIN_KAFKA_CONFIG names. Executors read what begins with ``sasl.`` or ``ssl.`` from the same
        path, so that no plan or log shows it.
    :param options: of Spark's source, such as ``maxOffsetsPerTrigger``.
    :param streaming: False for a batch of what is there.
    """
    topic, wanted = parse_url(url), _read_schema(schema)
    if unknown := [name for name in keep if name not in _EXTRA]:
        raise StreamJoinError(f"keep: got {unknown[0]!r}; expected some of {', '.join(_EXTRA)}")
    if bad not in ("fail", "keep"):
        raise StreamJoinError(f"bad: got {bad!r}; expected 'fail' or 'keep'")
    if secret := [name for name in options or () if _SECRET.match(name.lower())]:
        raise StreamJoinError(
            f"options: {secret[0]} would be shown in plans; put it, without the prefix kafka., into a file of Kafka's "
            "settings, which config= names"
        )
    added = [*keep, *([BAD_VALUE] if bad == "keep" else [])]
    if clash := [name for name in wanted.names if name.lower() in added]:
        raise StreamJoinError(
            f"schema: {clash[0]!r} is a column of the topic's own; rename it, or leave it out of keep"
        )
    reader = (spark.readStream if streaming else spark.read).format("kafka").options(**read_config(config))
    reader = reader.option("kafka.bootstrap.servers", topic.servers)
    place = ("subscribe", topic.name) if partition is None else ("assign", f'{{"{topic.name}":[{partition}]}}')
    reader = reader.option(*place).option("startingOffsets", "earliest").options(**(options or {}))
    if "headers" in keep:
        reader = reader.option("includeHeaders", "true")
    try:
        records = reader.load()
    except PySparkException as error:
        raise _explain(error) from error
    return parse_values(records, wanted, list(keep), bad)


def write(results: DataFrame, url: str, *, config: Config = None) -> Any:
    """A writer of results into a topic: JSON values, with `result_id` as key where there is one.

    Spark's sink is at-least-once: after a failure a result may be there twice, under the same key.
    """
    topic = parse_url(url)
    value = F.to_json(
        F.struct(*(quote_path([name]) for name in results.columns)), _TIMES | {"ignoreNullFields": "false"}
    )
    key = F.col(RESULT_ID) if RESULT_ID in results.columns else F.lit(None)
    records = results.select(key.cast("string").alias("key"), value.alias("value"))
    writer: Any = records.writeStream if records.isStreaming else records.write
    writer = writer.format("kafka").options(**read_config(config))
    return writer.option("kafka.bootstrap.servers", topic.servers).option("topic", topic.name)


def parse_values(records: DataFrame, wanted: StructType, keep: list[str], bad: str) -> DataFrame:
    """The columns of the values, and of the records those to keep; a bad value fails, or is kept beside NULLs."""
    marked = StructType([*wanted.fields, StructField(_CORRUPT, StringType())])
    text = F.col("value").cast("string")
    row = F.from_json(text, marked, {"columnNameOfCorruptRecord": _CORRUPT})
    rows = records.withColumn("text", text).withColumn("row", row)
    is_bad = F.expr(f"row IS NULL OR row.{_CORRUPT} IS NOT NULL")
    columns: list[Column | str] = [F.col("row")[name].alias(name) for name in wanted.names]
    if bad == "keep":
        kept = F.when(is_bad, F.coalesce("text", F.lit("NULL")))
        rows = rows.withColumn(BAD_VALUE, kept).withColumn("row", F.when(~is_bad, F.col("row")))
        return rows.select(*columns, *keep, F.col(BAD_VALUE).alias(BAD_VALUE, metadata={BAD: True}))
    said = F.format_string(
        "topic %s, partition %d, offset %d: the value does not fit the schema %s: %s. To go on without such values, "
        "read them with bad='keep'",
        *(F.col("topic"), F.col("partition"), F.col("offset"), F.lit(wanted.simpleString())),
        F.coalesce(F.substring("text", 1, _SHOWN), F.lit("NULL")),
    )
    return rows.withColumn("row", F.when(is_bad, F.raise_error(said)).otherwise(F.col("row"))).select(*columns, *keep)


def _read_schema(schema: str | StructType) -> StructType:
    if isinstance(schema, StructType):
        return schema
    refused = StreamJoinError(f"schema: got {schema!r}; expected DDL such as 'ts TIMESTAMP, x INT'")
    try:
        found = StructType.fromDDL(schema)
    except PySparkException as error:
        raise refused from error
    if not isinstance(found, StructType):
        raise refused
    return found


def list_values(schema: StructType) -> StructType:
    """The columns that are read from values, of those that `read` gives."""
    return StructType([field for field in schema.fields if not field.metadata.get(BAD)])


def _explain(error: PySparkException) -> StreamJoinError:
    """What to do where Spark does not know the source."""
    coordinates = PACKAGES["kafka"](RELEASE).coordinates
    if "kafka" in str(error) and "find" in str(error).lower():
        return StreamJoinError(
            'url: this session lacks Spark\'s Kafka connector: start it with sj.session(packages=["kafka"]), or one of '
            f"your own with spark.jars.packages={coordinates}"
        )
    return StreamJoinError(
        f"url: Spark cannot read the topic: {(error.getMessage() or str(error)).partition(chr(10))[0]}"
    )
