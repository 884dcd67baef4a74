"""The schemas that ``--left-schema`` and ``--right-schema`` give, as text of SQL's data definitions."""

import re
from typing import TYPE_CHECKING

from streamjoin.cli.quiet import reason
from streamjoin.errors import StreamJoinError
from streamjoin.sql.pointer import QUOTED

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_EXPECTED = 'expected columns with their types, such as "ts TIMESTAMP, x INT"'
_COLUMN = re.compile(r"\w+(\s*:\s*|\s+)[A-Za-z_]\w*(\s.*)?", re.DOTALL)
_INNERMOST = re.compile(r"\([^()<>]*\)|<[^()<>]*>")
_STRUCT = re.compile(r"\s*struct\s*<.*>\s*", re.IGNORECASE | re.DOTALL)


def check_ddl(option: str, ddl: str) -> None:
    """Refuse what is no list of columns before Spark starts, which then judges the types.

    >>> check_ddl("--left-schema", "ts TIMESTAMP NOT NULL, `a b` DECIMAL(10, 2), c: ARRAY<STRUCT<d: INT>>")
    """
    if _STRUCT.fullmatch(ddl):
        return
    text, count = QUOTED.sub("quoted", ddl), 1
    while count:
        text, count = _INNERMOST.subn("", text)
    if set(text) & set("()<>"):
        raise StreamJoinError(f"{option}: got {ddl!r}, where brackets do not match; {_EXPECTED}")
    for column in text.split(","):
        if not _COLUMN.fullmatch(column.strip()):
            raise StreamJoinError(f"{option}: got {ddl!r}, where {column.strip()!r} is no column; {_EXPECTED}")


def parse_ddl(option: str, ddl: str) -> "StructType":
    """The schema as Spark reads it; needs a session."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql.types import StructType

    try:
        schema = StructType.fromDDL(ddl)
    except (PySparkException, Py4JError) as error:
        raise StreamJoinError(f"{option}: got {ddl!r}; {_EXPECTED}: {reason(error)}") from error
    if not isinstance(schema, StructType):
        raise StreamJoinError(f"{option}: got {ddl!r}; {_EXPECTED}")
    return schema
