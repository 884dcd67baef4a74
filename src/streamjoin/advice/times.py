"""Event times of files: timestamps, or the text that Spark reads as such in CSV and JSON."""

import re
from typing import NoReturn

import pyarrow as pa
import pyarrow.compute as pc

from streamjoin.errors import StreamJoinError
from streamjoin.operators.onesided import ARROW, read_type
from streamjoin.operators.types import TIMESTAMP

_ZONED = r":[\d.]+(Z|[+-]\d\d(:?\d\d)?)$"
_BEYOND_MICROSECONDS = r"(\.\d{6})\d+"
_UNREAD = re.compile(r"parse string: '(.*)' as a scalar", re.DOTALL)


def find_time(named: str, schema: pa.Schema, name: str, *, is_text: bool) -> pa.Field:
    """The column of event times, of a type to read it as; text is for `to_micros` to read where the file `is_text`."""
    if name not in schema.names:
        times = [field.name for field in schema if pa.types.is_timestamp(field.type)]
        raise StreamJoinError(
            f"time: the {named} file has no column {name!r}; expected one of {', '.join(times or schema.names)}"
        )
    field = schema.field(name)
    if is_text and (pa.types.is_timestamp(field.type) or pa.types.is_string(field.type)):
        return field.with_type(pa.string())  # of all rows: the first may be in whole seconds, without a zone
    if not pa.types.is_timestamp(field.type):
        _refuse(named, name, field.type)
    return field


def to_timestamps(named: str, name: str, column: pa.ChunkedArray) -> pa.Array:
    """Times as timestamps; those without a zone are in UTC, and no text is no time.

    >>> texts = pa.chunked_array([["2026-01-05 09:30:02.5", "2026-01-05T09:30:01.250+01:00", ""]])
    >>> [str(time) for time in to_timestamps("left", "ts", texts)]
    ['2026-01-05 09:30:02.500000+00:00', '2026-01-05 08:30:01.250000+00:00', 'None']
    """
    if not pa.types.is_string(column.type):
        return pc.cast(column, pa.timestamp("us", tz=column.type.tz)).combine_chunks()
    texts = pc.utf8_trim_whitespace(column.combine_chunks())
    texts = pc.replace_substring_regex(texts, pattern=_BEYOND_MICROSECONDS, replacement=r"\1")
    texts = pc.if_else(pc.equal(texts, ""), None, texts)
    zoned = pc.match_substring_regex(texts, _ZONED)
    try:
        local = pc.cast(pc.if_else(zoned, None, texts), pa.timestamp("us")).view(ARROW[TIMESTAMP])
        return pc.coalesce(local, pc.cast(pc.if_else(zoned, texts, None), ARROW[TIMESTAMP]))
    except pa.ArrowInvalid as error:
        unread = _UNREAD.search(str(error))
        _refuse(named, name, column.type, unread[1] if unread else None)


def _refuse(named: str, name: str, type: pa.DataType, unread: str | None = None) -> NoReturn:
    got = "" if unread is None else f" such as 2026-01-05T09:30:00Z, not {unread!r}"
    raise StreamJoinError(
        f"time: in the {named} file {name!r} is there as {read_type(type)}; expected a timestamp{got}: write it as "
        "one, or give schemas in place of files, with rates= and p="
    )
