"""What a join carries, in Spark's types and in Arrow's."""

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import types as spark_types
from pyspark.sql.types import DataType

from streamjoin.errors import StreamJoinError
from streamjoin.spark import compat
from streamjoin.sql.select import Carried


def arrow_type(carried: Carried, zone: str) -> pa.DataType:
    """The type in which Spark hands this column over."""
    try:
        return compat.arrow_type(carried.type, zone)
    except PySparkException as error:
        written = f"{carried.side}.{'.'.join(carried.path)}"
        raise StreamJoinError(
            f"{written}: a column of type {carried.type.simpleString()} cannot travel through the join; "
            f"leave it out with select=[...], or cast it (CAST({carried.path[-1]} AS STRING)) before the join"
        ) from error


def is_hashable(type: DataType) -> bool:
    """Whether Spark's ``xxhash64`` takes a value of this type."""
    match type:
        case spark_types.StructType():
            return all(is_hashable(field.dataType) for field in type.fields)
        case spark_types.ArrayType():
            return is_hashable(type.elementType)
        case spark_types.MapType() | spark_types.VariantType():
            return False
    return True
