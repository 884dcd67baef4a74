"""The hash of a whole row, in SQL: where a row is routed to, and its place among rows of one time (its *tie*).

Spark's ``xxhash64`` skips NULLs, runs arrays together and takes -0.0 for 0.0: ``(NULL, 1)`` and ``(1, NULL)`` would
hash alike. So the sizes of arrays and a mask of NULLs and negative zeros are hashed before the values. What the hash
still cannot tell apart (NULLs within an array) is told apart by content.
"""

from collections.abc import Iterator

from pyspark.sql import types as spark_types
from pyspark.sql.types import DataType, StructType

from streamjoin.spark.fields import is_hashable
from streamjoin.spec.side import SIDES, Side
from streamjoin.sql.select import quote_path

_BITS = 62


def hash_row(side: Side, schema: StructType) -> str:
    """A hash of all that a row holds; what Spark cannot hash is left out.

    Equal rows of both sides have different ones: in a self-join they would all meet in the diagonal of a grid.
    """
    fields = [(quote_path([field.name]), field.dataType) for field in schema.fields]
    marks = [mark for sql, type in fields for mark in _list_marks(sql, type)]
    masks = [_pack_mask(marks[at : at + _BITS]) for at in range(0, len(marks), _BITS)]
    sizes = [size for sql, type in fields for size in _list_sizes(sql, type)]
    values = [value for sql, type in fields for value in _list_values(sql, type)]
    return f"xxhash64({', '.join([str(SIDES.index(side)), *masks, *sizes, *values])})"


def _pack_mask(marks: list[str]) -> str:
    return " | ".join(f"if({mark}, {1 << bit}L, 0L)" for bit, mark in enumerate(marks))


def _list_marks(sql: str, type: DataType) -> Iterator[str]:
    """Conditions that the values do not show: what is NULL, which zeros are negative."""
    yield f"{sql} IS NULL"
    match type:
        case spark_types.DoubleType() | spark_types.FloatType():
            yield f"{sql} = 0 AND CAST({sql} AS STRING) = '-0.0'"  # nothing cheaper shows it; zeros are few
        case StructType():
            for inner, inner_type in _list_fields(sql, type):
                yield from _list_marks(inner, inner_type)


def _list_sizes(sql: str, type: DataType) -> Iterator[str]:
    match type:
        case spark_types.ArrayType() | spark_types.MapType():
            yield f"coalesce(size({sql}), -1)"
        case StructType():
            for inner, inner_type in _list_fields(sql, type):
                yield from _list_sizes(inner, inner_type)
    if isinstance(type, spark_types.ArrayType) and isinstance(type.elementType, spark_types.ArrayType):
        yield f"transform({sql}, x -> coalesce(size(x), -1))"


def _list_values(sql: str, type: DataType) -> Iterator[str]:
    if is_hashable(type):
        yield sql
        return
    match type:
        case StructType():
            for inner, inner_type in _list_fields(sql, type):
                yield from _list_values(inner, inner_type)
        case spark_types.MapType() if is_hashable(type.keyType) and is_hashable(type.valueType):
            yield f"map_entries({sql})"
        case spark_types.VariantType():
            yield f"to_json({sql})"


def _list_fields(sql: str, type: StructType) -> list[tuple[str, DataType]]:
    return [(f"{sql}.{quote_path([field.name])}", field.dataType) for field in type.fields]
