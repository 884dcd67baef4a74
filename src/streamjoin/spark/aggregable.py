"""Which types the aggregates take."""

from collections.abc import Sequence

from pyspark.sql import types as spark_types
from pyspark.sql.types import DataType

from streamjoin.errors import StreamJoinError
from streamjoin.sql.aggregates import AggregateCall

SUMMED_DIGITS, AVERAGED_DIGITS = 28, 18
"""Decimals of at most so many digits can be summed and averaged: then no sum of theirs has more than 38."""

_GROUPED = (
    spark_types.NumericType,
    spark_types.BooleanType,
    spark_types.StringType,
    spark_types.BinaryType,
    spark_types.DateType,
    spark_types.TimestampType,
    spark_types.TimestampNTZType,
)


def check_types(call: AggregateCall, types: Sequence[DataType]) -> None:
    """Refuse an aggregate of what cells cannot add or compare as Spark does."""
    if call.op in ("sum", "avg"):
        most = SUMMED_DIGITS if call.op == "sum" else AVERAGED_DIGITS
        of = types[0]
        if not isinstance(of, spark_types.NumericType):
            raise _refuse(call, of, "a number")
        if isinstance(of, spark_types.DecimalType) and of.precision > most:
            raise _refuse(call, of, f"a decimal of at most {most} digits, or a double")
    elif call.op in ("min", "max", "min_by", "max_by") and not _is_ordered(types[-1]):
        raise _refuse(call, types[-1], "a number, string, binary, date, time or boolean")


def is_grouped(of: DataType) -> bool:
    """Whether values of a type can be grouped by: they are equal where their bytes are."""
    return isinstance(of, _GROUPED) and getattr(of, "collation", "UTF8_BINARY") == "UTF8_BINARY"


def _is_ordered(of: DataType) -> bool:
    return is_grouped(of) or isinstance(of, spark_types.DayTimeIntervalType)


def _refuse(call: AggregateCall, of: DataType, expected: str) -> StreamJoinError:
    written = call.args[-1]
    return StreamJoinError(
        f"select: {call.op} of {written}, which is {of.simpleString()}; expected {expected}: cast it before"
    )
