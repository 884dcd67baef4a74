"""The columns of an aggregate's result, as they are written: SQL over l and over aggregates of what a left row met.

>>> mean = read_item("l.price - avg(r.price) AS above", 0)
>>> mean.name, mean.text, [(call.op, call.args) for call in mean.calls]
('above', 'l.price - `__streamjoin_a0`', [('avg', ('r.price',))])
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import sqlglot
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from streamjoin.errors import StreamJoinError
from streamjoin.spec.side import SIDES, Side
from streamjoin.sql.refuse import is_aggregate
from streamjoin.sql.select import Carried, Struct, find

AGGREGATED = "__streamjoin_a"
"""The columns of aggregates are numbered behind this."""

OPS = {
    "count": (0, 1),
    "count_if": (1, 1),
    **dict.fromkeys(("sum", "avg", "min", "max", "bool_and", "bool_or"), (1, 1)),
    **dict.fromkeys(("var_pop", "var_samp", "stddev_pop", "stddev_samp"), (1, 1)),
    **dict.fromkeys(("first", "last"), (1, 2)),
    **dict.fromkeys(("min_by", "max_by"), (2, 2)),
}
"""The aggregates, with the least and the greatest number of their arguments."""

_ALSO = {
    "mean": "avg",
    "variance": "var_samp",
    "stddev": "stddev_samp",
    "std": "stddev_samp",
    "first_value": "first",
    "last_value": "last",
    "every": "bool_and",
    "some": "bool_or",
    "any": "bool_or",
}
_IGNORE_NULLS = re.compile(r"\s+(ignore|respect)\s+nulls\s*$", re.IGNORECASE)


@dataclass(frozen=True)
class AggregateCall:
    """An aggregate as it is written; `known` says that first and last leave NULLs out."""

    op: str
    args: tuple[str, ...]
    known: bool = False

    def write(self) -> str:
        """The call as Spark reads it."""
        return f"{self.op}({', '.join(self.args) or '*'})"

    @property
    def folded(self) -> str:
        """The aggregate as cells know it."""
        return {"bool_and": "min", "bool_or": "max"}.get(self.op, self.op)


@dataclass(frozen=True)
class Item:
    """A column of the result: an expression in which the aggregates are numbered columns."""

    name: str
    text: str
    calls: tuple[AggregateCall, ...]
    columns: tuple[tuple[str, str], ...]
    """The columns that stand outside of aggregates, as side and name."""

    @property
    def is_all(self) -> bool:
        """Whether it stands for all columns of l."""
        return self.columns == (("l", "*"),)


def read_items(select: object) -> list[Item]:
    """Read all of `select`."""
    if isinstance(select, str) or not isinstance(select, Sequence) or not select:
        raise StreamJoinError(
            f"select: expected a list of SQL, aggregates among it, such as 'count(*) AS n'; got {select!r}"
        )
    items: list[Item] = []
    for written in select:
        items.append(read_item(written, sum(len(item.calls) for item in items)))
    if not any(item.calls for item in items):
        raise StreamJoinError(f"select: got {select!r}; expected an aggregate among them, such as count(*)")
    return items


def list_names(items: Sequence[Item], left: Struct) -> list[str]:
    """The names of the result's columns."""
    every = [field.name for field in left.fields]
    return [name for item in items for name in (every if item.is_all else [item.name])]


def list_kept(items: Sequence[Item], left: Struct) -> list[Carried]:
    """The left columns that stand outside of aggregates."""
    every = [field.name for field in left.fields]
    found = []
    for item in items:
        for _, name in item.columns:
            found += [find("l", [each], left, f"select: {item.text!r}") for each in (every if name == "*" else [name])]
    return list(dict.fromkeys(found))


def prepare_call(call: AggregateCall, is_large: Callable[[str], bool]) -> AggregateCall:
    """The call with its arguments as cells take them: of a value that `is_large` only whether there is one is carried.

    >>> prepare_call(AggregateCall("count_if", ("r.x > 0",)), lambda text: True).args
    ('CASE WHEN (r.x > 0) THEN true END',)
    """
    if call.op == "count_if" or (call.op == "count" and call.args and is_large(call.args[0])):
        test = f"({call.args[0]})" + ("" if call.op == "count_if" else " IS NOT NULL")
        return AggregateCall("count", (f"CASE WHEN {test} THEN true END",))
    if call.op.startswith(("var", "stddev")):
        return replace(call, args=(f"CAST(({call.args[0]}) AS DOUBLE)",))
    return call


def read_item(written: object, first: int) -> Item:
    """Read one item of `select`; its aggregates are numbered from `first` on."""
    if not isinstance(written, str):
        raise StreamJoinError(f"select: expected SQL text such as 'avg(r.price) AS mean'; got {written!r}")
    tokens = _tokenize(written)
    body, name = _split_alias(written, tokens)
    tokens = [token for token in tokens if token.end < len(body)]
    text, at, done = "", 0, 0
    calls: list[AggregateCall] = []
    columns: list[tuple[str, str]] = []
    while at < len(tokens):
        op = _find_op(tokens, at)
        if op is not None:
            close = _find_close(written, tokens, at + 1)
            call, behind = _read_call(written, op, tokens, at + 1, close)
            text += body[done : tokens[at].start] + f"`{AGGREGATED}{first + len(calls)}`"
            calls.append(call)
            at, done = behind, tokens[behind - 1].end + 1
            continue
        _refuse_unknown(written, tokens, at)
        if _is_qualified(tokens, at):
            columns.append((tokens[at].text.lower(), tokens[at + 2].text))
        at += 1
    text += body[done:]
    if outside := [f"r.{column}" for side, column in columns if side == "r"]:
        raise StreamJoinError(
            f"select: {written!r} names {outside[0]} outside of an aggregate, and a left row may meet many right rows; "
            f"expected an aggregate of it, such as last({outside[0]}). The aggregates are {', '.join(sorted(OPS))}"
        )
    return Item(name, text.strip(), tuple(calls), tuple(columns))


def find_sides(text: str, names: Mapping[Side, Sequence[str]]) -> set[Side]:
    """The sides that an expression speaks of.

    >>> sorted(find_sides("abs(l.x - a)", {"l": ["x"], "r": ["a"]}))
    ['l', 'r']
    """
    tokens, sides = _tokenize(text), set[Side]()
    for at, token in enumerate(tokens):
        if _is_qualified(tokens, at):
            sides.add("l" if token.text.lower() == "l" else "r")
        elif not (at and tokens[at - 1].token_type == TokenType.DOT) and token.token_type != TokenType.STRING:
            known = (side for side in SIDES if token.text.lower() in map(str.lower, names[side]))
            sides.update(known if not _is_called(tokens, at) else ())
    return sides


def _is_called(tokens: Sequence[Token], at: int) -> bool:
    return at + 1 < len(tokens) and tokens[at + 1].token_type == TokenType.L_PAREN


def _tokenize(written: str) -> Sequence[Token]:
    try:
        return sqlglot.tokenize(written, read="spark")
    except SqlglotError as error:
        raise StreamJoinError(f"select: cannot read {written!r}: {error}") from error


def _split_alias(written: str, tokens: Sequence[Token]) -> tuple[str, str]:
    """The expression, and the name that follows AS; else the column's own name, or the text."""
    if len(tokens) > 2 and tokens[-2].token_type == TokenType.ALIAS and _depth(tokens[:-2]) == 0:
        return written[: tokens[-2].start].rstrip(), tokens[-1].text
    if len(tokens) == 3 and _is_qualified(tokens, 0):
        return written, tokens[2].text
    return written, written.strip()


def _depth(tokens: Sequence[Token]) -> int:
    kinds = [token.token_type for token in tokens]
    return kinds.count(TokenType.L_PAREN) - kinds.count(TokenType.R_PAREN)


def _is_qualified(tokens: Sequence[Token], at: int) -> bool:
    """Whether ``l.name`` or ``r.name`` begins here."""
    return (
        at + 2 < len(tokens)
        and tokens[at].text.lower() in ("l", "r")
        and tokens[at + 1].token_type == TokenType.DOT
        and (at == 0 or tokens[at - 1].token_type != TokenType.DOT)
    )


def _find_op(tokens: Sequence[Token], at: int) -> str | None:
    """The aggregate that is called here, if one is."""
    if not _is_called(tokens, at) or (at > 0 and tokens[at - 1].token_type == TokenType.DOT):
        return None
    name = tokens[at].text.lower()
    name = _ALSO.get(name, name)
    return name if name in OPS else None


def _refuse_unknown(written: str, tokens: Sequence[Token], at: int) -> None:
    """Refuse an aggregate of Spark's that is none of ours; any other function is computed of them."""
    name = tokens[at].text
    if _is_called(tokens, at) and is_aggregate(name):
        raise StreamJoinError(f"select: {written!r}: {name} is not one of the aggregates: {', '.join(sorted(OPS))}")


def _find_close(written: str, tokens: Sequence[Token], opening: int) -> int:
    depth = 0
    for at in range(opening, len(tokens)):
        kind = tokens[at].token_type
        depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
        if depth == 0:
            return at
    raise StreamJoinError(f"select: cannot read {written!r}: a parenthesis is not closed")


def _read_call(written: str, op: str, tokens: Sequence[Token], opening: int, close: int) -> tuple[AggregateCall, int]:
    """The call between two parentheses, and the token after it."""
    inside = tokens[opening + 1 : close]
    if inside and inside[0].token_type == TokenType.DISTINCT:
        raise StreamJoinError(f"select: {written!r}: aggregates of DISTINCT values are not possible; leave it out")
    args, known = _split_arguments(written, tokens, opening, close), False
    if op in ("first", "last") and args:
        if found := _IGNORE_NULLS.search(args[0]):
            args[0], known = args[0][: found.start()], found[1].lower() == "ignore"
        if len(args) == 2:
            known = args.pop().lower() == "true"
    following = close + 1
    behind = " ".join(token.text.lower() for token in tokens[following : following + 2])
    if behind in ("ignore nulls", "respect nulls") and op in ("first", "last"):
        known, following = behind == "ignore nulls", following + 2
    elif behind.startswith(("filter", "over", "within")):
        word = behind.partition(" ")[0].upper()
        raise StreamJoinError(f"select: {written!r}: {word} is not possible here; use CASE WHEN within the aggregate")
    least, most = OPS[op]
    if args == ["*"] and op == "count":
        args = []
    elif not max(least, 1) <= len(args) <= most:
        expected = str(least) if least == most else f"{least} to {most}"
        raise StreamJoinError(f"select: {written!r}: {op} takes {expected} arguments, not {len(args)}")
    return AggregateCall(op, tuple(args), known), following


def _split_arguments(written: str, tokens: Sequence[Token], opening: int, close: int) -> list[str]:
    args, depth, start = [], 0, tokens[opening].end + 1
    for token in tokens[opening + 1 : close]:
        kind = token.token_type
        depth += (kind in (TokenType.L_PAREN, TokenType.L_BRACKET)) - (kind in (TokenType.R_PAREN, TokenType.R_BRACKET))
        if kind == TokenType.COMMA and depth == 0:
            args.append(written[start : token.start].strip())
            start = token.end + 1
    args.append(written[start : tokens[close].start].strip())
    return [] if args == [""] else args
