"""Names in a condition, resolved against the schemas of the two sides."""

from collections.abc import Sequence

from sqlglot import exp

from streamjoin.errors import StreamJoinError
from streamjoin.operators.expr import Column, Span
from streamjoin.operators.types import UNKNOWN, Schema, find_field
from streamjoin.spec.side import Side
from streamjoin.sql.pointer import suggest_or_list
from streamjoin.sql.written import Written


class Names:
    """The columns that a condition may name."""

    def __init__(self, written: Written, left: Schema, right: Schema) -> None:
        self._written = written
        self._schemas: dict[Side, Schema] = {"l": left, "r": right}

    def column(self, node: exp.Column | exp.Dot) -> Column:
        """The column that a node names; without a side it is the one that has it."""
        names = [part.name for part in node.parts]
        span = self._written.span(node)
        if "*" in names or "" in names:
            raise self._written.error("a join condition compares single columns", span)
        head = names[0].lower()
        if head in self._schemas and len(names) > 1:
            return self._field(head, names[1:], span)
        try:
            found = [side for side, schema in self._schemas.items() if schema.find(names[0])]
        except StreamJoinError as error:
            raise self._written.error(str(error), span) from None
        if len(found) == 2:
            alone = self._written.text.strip("` ") == names[0]
            meant = (
                f"did you mean on=[{names[0]!r}], its values being equal?"
                if alone
                else (f"both sides have it; write l.{names[0]} or r.{names[0]}")
            )
            raise self._written.error(f"ambiguous name {names[0]}: {meant}", span)
        if found:
            return self._field(found[0], names, span)
        if len(names) > 1:
            raise self._written.error(f"unknown side {names[0]}: the left input is l, the right one is r", span)
        known = [f"{side}.{name}" for side, schema in self._schemas.items() for name in schema.names]
        raise self._written.error(f"unknown column {names[0]}{suggest_or_list(names[0], known)}", span)

    def _field(self, side: Side, path: Sequence[str], span: Span) -> Column:
        fields = self._schemas[side].columns
        resolved: list[str] = []
        kind = UNKNOWN
        for name in path:
            try:
                found = find_field(fields, name)
            except StreamJoinError as error:
                raise self._written.error(str(error), span) from None
            if found is None and resolved and not fields:
                raise self._written.error(f"{'.'.join((side, *resolved))} is {kind} and has no fields", span)
            if found is None:
                where = ".".join((side, *resolved))
                known = [f"{where}.{field}" for field, _ in fields]
                raise self._written.error(f"unknown column {where}.{name}{suggest_or_list(name, known)}", span)
            resolved.append(found[0])
            kind = found[1]
            fields = kind.fields
        return Column(kind, side, tuple(resolved), span=span)
