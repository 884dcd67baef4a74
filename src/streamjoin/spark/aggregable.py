"""Which types can be grouped by."""

from pyspark.sql import types as spark_types
from pyspark.sql.types import DataType

_GROUPED = (
    spark_types.NumericType,
    spark_types.BooleanType,
    spark_types.StringType,
    spark_types.BinaryType,
    spark_types.DateType,
    spark_types.TimestampType,
    spark_types.TimestampNTZType,
)


def is_grouped(of: DataType) -> bool:
    """Whether values of a type can be grouped by: they are equal where their bytes are."""
    return isinstance(of, _GROUPED) and getattr(of, "collation", "UTF8_BINARY") == "UTF8_BINARY"
