"""The column of event times, and what makes a timestamp of one that is none: that depends on where rows come from."""

from pyspark.sql.types import DataType, DateType, IntegralType, StringType, StructType, TimestampNTZType, TimestampType

from streamjoin.cli.inputs import KAFKA
from streamjoin.errors import StreamJoinError
from streamjoin.spark.inputs import suggest_cast

_TEXTS = ("csv", "json", KAFKA)


def check_time(named: str, path: str, format: str, schema: StructType, time: str) -> None:
    """Refuse a time of another type. A column that is not there is left to the join, which knows what there is."""
    of = next((field.dataType for field in schema.fields if field.name.lower() == time.lower()), None)
    if of is not None and not isinstance(of, TimestampType | TimestampNTZType):
        raise StreamJoinError(
            f"--time: {named} column {time!r} is of type {of.simpleString()}; expected a timestamp: "
            f"{_suggest(named, path, format, of, time)}"
        )


def _suggest(named: str, path: str, format: str, of: DataType, time: str) -> str:
    """What helps: a schema where times are text, or seconds in JSON; elsewhere the source has to have a timestamp."""
    in_source = f"write it as one into {path}, or join in Python, {suggest_cast(named, time, of)}"
    declared = f'give --{named}-schema "{time} TIMESTAMP, ..."'
    if format in _TEXTS and isinstance(of, StringType | DateType):
        return f"{declared}, which reads 2026-01-05T09:30:00Z as a time; other text is NULL, and its row is dropped"
    if format in ("json", KAFKA) and isinstance(of, IntegralType):
        return f"{declared} if it counts seconds since 1970; else {in_source}"
    return in_source
