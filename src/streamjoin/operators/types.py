"""Types and schemas of our own, so that predicates are understood without importing Spark.

A `Type` prints as Spark's SQL names it. Values of the types that an evaluator meets are plain Python: times are
ints of microseconds, dates ints of days, day-time intervals ints of microseconds.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from streamjoin.errors import StreamJoinError


@dataclass(frozen=True, slots=True)
class Type:
    """A Spark SQL type; `precision` and `scale` belong to decimals, `fields` to structs."""

    name: str
    precision: int = 0
    scale: int = 0
    fields: tuple[tuple[str, "Type"], ...] = ()

    def __str__(self) -> str:
        if self.name == "decimal":
            return f"decimal({self.precision},{self.scale})"
        if self.fields:
            return f"struct<{','.join(f'{name}:{type}' for name, type in self.fields)}>"
        return self.name

    @property
    def is_integral(self) -> bool:
        """Whether values are whole numbers."""
        return self in INTEGRAL_RANGE

    @property
    def is_floating(self) -> bool:
        """Whether values are IEEE 754 numbers."""
        return self in (FLOAT, DOUBLE)

    @property
    def is_decimal(self) -> bool:
        """Whether values are decimals of fixed scale."""
        return self.name == "decimal"

    @property
    def is_numeric(self) -> bool:
        """Whether arithmetic is defined."""
        return self.is_integral or self.is_floating or self.is_decimal

    @property
    def is_timestamp(self) -> bool:
        """Whether values are microseconds since the epoch."""
        return self in (TIMESTAMP, TIMESTAMP_NTZ)

    @property
    def is_interval(self) -> bool:
        """Whether values are day-time intervals."""
        return self in (INTERVAL, INTERVAL_DAY)

    @property
    def is_plain(self) -> bool:
        """Whether a kernel holds it as a machine number."""
        return self.is_integral or self.is_floating or self in _PLAIN

    @property
    def is_machine(self) -> bool:
        """Whether a key column holds it as a number, not as a hash: plain, or a decimal as a whole number."""
        return self.is_plain or (self.is_decimal and self.precision <= MAX_UNSCALED)


BOOLEAN, TINYINT, SMALLINT, INT, BIGINT = map(Type, ("boolean", "tinyint", "smallint", "int", "bigint"))
FLOAT, DOUBLE, STRING, BINARY, DATE = map(Type, ("float", "double", "string", "binary", "date"))
TIMESTAMP, TIMESTAMP_NTZ = Type("timestamp"), Type("timestamp_ntz")
INTERVAL, INTERVAL_DAY = Type("interval day to second"), Type("interval day")
VOID = Type("void")
UNKNOWN = Type("unknown")
"""The type of what only Spark understands."""

_PLAIN = (BOOLEAN, DATE, TIMESTAMP, TIMESTAMP_NTZ, INTERVAL, INTERVAL_DAY)

INTEGRAL_RANGE = {TINYINT: 2**7, SMALLINT: 2**15, INT: 2**31, BIGINT: 2**63}
"""One more than the greatest value of each integral type, narrowest first."""

INTEGRAL_DIGITS = {TINYINT: 3, SMALLINT: 5, INT: 10, BIGINT: 20}
"""The precision of the decimal that Spark turns an integral type into."""

MAX_PRECISION = 38
MAX_UNSCALED = 18
"""The digits of a decimal that 64 bits hold as a whole number."""


def decimal(precision: int, scale: int) -> Type:
    """A decimal type, its precision cut at Spark's 38 digits.

    >>> print(decimal(10, 2))
    decimal(10,2)
    """
    return Type("decimal", min(precision, MAX_PRECISION), min(scale, MAX_PRECISION))


_NAMES = {
    "byte": TINYINT,
    "short": SMALLINT,
    "integer": INT,
    "long": BIGINT,
    "real": FLOAT,
    "timestamp_ltz": TIMESTAMP,
    **{t.name: t for t in (*INTEGRAL_DIGITS, FLOAT, DOUBLE, STRING, BINARY, VOID, *_PLAIN)},
}


def parse_type(text: str) -> Type:
    """Read a type as Spark's SQL writes it; a type that no predicate computes with keeps its text.

    >>> parse_type("decimal(10, 2)") == decimal(10, 2)
    True
    >>> print(parse_type("array<int>"))
    array<int>
    """
    text = text.strip().lower()
    if text in _NAMES:
        return _NAMES[text]
    if match := re.fullmatch(r"(?:decimal|dec|numeric)(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?", text):
        return decimal(int(match[1] or 10), int(match[2] or 0))
    if re.fullmatch(r"(?:char|varchar)\(\d+\)", text):
        return STRING
    if re.fullmatch(r"interval (?:day|hour|minute|second)(?: to (?:hour|minute|second))?", text):
        return INTERVAL
    return Type(text)


_COLUMN = re.compile(r"\s*(`[^`]+`|[^\s:`]+)(?:\s*:\s*|\s+)(.+?)\s*", re.DOTALL)


class Schema:
    """The columns of one side: names in order, each with its type.

    >>> Schema({"x": "int", "price": "decimal(10,2)"}).find("X")
    ('x', Type(name='int', precision=0, scale=0, fields=()))
    """

    def __init__(self, columns: Mapping[str, str | Type] | Iterable[tuple[str, str | Type]]) -> None:
        pairs = columns.items() if isinstance(columns, Mapping) else columns
        self.columns = tuple((name, parse_type(t) if isinstance(t, str) else t) for name, t in pairs)

    @classmethod
    def from_spark(cls, schema: Any) -> "Schema":
        """Take over a `pyspark.sql.types.StructType`."""
        return cls(_spark_fields(schema))

    @classmethod
    def from_ddl(cls, ddl: str) -> "Schema":
        """Read names and types as Spark's SQL writes them.

        >>> Schema.from_ddl("ts TIMESTAMP, `a b` decimal(10,2), s struct<x:int,y:int>").names
        ['ts', 'a b', 's']
        """
        parts, depth = [""], 0
        for letter in ddl:
            depth += (letter in "(<") - (letter in ")>")
            if letter == "," and not depth:
                parts.append("")
            else:
                parts[-1] += letter
        found = [_COLUMN.fullmatch(part) for part in parts]
        if not all(found):
            raise StreamJoinError(f"schema: got {ddl!r}; expected names and types, such as 'ts TIMESTAMP, x INT'")
        return cls([(each[1].strip("`"), each[2].partition(" NOT NULL")[0]) for each in found if each])

    @property
    def names(self) -> list[str]:
        """The column names in order."""
        return [name for name, _ in self.columns]

    def find(self, name: str) -> tuple[str, Type] | None:
        """The column of this name, matched as Spark does: without regard to case."""
        return find_field(self.columns, name)

    def __repr__(self) -> str:
        return f"Schema({', '.join(f'{name} {type}' for name, type in self.columns)})"


def find_field(fields: Iterable[tuple[str, Type]], name: str) -> tuple[str, Type] | None:
    """The one field of this name; several that differ only in case are an error, as in Spark."""
    found = [field for field in fields if field[0].lower() == name.lower()]
    if len(found) > 1:
        raise StreamJoinError(f"ambiguous name {name}: there are {', '.join(field for field, _ in found)}")
    return found[0] if found else None


def _spark_fields(struct: Any) -> tuple[tuple[str, Type], ...]:
    return tuple((field.name, from_spark(field.dataType)) for field in struct.fields)


def from_spark(data_type: Any) -> Type:
    """Take over a `pyspark.sql.types.DataType`."""
    if hasattr(data_type, "fields"):
        return Type("struct", fields=_spark_fields(data_type))
    return parse_type(data_type.simpleString())
