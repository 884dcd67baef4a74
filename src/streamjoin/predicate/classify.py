"""A condition taken apart into conjuncts, each in the most useful class that it belongs to.

In order of preference: one-sided, equi (an equality), band, range, compiled, residual; `for_worker` turns residual ones
into evaluated ones where a worker can decide them. One-sided sub-expressions become `Key` columns, numbered as they are
met, equal ones only once.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from streamjoin.operators.arithmetic import can_cast
from streamjoin.operators.evaluate import evaluate
from streamjoin.operators.expr import Call, Cast, Column, Expr, Key, Literal, conjunction
from streamjoin.operators.registry import OPERATORS
from streamjoin.operators.rules import COMPARISONS
from streamjoin.operators.types import BIGINT, BINARY, BOOLEAN, INTEGRAL_RANGE, STRING, UNKNOWN, VOID, Type
from streamjoin.predicate.conjunct import Band, Compiled, Conjunct, Equi, OneSided, Range, Residual
from streamjoin.predicate.half import Halves
from streamjoin.predicate.halves import group_halves, read_halves
from streamjoin.predicate.linear import MIRRORED, Difference, read_difference
from streamjoin.predicate.traits import is_known, may_raise, reads_zone

_NEGATED = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def classify(condition: Expr) -> tuple[Conjunct, ...]:
    """The conjuncts of a condition; one that is always true is left out."""
    keys = Keys()
    parts = list(split(_push_not(condition)))
    ranges = group_halves(_read_ranges(parts))
    taken = {number: group for group in ranges for number in group[0]}
    found: list[Conjunct | None] = []
    for number, part in enumerate(parts):
        if number not in taken:
            found.append(_classify_part(part, keys))
        elif number == taken[number][0][0]:
            found.append(_range([parts[other] for other in taken[number][0]], taken[number][1], keys))
    return tuple(_merge_bands([part for part in found if part is not None]))


@dataclass
class Keys:
    """The key columns of a predicate: equal ones are one."""

    known: dict[Key, Key] = field(default_factory=dict)

    def key(self, expr: Expr, type: Type | None = None) -> Key:
        """The key column of a one-sided expression."""
        if type is None:
            type = expr.type
        while isinstance(expr, Cast) and expr.implicit and (expr.type == type or expr.type == UNKNOWN):
            expr = expr.arg
            type = expr.type if type == UNKNOWN else type
        key = Key(type, expr)
        if key not in self.known:
            number = 1 + max(
                (int(known.name[2:]) for known in self.known.values() if known.side == key.side), default=-1
            )
            self.known[key] = replace(key, name=f"_{key.side}{number}")
        return self.known[key]


def _push_not(expr: Expr) -> Expr:
    """NOT moved down to the comparisons: sound in three-valued logic, and Spark orders NaN like any number."""
    match expr:
        case Call(op="NOT", args=(Call(op="NOT", args=(inner,)),)):
            return _push_not(inner)
        case Call(op="NOT", args=(Call(op="AND" | "OR" as op, args=args),)):
            return Call(BOOLEAN, "OR" if op == "AND" else "AND", tuple(_push_not(_not(arg)) for arg in args))
        case Call(op="NOT", args=(Call(op=op) as inner,)) if op in _NEGATED:
            return replace(inner, op=_NEGATED[op])
        case Call(op="AND" | "OR"):
            return expr.rebuild(_push_not)
    return expr


def _not(expr: Expr) -> Expr:
    return Call(BOOLEAN, "NOT", (expr,))


def split(expr: Expr) -> Iterator[Expr]:
    """The parts of an expression that are joined by AND."""
    if isinstance(expr, Call) and expr.op == "AND":
        for arg in expr.args:
            yield from split(arg)
    else:
        yield expr


def _classify_part(part: Expr, keys: Keys) -> Conjunct | None:
    if not part.sides:
        return None if _is_always_true(part) else _make_compiled(part, keys)
    if len(part.sides) == 1:
        return OneSided(part, keys.key(part))
    if isinstance(part, Call) and part.op in COMPARISONS:
        if (equi := _equi(part, keys)) is not None:
            return equi
        if (found := read_difference(part)) is not None:
            return _band(part, found, keys)
    return _make_compiled(part, keys)


def _read_ranges(parts: Sequence[Expr]) -> list[Halves | None]:
    """What each part says of ranges; None for an equality and for bounds of a band with two ends, which do better."""
    bands: list[tuple[Expr, Expr] | None] = []
    ends: set[tuple[Expr, Expr, str]] = set()
    for part in parts:
        found = None
        if isinstance(part, Call) and part.op in COMPARISONS and len(part.sides) == 2:
            found = read_difference(part)
        bands.append(None if found is None else (found.left, found.right))
        if found is not None:
            given = (("lower", found.lower), ("upper", found.upper))
            ends |= {(found.left, found.right, name) for name, bound in given if bound is not None}
    return [
        None if _compares_equal(part) or (pair and {(*pair, "lower"), (*pair, "upper")} <= ends) else read_halves(part)
        for part, pair in zip(parts, bands, strict=True)
    ]


def _compares_equal(part: Expr) -> bool:
    return isinstance(part, Call) and part.op in ("=", "<=>") and all(len(arg.sides) == 1 for arg in part.args)


def _range(parts: Sequence[Expr], halves: Halves, keys: Keys) -> Range:
    named: dict[Expr, Key] = {value: keys.key(value) for value in halves.values}

    def put(expr: Expr) -> Expr:
        return named[expr] if expr in named else expr.rebuild(put)

    exact = conjunction(parts)
    renamed = Halves(*(tuple(half.rename(named) for half in each) for each in (halves.bounds, halves.positive)))
    return Range(exact, renamed, _on_machine(put(exact)) or over_keys(exact, keys, guarded=False))


def _band(part: Call, found: Difference, keys: Keys) -> Band:
    # Whole numbers meet in one type. Floating keys keep their own, so that the condition can be checked on them; a
    # decimal's own is a whole number of another unit.
    meets = (atom.type.is_decimal or not found.type.is_floating for atom in (found.left, found.right))
    left, right = (
        keys.key(atom, found.type if meet else atom.type)
        for atom, meet in zip((found.left, found.right), meets, strict=True)
    )
    check = _on_machine(found.substitute(part, left, right))
    return Band(part, left, right, found.lower, found.upper, found.margin, found.specials, check)


def _on_machine(expr: Expr) -> Expr | None:
    """The expression with its constants folded, if it then needs machine numbers only; `Key` leaves are such."""
    if isinstance(expr, Key):
        return expr if expr.type.is_plain else None
    if not expr.sides and expr.type.is_plain and not isinstance(expr, Literal):
        return Literal(expr.type, evaluate(expr, {}, {}), f"({expr})") if is_known(expr) else None
    if not expr.type.is_plain or reads_zone(expr):
        return None
    return _replace_children(expr, [_on_machine(child) for child in expr.children])


def _replace_children(expr: Expr, children: Sequence[Expr | None]) -> Expr | None:
    """The expression over other parts; None where one of them is missing."""
    present = [child for child in children if child is not None]
    following = iter(present)
    return expr.rebuild(lambda _: next(following)) if len(present) == len(children) else None


def _is_always_true(part: Expr) -> bool:
    return is_known(part) and evaluate(part, {}, {}) is True


def _equi(part: Call, keys: Keys) -> Equi | None:
    a, b = part.args
    if part.op not in ("=", "<=>") or {len(a.sides), len(b.sides)} != {1} or a.sides == b.sides:
        return None
    left, right = (keys.key(arg) for arg in ((a, b) if a.sides == {"l"} else (b, a)))
    if left.type != right.type or left.type == UNKNOWN:
        return None
    if not (left.type.is_plain or left.type.is_decimal or left.type in (STRING, BINARY)):
        return None  # equality of structs, arrays and collated strings is Spark's own
    return Equi(part, left, right, part.op == "<=>")


def _merge_bands(parts: list[Conjunct]) -> Iterator[Conjunct]:
    """Two bounds on the same difference are one band."""
    bands: dict[tuple[Key, Key], Band] = {}
    for part in parts:
        if isinstance(part, Band):
            pair = (part.left, part.right)
            bands[pair] = _intersect(bands[pair], part) if pair in bands else part
    for part in parts:
        if not isinstance(part, Band):
            yield part
        elif (band := bands.pop((part.left, part.right), None)) is not None:
            yield band


def _intersect(a: Band, b: Band) -> Band:
    return Band(
        Call(BOOLEAN, "AND", (a.exact, b.exact)),
        a.left,
        a.right,
        max((x for x in (a.lower, b.lower) if x), key=lambda x: (x.value, x.open), default=None),
        min((x for x in (a.upper, b.upper) if x), key=lambda x: (x.value, not x.open), default=None),
        a.margin | b.margin,
        a.specials & b.specials,
        None if a.check is None or b.check is None else Call(BOOLEAN, "AND", (a.check, b.check)),
    )


def _make_compiled(part: Expr, keys: Keys) -> Conjunct:
    compiled = over_keys(part, keys, guarded=False)
    return Residual(part) if compiled is None else Compiled(compiled)


def over_keys(expr: Expr, keys: Keys, *, guarded: bool) -> Expr | None:
    """The expression over key columns and constants, in machine numbers only; None where it needs more.

    Under a CASE or on the right of AND and OR (`guarded`), a sub-expression that may raise is not computed ahead
    of its guard: its columns are, and it is evaluated behind the guard.
    """
    if len(expr.sides) == 1 and (isinstance(expr, Column) or not (guarded and may_raise(expr))):
        return keys.key(expr) if expr.type.is_plain else None
    match expr:
        case Literal():
            return expr if (expr.type.is_plain and not reads_zone(expr)) or expr.type == VOID else None
        case Cast(type=type, arg=Literal()) if type.is_plain and not reads_zone(expr):
            return expr if is_known(expr) else None
        case Cast(type=type, arg=arg) if type.is_plain and can_cast(arg.type, type) and not reads_zone(expr):
            return _rebuild(expr, keys, guarded) if arg.type.is_plain else None
        case Call(op=op, type=type) if OPERATORS[op].is_compiled and (type.is_plain or type == VOID):
            expr = _in_whole_numbers(expr)
            return None if reads_zone(expr) else _rebuild(expr, keys, guarded)
    return None


def _rebuild(expr: Expr, keys: Keys, guarded: bool) -> Expr | None:
    lazy = isinstance(expr, Call) and OPERATORS[expr.op].guards
    parts = [over_keys(child, keys, guarded=guarded or (lazy and i > 0)) for i, child in enumerate(expr.children)]
    return _replace_children(expr, parts)


def _in_whole_numbers(expr: Call) -> Call:
    """``whole <= 10.5`` as ``whole <= 10``: a comparison of whole numbers with a decimal constant needs no decimals."""
    match expr:
        case Call(op=op, args=(Cast(arg=whole, implicit=True), constant)) if whole.type.is_integral:
            pass
        case Call(op=op, args=(constant, Cast(arg=whole, implicit=True))) if whole.type.is_integral:
            op = MIRRORED.get(op, op)
        case _:
            return expr
    if op not in ("<", "<=", ">", ">=") or not constant.type.is_decimal or constant.sides or not whole.sides:
        return expr
    value = evaluate(constant, {}, {}) if is_known(constant) else None
    if not isinstance(value, Decimal):
        return expr
    limit = math.ceil(value) if op in ("<", ">=") else math.floor(value)
    if not -INTEGRAL_RANGE[BIGINT] <= limit < INTEGRAL_RANGE[BIGINT]:
        return expr
    as_bigint = whole if whole.type == BIGINT else Cast(BIGINT, whole, implicit=True)
    return Call(BOOLEAN, op, (as_bigint, Literal(BIGINT, limit, str(limit))), span=expr.span)
