"""Inputs and results of ``streamjoin run`` that keep their schema themselves: tables of a catalog, and Delta's.

A table is named ``table:db.name``; which catalog that is in is the session's affair (``spark-defaults.conf``).
"""

from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamReader, DataStreamWriter
from pyspark.sql.types import StructType

from streamjoin.cli.inputs import DELTA, TABLE, find_table
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


def start(spark: SparkSession, writer: DataStreamWriter, out: str, format: str) -> StreamingQuery:
    """The query that writes to a directory, or to a table, which is made in this format if it is not there."""
    name = find_table(out)
    if name is None:
        return writer.format(format).start(out)
    return writer.format(_find_provider(spark, name) or format).toTable(name)


def choose_format(out: str, given: str | None, left: str) -> str:
    """What results are written as: what is asked for, else as the left side is; a table tells nothing.

    >>> choose_format("out", None, "json"), choose_format("out", None, "table"), choose_format("table:a", None, "csv")
    ('json', 'parquet', 'parquet')
    """
    return given or (_DEFAULT if left == TABLE or (find_table(out) and left != DELTA) else left)


def _find_provider(spark: SparkSession, name: str) -> str | None:
    """What a table that is there is kept as; None if it is not there."""
    if not spark.catalog.tableExists(name):
        return None
    told = spark.sql(f"DESCRIBE TABLE EXTENDED {name}").where("col_name = 'Provider'").first()
    return None if told is None else str(told["data_type"]).lower()
