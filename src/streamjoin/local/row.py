"""A single row, read without Arrow: as few Python calls as can be."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from streamjoin.operators.expr import Cast, Column, Expr


class Row(NamedTuple):
    """A row as numbers: its time, its keys, its payload."""

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
    """Reads rows that are dicts of plain numbers."""

    columns: int
    time: str
    payload: tuple[str, ...]
    keys: tuple[str, ...]
    whole: tuple[tuple[str, int], ...]
    """Columns of whole numbers, and one more than the greatest they hold."""
    floats: tuple[str, ...]

    def read(self, row: dict[str, Any]) -> Row | None:
        """The row; None where something in it is not as plain as that, so that it must go the long way."""
        if len(row) != self.columns:
            return None
        try:
            for name, end in self.whole:
                value = row[name]
                if type(value) is not int or not -end <= value < end:
                    return None
            for name in self.floats:
                if type(row[name]) is not float:
                    return None
        except KeyError:
            return None
        return Row(
            row[self.time], tuple([row[name] for name in self.keys]), tuple([row[name] for name in self.payload])
        )


def make_reader(schema: pa.Schema, time: str, payload: Sequence[str], keys: Sequence[str]) -> RowReader | None:
    """A reader for rows of a schema; None where a column is no plain number."""
    whole, floats = [], []
    for field in schema:
        if pa.types.is_signed_integer(field.type):
            whole.append((field.name, 1 << (field.type.bit_width - 1)))
        elif field.type in (pa.float32(), pa.float64()):
            floats.append(field.name)
        else:
            return None
    return RowReader(len(schema), time, tuple(payload), tuple(keys), tuple(whole), tuple(floats))
