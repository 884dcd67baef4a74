"""A single row, read without Arrow: as few Python calls as can be."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import pyarrow as pa

from streamjoin.operators.expr import Cast, Column, Expr

_EPOCH = datetime(1970, 1, 1)
_TYPES: dict[pa.DataType, type] = {
    pa.float32(): float,
    pa.float64(): float,
    pa.bool_(): bool,
    pa.string(): str,
    pa.large_string(): str,
    pa.binary(): bytes,
    pa.large_binary(): bytes,
    pa.timestamp("us"): datetime,
}


class Row(NamedTuple):
    """A row as numbers and bytes: its time, its keys, its payload."""

    time: int
    keys: tuple[Any, ...]
    payload: tuple[Any, ...]


def find_plain(key: Expr) -> tuple[str, ...] | None:
    """The column that a key is, if nothing is computed of it but a wider type."""
    while isinstance(key, Cast) and (key.implicit or key.type == key.arg.type):
        key = key.arg
    return key.path if isinstance(key, Column) else None


@dataclass(frozen=True)
class RowReader:
    """Reads rows that are dicts of plain values: numbers, times without a zone, texts."""

    columns: int
    time: str
    payload: tuple[str, ...]
    keys: tuple[str, ...]
    whole: tuple[tuple[str, int], ...]
    """Columns of whole numbers, and one more than the greatest they hold."""
    others: tuple[tuple[str, type], ...]
    """Other columns, and the type that their values are of."""
    times: tuple[str, ...]
    texts: tuple[str, ...]

    def read(self, row: dict[str, Any]) -> Row | None:
        """The row; None where something in it is not as plain as that, so that it must go the long way."""
        if len(row) != self.columns:
            return None
        try:
            for name, end in self.whole:
                value = row[name]
                if type(value) is not int or not -end <= value < end:
                    return None
            for name, expected in self.others:
                if type(row[name]) is not expected:
                    return None
            if self.times or self.texts:
                row = dict(row)
                for name in self.times:
                    if row[name].tzinfo is not None:
                        return None
                    since = row[name] - _EPOCH
                    row[name] = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
                for name in self.texts:
                    row[name] = row[name].encode()
        except (KeyError, UnicodeEncodeError):
            return None
        return Row(
            row[self.time], tuple([row[name] for name in self.keys]), tuple([row[name] for name in self.payload])
        )


def make_reader(schema: pa.Schema, time: str, payload: Sequence[str], keys: Sequence[str]) -> RowReader | None:
    """A reader for rows of a schema; None where a column is not as plain as that."""
    whole: list[tuple[str, int]] = []
    others: list[tuple[str, type]] = []
    for field in schema:
        if pa.types.is_signed_integer(field.type):
            whole.append((field.name, 1 << (field.type.bit_width - 1)))
        elif field.type in _TYPES:
            others.append((field.name, _TYPES[field.type]))
        else:
            return None
    times, texts = (tuple(name for name, type in others if type is kind) for kind in (datetime, str))
    return RowReader(len(schema), time, tuple(payload), tuple(keys), tuple(whole), tuple(others), times, texts)
