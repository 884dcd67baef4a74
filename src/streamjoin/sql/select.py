"""What a join carries: the columns of the result, and where each comes from."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from streamjoin.errors import StreamJoinError
from streamjoin.spec.how import How, sides_of
from streamjoin.spec.side import NAMED, SIDES, Side
from streamjoin.sql.pointer import explain_keyword, suggest_or_list

JOIN_TIME = "join_time"
RESULT_ID = "result_id"
Path = tuple[str, ...]


class Struct(Protocol):
    """Columns, or the fields of one: each with its `name` and `dataType`, which may be a struct again."""

    @property
    def fields(self) -> Sequence[Any]: ...


@dataclass(frozen=True)
class Carried:
    """A column, or a field inside one, that travels through the join."""

    side: Side
    path: Path
    type: Any  # as its runtime knows it


@dataclass(frozen=True)
class Field:
    """A column of the result: one that was carried, or of several the first that is not NULL."""

    name: str
    sources: tuple[Carried, ...]

    @property
    def carried(self) -> Carried:
        """The first, or the only one."""
        return self.sources[0]


def quote_path(path: Iterable[str]) -> str:
    """A column or field in SQL, whatever its name.

    >>> quote_path(["a b", "c`d"])
    '`a b`.`c``d`'
    """
    return ".".join("`" + name.replace("`", "``") + "`" for name in path)


def result_fields(
    schemas: Mapping[Side, Struct],
    select: Sequence[str] | None,
    suffixes: tuple[str, str],
    how: How,
    using: Sequence[str] = (),
) -> list[Field]:
    """The columns of the result in order, under names that are all different; those of `using` are one for both sides.

    As in Spark, they come first, and hold the value of a side whose rows are all there.
    """
    sides = sides_of(how)
    shared = [_share(name, schemas, how) for name in using]
    taken = {field.name.lower() for field in shared}
    chosen: list[tuple[str | None, Carried] | Field]
    if select is None:
        columns = [Carried(side, (f.name,), f.dataType) for side in sides for f in schemas[side].fields]
        chosen = [*shared, *((None, column) for column in columns if column.path[0].lower() not in taken)]
    else:
        if isinstance(select, str) or not isinstance(select, Sequence):
            raise StreamJoinError(f"select: expected a list such as ['l.id', 'r.price AS ask']; got {select!r}")
        chosen = [found for text in select for found in _read_selected(text, schemas, shared)]
    single = [each for each in chosen if not isinstance(each, Field)]
    if "r" not in sides and any(carried.side == "r" for _, carried in single):
        raise StreamJoinError(f"select: a result of how={how!r} is a left row; expected columns of l alone")
    own = {side: {c.path[-1].lower() for alias, c in single if c.side == side and not alias} for side in SIDES}
    clashing = (own["l"] & own["r"]) | {JOIN_TIME} | {each.name.lower() for each in chosen if isinstance(each, Field)}
    suffix = dict(zip(SIDES, suffixes, strict=True))
    fields = []
    for each in chosen:
        if isinstance(each, Field):
            fields.append(each)
            continue
        alias, carried = each
        plain = carried.path[-1]
        name = alias or (plain + suffix[carried.side] if plain.lower() in clashing else plain)
        fields.append(Field(name, (carried,)))
    check_names([*(field.name for field in fields), JOIN_TIME])
    return fields


def _share(name: str, schemas: Mapping[Side, Struct], how: How) -> Field:
    """The one column that stands for an equal column of both sides."""
    left, right = (find(side, [name], schemas[side], "on") for side in SIDES)
    sources = {"right": (right,), "full": (left, right)}.get(how, (left,))
    return Field(sources[0].path[0], sources)


def check_names(names: list[str]) -> None:
    """Refuse a result that would have two columns of one name."""
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise StreamJoinError(
                f"select: the result would have two columns named {name!r}; give suffixes= that tell them apart, "
                "or rename one in select=['l.column AS name', ...]"
            )
        seen.add(name.lower())


def _read_selected(
    text: str, schemas: Mapping[Side, Struct], shared: Sequence[Field]
) -> Sequence[tuple[str | None, Carried] | Field]:
    try:
        parsed = sqlglot.parse_one(f"SELECT {text}", read="spark").expressions
    except SqlglotError as error:
        place = getattr(error, "errors", None) or [{}]
        word = explain_keyword(place[0].get("start_context") or "", place[0].get("highlight") or "")
        raise StreamJoinError(f"select: {word}" if word else _unreadable(text)) from None
    if len(parsed) != 1:
        raise StreamJoinError(_unreadable(text))
    alias = parsed[0].alias if isinstance(parsed[0], exp.Alias) else None
    path = _path(parsed[0].this if alias else parsed[0])
    if path is not None and len(path) == 1:
        for field in shared:
            if field.name.lower() == path[0].lower():
                return [Field(alias or field.name, field.sources)]
    if path is None or len(path) < 2 or path[0].lower() not in schemas:
        raise StreamJoinError(
            f"select: {text!r} does not name a column of one side; expected 'l.column', 'r.column' or 'l.*'"
            f"{_suggest_selected(path, schemas)}"
        )
    side: Side = "l" if path[0].lower() == "l" else "r"
    if path[1:] == ("*",):
        return [(None, Carried(side, (field.name,), field.dataType)) for field in schemas[side].fields]
    return [(alias, find(side, path[1:], schemas[side], f"select: {text!r}"))]


def _unreadable(text: str) -> str:
    return f"select: expected a column such as 'l.id' or 'r.price AS ask'; got {text!r}"


def _suggest_selected(path: Path | None, schemas: Mapping[Side, Struct]) -> str:
    """What to write for a column without its side, or for an expression."""
    if path is None:
        return "; compute from columns of both sides after the join, by withColumn"
    named = [f"'{side}.{path[0]}'" for side in SIDES for f in schemas[side].fields if f.name.lower() == path[0].lower()]
    if path == (JOIN_TIME,) and not named:
        return f"; leave it out: {JOIN_TIME} is in every result"
    return f"; did you mean {' or '.join(named)}?" if named else ""


def read_column(text: str, schemas: Mapping[Side, Struct]) -> Carried | None:
    """The column that a text names as l.column or r.column, and nothing else; None where it says more."""
    try:
        path = _path(sqlglot.parse_one(text, read="spark"))
    except SqlglotError:
        return None
    if path is None or len(path) < 2 or path[0].lower() not in schemas or "*" in path:
        return None
    side: Side = "l" if path[0].lower() == "l" else "r"
    return find(side, path[1:], schemas[side], f"select: {text!r}")


def _path(node: exp.Expr | None) -> Path | None:
    match node:
        case exp.Dot():
            first, last = _path(node.this), _path(node.expression)
            return first and last and (*first, *last)
        case exp.Column():
            return tuple(part.name if not isinstance(part, exp.Star) else "*" for part in node.parts)
        case exp.Identifier():
            return (node.name,)
        case exp.Star():
            return ("*",)
    return None


def find(side: Side, path: Sequence[str], schema: Struct, where: str) -> Carried:
    """A column or field by name, without regard to case."""
    found: list[str] = []
    inside: Any = schema
    for name in path:
        fields: Sequence[Any] = getattr(inside, "fields", ())
        matching = [field for field in fields if field.name.lower() == name.lower()]
        if len(matching) != 1:
            names = [field.name for field in fields]
            place = f"the {NAMED[side]} side" if not found else f"{side}.{'.'.join(found)}"
            several = ", ".join(field.name for field in matching)
            wrong = (
                f"several columns {name!r}: {several}"
                if several
                else f"no column {name!r}{suggest_or_list(name, names)}"
            )
            raise StreamJoinError(f"{where}: {place} has {wrong}")
        found.append(matching[0].name)
        inside = matching[0].dataType
    return Carried(side, tuple(found), inside)
