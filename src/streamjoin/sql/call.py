"""Calls as Spark's columns hold them, operators under names such as ``+`` and ``isnull``, written as SQL."""

import re
from collections.abc import Sequence

from streamjoin.errors import StreamJoinError
from streamjoin.operators.registry import find
from streamjoin.sql.pointer import strip_parens

_INFIX = {
    **{name: name for name in ("+", "-", "*", "/", "%", "&", "|", "^", "=", "<=>", "<", "<=", ">", ">=")},
    "==": "=",
    "!=": "<>",
    "<>": "<>",
    "and": "AND",
    "or": "OR",
    "div": "div",
}
_MATCHES = {"like": "LIKE", "ilike": "ILIKE", "rlike": "RLIKE"}


def write_call(name: str, args: Sequence[str]) -> str:
    """A call of an operator or function on arguments that are SQL.

    >>> write_call("and", [write_call("isNull", ["l.x"]), write_call("<", ["l.y", "abs(r.z)"])])
    '((l.x IS NULL) AND (l.y < abs(r.z)))'
    """
    op = name.lower()
    match op, args:
        case _, (a, b) if op in _INFIX:
            return f"({a} {_INFIX[op]} {b})"
        case "and" | "or", (a, b, *rest):  # as Connect gathers them
            return write_call(op, [write_call(op, [a, b]), *rest])
        case ("not" | "!", (a,)):
            return f"(NOT {a})"
        case ("negative" | "-", (a,)):
            return f"(-{_set_apart(a)})"
        case ("~" | "bitwise_not", (a,)):
            return f"(~{a})"
        case "isnull", (a,):
            return f"({a} IS NULL)"
        case "isnotnull", (a,):
            return f"({a} IS NOT NULL)"
        case "in", (a,):
            return "FALSE"
        case "in", (a, *items):
            return f"({a} IN ({', '.join(items)}))"
        case _, (a, pattern, *escape) if op in _MATCHES and len(escape) <= 1:
            return f"({a} {_MATCHES[op]} {pattern}{''.join(f' ESCAPE {each}' for each in escape)})"
        case "when", (_, _, *_):
            return write_case(list(zip(args[::2], args[1::2], strict=False)), args[-1] if len(args) % 2 else None)
    if not re.fullmatch(r"[A-Za-z_]\w*(\.\w+)*", name):
        raise StreamJoinError(f"on: the condition calls {name!r} on a column, which has no SQL; write SQL text")
    return f"{op if find(op) else name}({', '.join(map(strip_parens, args))})"


def write_case(branches: Sequence[tuple[str, str]], otherwise: str | None) -> str:
    """A choice between values."""
    written = " ".join(f"WHEN {strip_parens(when)} THEN {strip_parens(then)}" for when, then in branches)
    return f"CASE {written}{'' if otherwise is None else f' ELSE {strip_parens(otherwise)}'} END"


def write_field(value: str, at: str) -> str:
    """A field of a struct, or an element of an array or a map.

    >>> write_field("l.pos", "'lat'"), write_field("l.tags", "0")
    ('l.pos.`lat`', 'l.tags[0]')
    """
    named = re.fullmatch(r"'([^'\\`]+)'", at)
    return f"{value}.`{named[1]}`" if named and re.fullmatch(r"[\w.`]+", value) else f"{value}[{at}]"


def _set_apart(sql: str) -> str:
    """A constant in parentheses, or with its sign it would be read as another one."""
    return f"({sql})" if sql[:1].isdigit() or sql.startswith("-") else sql
