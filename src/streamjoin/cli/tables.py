"""Inputs and results of ``streamjoin run`` that are no directories of files: tables of a catalog, Delta's, topics.

A table is named ``table:db.name``; which catalog that is in is the session's affair (``spark-defaults.conf``). Tables
keep their schema themselves.
"""

import json
from collections.abc import Callable

from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamReader, DataStreamWriter
from pyspark.sql.types import StructType

from streamjoin.cli.inputs import DELTA, KAFKA, TABLE, find_table
from streamjoin.spark.jvm import read_file
from streamjoin.sql.select import quote_path

_DEFAULT = "parquet"


def keeps_schema(format: str) -> bool:
    """Whether Spark takes the schema from what it reads, and no other."""
    return format in (DELTA, TABLE)


def read_stored(reader: DataFrameReader | DataStreamReader, path: str, format: str) -> DataFrame:
    """A table, or a directory of Delta's, as rows or as a stream."""
    name = find_table(path)
    return reader.table(name) if name else reader.format(format).load(path)


def keep_columns(frame: DataFrame, schema: StructType | None) -> DataFrame:
    """The columns that there were at the first start: those that came later would make another join."""
    return frame if schema is None else frame.select([quote_path([field.name]) for field in schema.fields])


def start(spark: SparkSession, writer: DataStreamWriter, out: str, checkpoint: str, format: str) -> StreamingQuery:
    """The query that writes to a directory, or to a table, which is made in this format if it is not there."""
    name = find_table(out)
    provider = (_find_provider(spark, name) if name else None) or format
    if provider == DELTA:
        return writer.foreachBatch(_append_to_delta(out, checkpoint)).start()
    return writer.format(provider).toTable(name) if name else writer.format(provider).start(out)


def _append_to_delta(out: str, checkpoint: str) -> Callable[[DataFrame, int], None]:
    """What adds the rows of a batch to Delta, once, whatever is run again.

    Delta's own sink does not look at the rows of a batch that it has. Spark then lacks the state of that batch, in the
    format that joins have it in, and the query could not go on. So the rows are always made.
    """
    name = find_table(out)

    def append(rows: DataFrame, batch: int) -> None:
        query = json.loads(read_file(rows.sparkSession, checkpoint, "metadata") or "{}")["id"]
        rows.persist()
        try:
            rows.count()
            writer = rows.write.format(DELTA).mode("append").option("txnAppId", query).option("txnVersion", batch)
            if name:
                writer.saveAsTable(name)
            else:
                writer.save(out)
        finally:
            rows.unpersist()

    return append


def choose_format(out: str, given: str | None, left: str) -> str:
    """What results are written as: what is asked for, else as the left side is; a table tells nothing.

    >>> choose_format("out", None, "json"), choose_format("out", None, "table"), choose_format("table:a", None, "csv")
    ('json', 'parquet', 'parquet')
    """
    return given or (_DEFAULT if left in (KAFKA, TABLE) or (find_table(out) and left != DELTA) else left)


def _find_provider(spark: SparkSession, name: str) -> str | None:
    """What a table that is there is kept as; None if it is not there."""
    if not spark.catalog.tableExists(name):
        return None
    told = spark.sql(f"DESCRIBE TABLE EXTENDED {name}").where("col_name = 'Provider'").first()
    return None if told is None else str(told["data_type"]).lower()
