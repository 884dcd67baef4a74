"""Expressions over two rows: what text and lambdas become, typed as Spark would type them.

`Cast` nodes that Spark inserts by itself are marked implicit: they say how a value is compared and are left out
when the expression is written back as SQL, where Spark inserts them again.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

from streamjoin.operators.types import BOOLEAN, Type
from streamjoin.spec.side import Side

Span = tuple[int, int]
NO_SPAN: Span = (0, 0)


@dataclass(frozen=True)
class Expr:
    """A typed expression; `span` is where it stands in the user's text and is no part of its value."""

    type: Type
    span: Span = field(default=NO_SPAN, compare=False, repr=False, kw_only=True)

    @property
    def children(self) -> tuple["Expr", ...]:
        """The direct sub-expressions."""
        return ()

    def walk(self) -> Iterator["Expr"]:
        """This expression and all below it."""
        yield self
        for child in self.children:
            yield from child.walk()

    @property
    def columns(self) -> frozenset["Column"]:
        """The columns it reads."""
        return frozenset(node for node in self.walk() if isinstance(node, Column))

    @property
    def sides(self) -> frozenset[Side]:
        """The sides it reads: empty for a constant."""
        return frozenset(column.side for column in self.columns)

    def rebuild(self, change: Callable[["Expr"], "Expr"]) -> "Expr":
        """The same expression with `change` applied to each direct sub-expression."""
        del change
        return self

    def __str__(self) -> str:
        return to_sql(self)


@dataclass(frozen=True)
class Column(Expr):
    """A column of one side, or a field inside a struct column."""

    side: Side
    path: tuple[str, ...]


@dataclass(frozen=True)
class Literal(Expr):
    """A constant, with the text it was written as."""

    value: Any = field(compare=False)
    text: str = field(compare=False)
    same: str = field(init=False, repr=False)  # tells 0.0 from -0.0, and NaN equals itself

    def __post_init__(self) -> None:
        object.__setattr__(self, "same", repr(self.value))


@dataclass(frozen=True)
class Call(Expr):
    """An operator or function that streamjoin understands."""

    op: str
    args: tuple[Expr, ...]

    @property
    def children(self) -> tuple[Expr, ...]:
        """The arguments."""
        return self.args

    def rebuild(self, change: Callable[[Expr], Expr]) -> Expr:
        """The call on changed arguments."""
        return replace(self, args=tuple(change(arg) for arg in self.args))


@dataclass(frozen=True)
class Cast(Expr):
    """A value brought to another type, by the user or (implicit) by SQL's rules."""

    arg: Expr
    implicit: bool = False

    @property
    def children(self) -> tuple[Expr, ...]:
        """The value cast."""
        return (self.arg,)

    def rebuild(self, change: Callable[[Expr], Expr]) -> Expr:
        """The cast of a changed value."""
        return replace(self, arg=change(self.arg))


@dataclass(frozen=True)
class Key(Cast):
    """A one-sided sub-expression that Spark computes before the join, as a column of its own."""

    name: str = field(default="", compare=False)
    implicit: bool = True

    @property
    def side(self) -> Side:
        """The side it is computed on."""
        (side,) = self.sides
        return side

    def sql(self, column: Callable[[Column], str] | None = None) -> str:
        """The column's definition, of exactly this type."""
        written = to_sql(self.arg, column)
        return written if self.arg.type == self.type else f"CAST({written} AS {str(self.type).upper()})"


@dataclass(frozen=True)
class Opaque(Expr):
    """What only Spark evaluates: SQL text, complete in itself, with the columns it reads in between."""

    pieces: tuple["str | Column", ...]

    @property
    def children(self) -> tuple[Expr, ...]:
        """The columns in it."""
        return tuple(piece for piece in self.pieces if isinstance(piece, Column))


@dataclass(frozen=True)
class Function(Opaque):
    """An `Opaque` that is a function of the registry, which a worker can evaluate too."""

    op: str = field(compare=False)
    args: tuple[Expr, ...] = field(compare=False)


def conjunction(conditions: Sequence[Expr]) -> Expr:
    """The conditions as one, evaluated from left to right."""
    return reduce(lambda a, b: Call(BOOLEAN, "AND", (a, b)), conditions)


INFIX = frozenset(("+", "-", "*", "/", "%", "div", "&", "|", "^", "=", "<=>", "<>", "<", "<=", ">", ">=", "AND", "OR"))
_PRECEDENCE = {"OR": 1, "AND": 2, "NOT": 3, "&": 5, "|": 5, "^": 5, "+": 6, "-": 6, "*": 7, "/": 7, "%": 7, "div": 7}
_RESERVED = frozenset(
    """and or not in is null true false case when then else end between like select from where interval cast distinct
    on join with order group having union""".split()  # noqa: SIM905
)
_POSTFIX = frozenset(("IS NULL", "IS TRUE", "IS FALSE"))
_COMPARISON, _BITWISE, _SIGNED, _ATOM = 4, 5, 8, 9


def to_sql(expr: Expr, column: Callable[[Column], str] | None = None) -> str:
    """Write an expression as Spark SQL; `column` says how a column is named there.

    >>> from streamjoin.operators.types import INT
    >>> x, y = Column(INT, "l", ("x",)), Column(INT, "r", ("the y",))
    >>> to_sql(Call(INT, "*", (x, Call(INT, "+", (x, y)))))
    'l.x * (l.x + r.`the y`)'
    """
    return _write(expr, column or _qualify)


def _qualify(column: Column) -> str:
    return ".".join((column.side, *map(quote_name, column.path)))


def quote_name(name: str) -> str:
    """A name as it stands in SQL: in backticks unless it is a plain word."""
    plain = re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) and name.lower() not in _RESERVED
    return name if plain else "`" + name.replace("`", "``") + "`"


def _write(expr: Expr, column: Callable[[Column], str]) -> str:
    match expr:
        case Column():
            return column(expr)
        case Literal(text=text):
            return text
        case Cast(arg=arg, implicit=True):
            return _write(arg, column)
        case Cast(type=type, arg=arg):
            return f"CAST({_write(arg, column)} AS {str(type).upper()})"
        case Opaque(pieces=pieces):
            return "".join(piece if isinstance(piece, str) else column(piece) for piece in pieces)
        case Call(op=op, args=args):
            return _write_call(op, args, column)
    raise TypeError(f"not an expression: {expr!r}")


def _write_call(op: str, args: tuple[Expr, ...], column: Callable[[Column], str]) -> str:
    if op in INFIX and len(args) == 2:
        left, right = args
        rank = _rank(Call(left.type, op, args))
        chains = rank not in (_COMPARISON, _BITWISE)
        return f"{_enclose(left, rank + (not chains), column)} {op} {_enclose(right, rank + 1, column)}"
    if op in _POSTFIX:
        return f"{_enclose(args[0], _ATOM, column)} {op}"
    written = [_write(arg, column) for arg in args]
    match op:
        case "-" if isinstance(args[0], Literal):
            return f"-({written[0]})"  # or it would be read as another constant
        case "-":
            return f"-{_enclose(args[0], _ATOM, column)}"
        case "~":
            return f"~{_enclose(args[0], _ATOM, column)}"
        case "NOT":
            match args[0]:
                case Call(op="IS NULL", args=(arg,)):
                    return f"{_enclose(arg, _ATOM, column)} IS NOT NULL"
                case Call(op="IN", args=(arg, *items)):
                    return _write_in(arg, items, "NOT IN", column)
            return f"NOT {_enclose(args[0], _COMPARISON, column)}"
        case "IN":
            return _write_in(args[0], args[1:], op, column)
        case "CASE":
            pairs = zip(written[:-1:2], written[1::2], strict=True)
            return f"CASE {' '.join(f'WHEN {when} THEN {then}' for when, then in pairs)} ELSE {written[-1]} END"
    return f"{op}({', '.join(written)})"


def _write_in(arg: Expr, items: Sequence[Expr], op: str, column: Callable[[Column], str]) -> str:
    return f"{_enclose(arg, _COMPARISON + 1, column)} {op} ({', '.join(_write(item, column) for item in items)})"


def _enclose(expr: Expr, rank: int, column: Callable[[Column], str]) -> str:
    text = _write(expr, column)
    return text if _rank(expr) >= rank else f"({text})"


def _rank(expr: Expr) -> int:
    match expr:
        case Cast(arg=arg, implicit=True):
            return _rank(arg)
        case Call(op="-" | "~", args=(_,)):
            return _SIGNED
        case Call(op=op) if op in _PRECEDENCE:
            return _PRECEDENCE[op]
        case Call(op=op) if op in INFIX or op in _POSTFIX or op == "IN":
            return _COMPARISON
        case Literal(text=text) if text.startswith("-"):
            return _SIGNED
    return _ATOM
