"""Conditions that Spark would decide after the join, made ready to be decided by a worker.

In a join that keeps unmatched rows, every part of the condition decides whether two rows match. In an inner join
the worker takes what it decides exactly as Spark does, so that pairs that fail need not cross to Spark. What speaks of
one side alone Spark computes before the join, as a `Key`. Of the rest, numbers are compiled; strings and arrays of both
sides become pair columns (`vector`), each a boolean or a number, that the compiled code then reads like any other.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import NoReturn

from streamjoin.errors import StreamJoinError
from streamjoin.operators.arithmetic import EvaluationError, can_cast
from streamjoin.operators.evaluate import evaluate
from streamjoin.operators.expr import Call, Cast, Column, Expr, Function, Key, Literal, Opaque, conjunction
from streamjoin.operators.registry import OPERATORS
from streamjoin.operators.types import (
    BINARY,
    BOOLEAN,
    INT,
    INTERVAL,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    UNKNOWN,
    VOID,
    Type,
)
from streamjoin.predicate.classify import Keys, over_keys, split
from streamjoin.predicate.conjunct import Band, Conjunct, Evaluated, PairColumn, Range
from streamjoin.predicate.traits import is_known, may_raise, reads_zone


def require_worker(conjunct: Conjunct, keys: Keys) -> Conjunct:
    """The same condition without need of Spark after the join, or an error that names the part that needs it."""
    decider = _Decider(keys)
    try:
        checks = [decider.number(part, guarded=False) for part in split(conjunct.exact)]
    except _Undecidable as reason:
        written = f"{reason.part}" if str(reason.part) == str(conjunct.exact) else f"{reason.part} in {conjunct.exact}"
        raise StreamJoinError(
            f"on: {written}: {reason}, and in a join that keeps unmatched rows every part of the condition must be "
            "decided before a row is known to be unmatched. Compute a column before the join and compare that, "
            "or take how='inner'"
        ) from None
    check = conjunction(checks)
    if isinstance(conjunct, Band | Range):
        assert not decider.pairs, "a band is on numbers"
        return replace(conjunct, check=check)
    return Evaluated(conjunct.exact, check, tuple(decider.pairs))


def prefer_worker(conjunct: Conjunct, keys: Keys) -> Conjunct | None:
    """A condition of an inner join as the worker decides it; None where it stays with Spark.

    The worker must not fail or differ where Spark would not. So nothing that may raise is computed before the join, as
    if all of it stood behind a guard, and patterns are constants that mean the same to both.
    """
    if any(map(reads_zone, _walk_arguments(conjunct.exact))):
        return None
    decider = _Decider(Keys(dict(keys.known)), inner=True)
    try:
        check = decider.number(conjunct.exact, guarded=True)
    except _Undecidable:
        return None
    keys.known = decider.keys.known
    return Evaluated(conjunct.exact, check, tuple(decider.pairs))


class _Undecidable(Exception):
    """A worker cannot evaluate `part`."""

    def __init__(self, part: Expr, reason: str = "only Spark evaluates this") -> None:
        super().__init__(reason)
        self.part = part


class _Decider:
    def __init__(self, keys: Keys, *, inner: bool = False) -> None:
        self.keys, self.inner = keys, inner
        self.pairs: list[PairColumn] = []

    def number(self, expr: Expr, *, guarded: bool) -> Expr:
        """The expression in machine numbers: over keys, constants and pair columns."""
        if (found := over_keys(expr, self.keys, guarded=guarded)) is not None:
            return found
        expr = _within_bound(expr)
        if _is_zoned_difference(expr):  # Spark subtracts them as the clocks of the session's zone show them
            local = (Cast(TIMESTAMP_NTZ, child, implicit=True) for child in expr.children)
            return self.number(Call(INTERVAL, "-", tuple(local)), guarded=guarded)
        if not expr.type.is_plain:
            self.refuse(expr)
        logic = isinstance(expr, Call) and expr.op in ("AND", "OR", "NOT")
        plain = all(child.type.is_plain or child.type == VOID for child in expr.children)
        if isinstance(expr, Call) and OPERATORS[expr.op].is_compiled and (plain or logic) and not reads_zone(expr):
            lazy = OPERATORS[expr.op].guards
            places = iter(range(len(expr.args)))
            return expr.rebuild(lambda child: self.number(child, guarded=guarded or (lazy and next(places) > 0)))
        if isinstance(expr, Cast) and can_cast(expr.arg.type, expr.type) and plain and not reads_zone(expr):
            return expr.rebuild(lambda child: self.number(child, guarded=guarded))
        tree = self.text(expr, guarded=guarded, nested=False)
        name = f"\0{len(self.pairs)}"  # of no column
        key = Key(expr.type, Column(expr.type, "l", (name,)), name=name)
        self.pairs.append(PairColumn(key, tree))
        return key

    def text(self, expr: Expr, *, guarded: bool, nested: bool = True) -> Expr:
        """The expression as `vector` evaluates it; `nested` if as a part of another one."""
        while isinstance(expr, Cast) and expr.implicit and expr.type == expr.arg.type:
            expr = expr.arg
        if len(expr.sides) == 1 and (isinstance(expr, Column) or not (guarded and may_raise(expr))):
            return self.keys.key(expr) if _is_held(expr.type) else self.refuse(expr)
        if not expr.sides:
            return self.constant(expr)
        match expr:
            case Function(op=op, args=args):
                taken = [self.text(arg, guarded=guarded) for arg in args]
                operator = OPERATORS[op]
                wrong = [arg for i, arg in enumerate(taken) if i in operator.constants and not isinstance(arg, Literal)]
                if operator.may_raise(expr.type) and nested and guarded and not isinstance(taken[1], Literal):
                    raise _Undecidable(expr, "a pattern behind a condition, within a string, is Spark's to evaluate")
                if wrong:
                    raise _Undecidable(expr, f"a worker takes {wrong[0]} as a constant only")
                if op in ("like", "ilike") and len(taken) == 3 and not _is_escape(taken[2]):
                    raise _Undecidable(expr, "the escape character must be an ASCII one")
                if self.inner and not _agrees_with_spark(op, taken):
                    raise _Undecidable(expr)
                return Call(expr.type, op, tuple(taken))
            case Call(op=op, args=args) if OPERATORS[op].arrow is not None:
                held = (BOOLEAN, STRING, BINARY, VOID) if op in _LOGIC else (STRING, BINARY, VOID)
                if any(arg.type not in held for arg in args):
                    self.refuse(expr)
                lazy = OPERATORS[op].guards
                parts = [self.text(arg, guarded=guarded or (lazy and i > 0)) for i, arg in enumerate(args)]
                return replace(expr, args=tuple(map(_as_condition, parts)) if op in _LOGIC - {"CASE"} else tuple(parts))
            case Opaque() if len(expr.sides) == 1:
                raise _Undecidable(
                    expr, "only Spark knows whether it fails on rows that the condition before it spares"
                )
        return self.refuse(expr)

    def constant(self, expr: Expr) -> Literal:
        if isinstance(expr, Literal):
            return expr
        if self.inner and any(isinstance(part, Function) and part.op in _CASED for part in _walk_arguments(expr)):
            raise _Undecidable(expr)
        return Literal(expr.type, evaluate(expr, {}, {}), f"({expr})") if is_known(expr) else self.refuse(expr)

    def refuse(self, expr: Expr) -> NoReturn:
        if not expr.sides:
            raise _Undecidable(expr, "only Spark knows its value")
        types = sorted({str(child.type) for child in expr.children if child.type != VOID})
        if isinstance(expr, Call) and UNKNOWN in (child.type for child in expr.children):
            types = sorted({str(_uncast(child).type) for child in expr.children})
            raise _Undecidable(expr, f"only Spark knows how {' and '.join(types)} go together")
        if isinstance(expr, Opaque) or not types:
            raise _Undecidable(expr)
        plain = all(child.type.is_plain for child in expr.children)
        where = "within a function of strings or arrays " if plain else ""
        raise _Undecidable(expr, f"{where}only Spark evaluates this for {' and '.join(types)}")


_LOGIC = frozenset(("CASE", "AND", "OR", "NOT", "IS NULL", "IS TRUE", "IS FALSE"))


def _as_condition(expr: Expr) -> Expr:
    return Literal(BOOLEAN, None, "NULL") if expr.type == VOID else expr


def _uncast(expr: Expr) -> Expr:
    return expr.arg if isinstance(expr, Cast) and expr.type == UNKNOWN else expr


def _walk_arguments(expr: Expr) -> Iterator[Expr]:
    """All parts of an expression; of a function its arguments, as a worker evaluates them."""
    yield expr
    for part in expr.args if isinstance(expr, Function) else expr.children:
        yield from _walk_arguments(part)


def _within_bound(expr: Expr) -> Expr:
    """``levenshtein(a, b) <= 2`` as ``levenshtein(a, b, 2) >= 0``: a distance that is above need not be known."""
    match expr:
        case Call(op=op, args=(Function(op="levenshtein", args=(_, _)) as distance, Literal(type=type, value=value))):
            most = {"<=": 0, ">": 0, "<": -1, ">=": -1}.get(op)
            if most is None or type != INT or value is None or value + most < 0 or len(distance.sides) < 2:
                return expr  # of one side alone Spark computes it, as it is written
            bound = Literal(INT, value + most, str(value + most))
            within = replace(distance, args=(*distance.args, bound))
            return replace(expr, op=">=" if op in ("<", "<=") else "<", args=(within, Literal(INT, 0, "0")))
    return expr


def _is_zoned_difference(expr: Expr) -> bool:
    return isinstance(expr, Call) and expr.op == "-" and [child.type for child in expr.children] == [TIMESTAMP] * 2


def _is_held(type: Type) -> bool:
    """Whether a key column of this type can be part of a tree."""
    element = type.name.removeprefix("array<").removesuffix(">")
    return type.is_plain or type in (STRING, BINARY) or (type.name != element and _is_element(Type(element)))


def _is_element(type: Type) -> bool:
    return (type.is_plain or type in (STRING, BINARY)) and not (type.is_interval or type.is_timestamp)


_CASED = frozenset(("lower", "upper", "ilike"))
"""Functions that go by tables of Unicode, of which Java and Python may have different versions."""


def _agrees_with_spark(op: str, args: list[Expr]) -> bool:
    """Whether a function yields for all strings what it yields in Spark: whatever letters and patterns rows hold."""
    if op in _CASED:
        return False
    if not OPERATORS[op].may_raise(BOOLEAN):
        return True
    constants = [arg.value for arg in args[1:] if isinstance(arg, Literal)]
    if len(constants) < len(args) - 1:
        return False
    try:
        return None in constants or OPERATORS[op].value("", *constants) in (True, False)
    except EvaluationError:
        return False


def _is_escape(literal: Expr) -> bool:
    value = literal.value if isinstance(literal, Literal) else None
    return isinstance(value, str) and len(value) == 1 and value.isascii()
