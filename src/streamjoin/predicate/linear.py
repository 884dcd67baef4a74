"""Comparisons that bound a difference: ``lower <= f(l) - g(r) <= upper`` however they are written.

A comparison is separable when its two sides add up to one left expression, one right expression and constants.
Moving terms across the comparison is exact for whole numbers, dates and times. For floating values it is not:
``l.x <= r.a + 10`` rounds otherwise than ``l.x - r.a <= 10``. The bounds then only narrow, by a margin that covers
every rounding on the way, and the condition as written decides.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

from streamjoin.operators.arithmetic import EvaluationError, NotEvaluable
from streamjoin.operators.evaluate import evaluate
from streamjoin.operators.expr import Call, Cast, Expr, Literal
from streamjoin.operators.rules import COMPARISONS
from streamjoin.operators.types import BOOLEAN, DATE, FLOAT, MAX_PRECISION, TIMESTAMP, Type
from streamjoin.operators.widening import common_type
from streamjoin.predicate.half import EPSILON
from streamjoin.spec.duration import UNITS

MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<=>": "<=>", "<>": "<>"}
_DAY = UNITS["day"]

ZONE_MARGIN = 2 * _DAY
"""How far a time zone can move a difference of zoned times: Spark counts days by the calendar of the session's
zone, and the largest change of a zone's offset on record is 24 hours."""


@dataclass(frozen=True)
class Bound:
    """One end of a band, in the unit of the keys."""

    value: Fraction
    open: bool = False


@dataclass(frozen=True)
class Margin:
    """How much a narrowing test must allow for: ``relative * (|f| + |g| + reach) + absolute``."""

    relative: Fraction = Fraction(0)
    reach: Fraction = Fraction(0)
    absolute: int = 0

    def __or__(self, other: "Margin") -> "Margin":
        return Margin(
            max(self.relative, other.relative), max(self.reach, other.reach), max(self.absolute, other.absolute)
        )


@dataclass(frozen=True)
class Difference:
    """A comparison as bounds on ``left - right``, where both are one-sided expressions of one type."""

    left: Expr
    right: Expr
    type: Type
    lower: Bound | None
    upper: Bound | None
    margin: Margin
    specials: frozenset[tuple[str, str]]

    def substitute(self, comparison: Expr, left: Expr, right: Expr) -> Expr:
        """The comparison with other expressions in place of `self.left` and `self.right`."""
        return _substitute(comparison, self.left, left, self.right, right)


def read_difference(comparison: Call) -> Difference | None:
    """Read a comparison of both sides as bounds on a difference; None where it is not one.

    >>> from streamjoin.sql.bind import bind
    >>> from streamjoin.operators.types import Schema
    >>> d = read_difference(bind("l.x < r.a + 10", Schema({"x": "int"}), Schema({"a": "int"})))
    >>> str(d.left), str(d.right), d.lower, d.upper
    ('l.x', 'r.a', None, Bound(value=Fraction(10, 1), open=True))
    """
    op, (a, b) = comparison.op, comparison.args
    if op not in COMPARISONS - {"<>", "<=>"}:
        return None
    if _absolute(b) is not None:
        op, a, b = MIRRORED[op], b, a
    inner = _absolute(a)
    first, second = _sum(a) if inner is None else inner, _sum(b)
    if first is None or second is None:
        return None
    if inner is not None:
        if second.terms or op not in ("<", "<="):
            return None
        halves = [(first - second, op), (first + second, MIRRORED[op])]
    else:
        total = first - second
        halves = [(total, "<="), (total, ">=")] if op == "=" else [(total, op)]
    return _bound_difference(comparison, halves)


def _bound_difference(comparison: Call, halves: "list[tuple[_Sum, str]]") -> Difference | None:
    total = halves[0][0]
    by_side = {"".join(atom.sides): (atom, factor) for atom, factor in total.terms}
    if len(total.terms) != 2 or set(by_side) != {"l", "r"}:
        return None
    (left, factor), (right, other) = by_side["l"], by_side["r"]
    if other == factor:  # a sum: the difference to the negated right side, where negating cannot overflow
        if not right.type.is_floating:
            return None
        right = Call(right.type, "-", (right,))
    type = common_type([left.type, right.type])
    if type is None or not type.is_machine or type == BOOLEAN:
        return None
    lower = upper = None
    for half, op in halves:
        bound = Bound(-half.constant / factor, open=op in ("<", ">"))
        if (op[0] == "<") == (factor > 0):
            upper = bound
        else:
            lower = bound
    margin = total.margin
    if margin.relative and (type.is_decimal or margin.reach >= _overflow_limit(margin)):
        return None
    if type.is_floating:
        margin |= Margin(EPSILON[type.name] * 2)  # the keys' own casts, and a kernel that subtracts
    return Difference(left, right, type, lower, upper, margin, _specials(comparison, left, right))


@dataclass(frozen=True)
class _Sum:
    """A linear form: factors of one-sided expressions, a constant, and what rounding may have moved."""

    terms: tuple[tuple[Expr, Fraction], ...] = ()
    constant: Fraction = Fraction(0)
    margin: Margin = field(default_factory=Margin)

    def __add__(self, other: "_Sum") -> "_Sum":
        margin = Margin(
            self.margin.relative + other.margin.relative,
            self.margin.reach + other.margin.reach,
            max(self.margin.absolute, other.margin.absolute),
        )
        return _Sum(self.terms + other.terms, self.constant + other.constant, margin)

    def __sub__(self, other: "_Sum") -> "_Sum":
        return self + other.scale(Fraction(-1))

    def scale(self, factor: Fraction) -> "_Sum":
        terms = tuple((atom, factor * own) for atom, own in self.terms)
        return replace(self, terms=terms, constant=self.constant * factor)

    def round_to(self, type: Type) -> "_Sum":
        """After one more operation whose result is of `type`."""
        if not type.is_floating:
            return self
        return replace(self, margin=replace(self.margin, relative=self.margin.relative + EPSILON[type.name]))


def _sum(expr: Expr) -> _Sum | None:
    if not expr.sides:
        return _constant(expr)
    whole = _Sum(((expr, Fraction(1)),)) if len(expr.sides) == 1 else None
    return _open_sum(expr) or whole


def _open_sum(expr: Expr) -> _Sum | None:
    """An addition or subtraction taken apart; one-sided ones give up only their constants."""
    if may_cut_digits(expr.type):
        return None
    match expr:
        case Cast(arg=arg, implicit=True) if expr.type.is_numeric and arg.type.is_numeric:
            inner = _sum(arg)
            return inner and inner.round_to(expr.type)
        case Call(op="-", args=(arg,)) if len(expr.sides) == 2:
            inner = _sum(arg)
            return inner and inner.scale(Fraction(-1))
        case Call(op="*", args=(a, b)) if len(expr.sides) == 2 and expr.type.is_integral:
            number, form = (_sum(a), _sum(b)) if not a.sides else (_sum(b), _sum(a))
            if number is None or form is None or number.terms or not number.constant:
                return None
            return form.scale(number.constant)
        case Call(op="+" | "-" | "datediff" as op, args=(a, b)):
            return _add_sums(expr, "-" if op == "datediff" else op, a, b)
    return None


def _add_sums(expr: Expr, op: str, a: Expr, b: Expr) -> _Sum | None:
    if len(expr.sides) == 1 and ((a.sides and b.sides) or (op == "-" and not a.sides)):
        return None  # a sum within one side, or its negation, stays one expression
    first, second = _sum(a), _sum(b)
    if first is None or second is None:
        return None
    if expr.type == TIMESTAMP and DATE in (a.type, b.type):
        return None
    if expr.type == DATE:  # moved by an interval: microseconds to days
        first, second = (s.scale(Fraction(1, _DAY)) if e.type.is_interval else s for s, e in ((first, a), (second, b)))
    total = first + second if op == "+" else first - second
    if expr.type.is_interval and a.type == DATE:
        total = total.scale(Fraction(_DAY))
    if TIMESTAMP in (a.type, b.type) and (a.type == b.type or abs(first.constant) + abs(second.constant) >= _DAY):
        total = replace(total, margin=replace(total.margin, absolute=ZONE_MARGIN))
    return total.round_to(expr.type)


def _in_zone(constant: Expr) -> bool:
    """Whether a zoned time has a part in a constant, which Spark then reads in the session's zone."""
    return any(part.type == TIMESTAMP for part in constant.walk())


def _constant(expr: Expr) -> _Sum | None:
    try:
        value = None if _in_zone(expr) else evaluate(expr, {}, {})
    except (NotEvaluable, EvaluationError):
        return None
    if value is None or isinstance(value, str | bytes | bool) or not math.isfinite(value):
        return None
    number = Fraction(value)
    return _Sum(constant=number, margin=Margin(reach=abs(number)))


def _absolute(expr: Expr) -> _Sum | None:
    """What stands inside of ``abs( )`` when both sides do, after the casts around it."""
    casts = []
    while isinstance(expr, Cast) and expr.implicit:
        casts.append(expr.type)
        expr = expr.arg
    if not (isinstance(expr, Call) and expr.op == "abs" and len(expr.sides) == 2):
        return None
    inner = _sum(expr.args[0])
    for type in casts:
        inner = inner and inner.round_to(type)
    return inner


def _overflow_limit(margin: Margin) -> Fraction:
    """Constants from which on a sum of finite values can become infinite, where no margin helps."""
    return Fraction(2) ** (100 if margin.relative >= EPSILON["float"] else 960)


def may_cut_digits(type: Type) -> bool:
    """Whether Spark may have cut digits to stay within 38."""
    return type.is_decimal and type.precision >= MAX_PRECISION


def classify_value(value: Any) -> str:
    """Finite, or which of the values that no subtraction tells apart: nan, inf, -inf."""
    if not isinstance(value, float) or math.isfinite(value):
        return "finite"
    return str(value)


def _specials(comparison: Call, left: Expr, right: Expr) -> frozenset[tuple[str, str]]:
    """Which pairs of non-finite values the comparison accepts, found by trying it."""
    found = set()
    for f in _samples(left.type):
        for g in _samples(right.type):
            pair = classify_value(f), classify_value(g)
            if pair != ("finite", "finite") and _holds(comparison, left, f, right, g):
                found.add(pair)
    return frozenset(found)


def _samples(type: Type) -> Iterator[Any]:
    if not type.is_floating:
        return iter((Decimal(0), Decimal(1)) if type.is_decimal else (0, 1))
    largest = (2 - 2**-23) * 2.0**127 if type == FLOAT else 1.7976931348623157e308
    return iter((0.0, largest, -largest, math.inf, -math.inf, math.nan))


def _holds(comparison: Call, left: Expr, f: Any, right: Expr, g: Any) -> bool:
    tried = _substitute(comparison, left, Literal(left.type, f, ""), right, Literal(right.type, g, ""))
    try:
        return evaluate(tried, {}, {}) is True
    except (EvaluationError, NotEvaluable):
        return True


def _substitute(comparison: Expr, left: Expr, new_left: Expr, right: Expr, new_right: Expr) -> Expr:
    if isinstance(right, Call) and right.op == "-" and len(right.args) == 1:  # the negated term of a sum
        right, new_right = right.args[0], Call(right.type, "-", (new_right,))

    def put(expr: Expr) -> Expr:
        if expr == left:
            return new_left
        return new_right if expr == right else expr.rebuild(put)

    return put(comparison)
