"""Comparisons that bound a column of one side for every row of the other: relative bands, tolerances, ratios.

``abs(l.p - r.p) <= 0.005 * r.p`` is two *halves*, each a sum of multiples of columns that is at most zero:
``l.p - 1.005 * r.p <= 0`` and ``0.995 * r.p - l.p <= 0``. Given a row of one side, each half is one end of an interval
on a column of the other. Halves only narrow, by a margin that covers every rounding of the condition as written.

A division is multiplied out, which is right where the divisor is positive. Rows whose divisor is not, and rows with
values so large or small that arithmetic may overflow or vanish, are *special*: no half speaks of them.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from streamjoin.operators.arithmetic import EvaluationError, NotEvaluable
from streamjoin.operators.evaluate import evaluate
from streamjoin.operators.expr import Call, Cast, Expr
from streamjoin.operators.types import Type
from streamjoin.predicate.half import EPSILON, WIDEST_VALUE, Half, Halves, Multiple
from streamjoin.predicate.linear import may_cut_digits
from streamjoin.spec.side import Side

_WIDEST_FACTOR = {"float": 20, "double": 200}  # as powers of two: factors beyond are left to compiled code


def read_halves(comparison: Expr) -> Halves | None:
    """Read a comparison of both sides; None where it is not one of multiples of values.

    >>> from streamjoin.sql.bind import bind
    >>> from streamjoin.operators.types import Schema
    >>> price = Schema({"p": "double"})
    >>> for half in read_halves(bind("abs(l.p - r.p) <= 0.5 * r.p", price, price)).bounds:
    ...     print(*(f"{m.factor} * {m.value}" for m in half.multiples))
    1 * l.p -3/2 * r.p
    -1 * l.p 1/2 * r.p
    """
    if not isinstance(comparison, Call) or comparison.op not in ("<", "<=", ">", ">=", "="):
        return None
    first, second = map(_read, comparison.args)
    total = None if first is None or second is None else first.add(second.scale(Fraction(-1)))
    if total is None:
        return None
    turned = {"<": [1], "<=": [1], ">": [-1], ">=": [-1], "=": [1, -1]}[comparison.op]
    sums = [each for sign in turned for each in _open_absolute(total.scale(Fraction(sign)))]
    if not sums or not all(map(_is_moderate, sums)):
        return None
    bounds = tuple(half for each in sums if len((half := each.to_half()).of("l")) and half.of("r"))
    positive = tuple(dict.fromkeys(each.divisor.to_half() for each in sums if each.divisor is not None))
    return Halves(bounds, positive) if bounds else None


@dataclass(frozen=True)
class _Sum:
    """Multiples of values and a constant, all of it over a `divisor`, and what rounding may have moved."""

    multiples: Mapping[Expr, tuple[Fraction, Fraction]] = field(default_factory=dict)
    constant: Fraction = Fraction(0)
    size: Fraction = Fraction(0)
    relative: Fraction = Fraction(0)
    divisor: "_Sum | None" = None

    def scale(self, factor: Fraction) -> "_Sum":
        scaled = {value: (own * factor, size * abs(factor)) for value, (own, size) in self.multiples.items()}
        return replace(self, multiples=scaled, constant=self.constant * factor, size=self.size * abs(factor))

    def add(self, other: "_Sum") -> "_Sum | None":
        if self.divisor != other.divisor:
            if self.divisor is None:
                return other.add(self)
            if other.multiples or other.divisor is not None:
                return None
            lifted = self.divisor.scale(other.constant)
            other = replace(lifted, divisor=self.divisor, relative=lifted.relative + other.relative)
        total = dict(self.multiples)
        for value, (factor, size) in other.multiples.items():
            own, own_size = total.get(value, (Fraction(0), Fraction(0)))
            total[value] = own + factor, own_size + size
        return replace(
            self,
            multiples=total,
            constant=self.constant + other.constant,
            size=self.size + other.size,
            relative=self.relative + other.relative,
        )

    def divide(self, divisor: "_Sum") -> "_Sum | None":
        if not divisor.multiples:
            return self.scale(1 / divisor.constant) if divisor.constant else None
        if self.divisor is not None or divisor.divisor is not None or len(_sides(divisor)) != 1:
            return None
        return replace(self, divisor=divisor, relative=self.relative + divisor.relative)

    def round_to(self, type: Type) -> "_Sum":
        """After one more operation whose result is of `type`."""
        return replace(self, relative=self.relative + EPSILON.get(type.name, Fraction(0)))

    def to_half(self) -> Half:
        multiples = (Multiple(v, factor, size) for v, (factor, size) in self.multiples.items() if size)
        return Half(tuple(multiples), self.constant, self.size, self.relative)


def _sides(total: _Sum) -> set[Side]:
    return {side for value in total.multiples for side in value.sides}


def _read(expr: Expr) -> _Sum | None:
    if not expr.sides:
        return _read_constant(expr)
    found = _open(expr) if expr.type.is_numeric and not may_cut_digits(expr.type) else None
    if found is None and len(expr.sides) == 1 and expr.type.is_numeric and expr.type.is_machine:
        found = _Sum({expr: (Fraction(1), Fraction(1))})
    return found


def _open(expr: Expr) -> _Sum | None:
    match expr:
        case Cast(arg=arg, implicit=True) if arg.type.is_numeric:
            inner = _read(arg)
        case Call(op="-", args=(arg,)):
            inner = _read(arg)
            inner = inner and inner.scale(Fraction(-1))
        case Call(op="abs") if len(expr.sides) == 2:
            inner = _Sum({expr: (Fraction(1), Fraction(1))})
        case Call(op="+" | "-" | "*" | "/" as op, args=(a, b)):
            first, second = _read(a), _read(b)
            inner = None if first is None or second is None else _combine(op, expr.type, first, second)
        case _:
            return None
    return inner and inner.round_to(expr.type)


def _combine(op: str, type: Type, first: _Sum, second: _Sum) -> _Sum | None:
    match op:
        case "+":
            return first.add(second)
        case "-":
            return first.add(second.scale(Fraction(-1)))
        case "*" if not second.multiples:
            return first.scale(second.constant)
        case "*" if not first.multiples:
            return second.scale(first.constant)
        case "/" if type.is_floating:  # decimals are rounded to their scale
            return first.divide(second)
    return None


def _read_constant(expr: Expr) -> _Sum | None:
    try:
        value = evaluate(expr, {}, {}) if expr.type.is_numeric else None
    except (NotEvaluable, EvaluationError):
        return None
    if value is None or not math.isfinite(value):
        return None
    return _Sum(constant=Fraction(value), size=abs(Fraction(value)))


def _open_absolute(total: _Sum) -> Iterator[_Sum]:
    """Of ``k * abs(s) + rest <= 0`` both ``k * s + rest <= 0`` and ``rest - k * s <= 0``; nothing where k < 0."""
    values = [value for value in total.multiples if len(value.sides) == 2]
    if not values:
        yield total
        return
    (value, *more), (factor, _) = values, total.multiples[values[0]]
    assert isinstance(value, Call)
    inner = _read(value.args[0])
    if more or factor <= 0 or inner is None or any(len(each.sides) == 2 for each in inner.multiples):
        return
    others = {each: multiple for each, multiple in total.multiples.items() if each != value}
    rest = replace(total, multiples=others, divisor=None)
    if total.divisor is not None and inner.divisor is not None:
        return
    for sign in (1, -1):
        if (half := inner.scale(sign * factor).add(rest)) is not None:
            yield replace(half, divisor=half.divisor or total.divisor)


def _is_moderate(total: _Sum) -> bool:
    """Whether no factor and no constant is so large or small that sums overflow or vanish."""
    kind = "float" if total.relative >= EPSILON["float"] else "double"
    factors = (part for each in total.multiples.values() for part in each)
    return _are_within(factors, _WIDEST_FACTOR[kind]) and _are_within((total.constant, total.size), WIDEST_VALUE[kind])


def _are_within(numbers: Iterable[Fraction], power: int) -> bool:
    return all(Fraction(1, 2**power) <= abs(number) <= 2**power for number in numbers if number)


def group_halves(read: Sequence[Halves | None]) -> list[tuple[list[int], Halves]]:
    """Which comparisons bound a value from both ends, by their numbers: alone, or two and more of them together."""
    groups: list[tuple[list[int], Halves]] = []
    for number, halves in enumerate(read):
        if halves is None:
            continue
        for at, (numbers, met) in enumerate(groups):
            if met.touch(halves):
                groups[at] = [*numbers, number], met + halves
                break
        else:
            groups.append(([number], halves))
    found = [(numbers, _narrow(halves)) for numbers, halves in groups]
    alone = [
        ([n], _narrow(halves)) for numbers, narrow in found if narrow is None for n in numbers if (halves := read[n])
    ]
    return [(numbers, halves) for numbers, halves in (*found, *alone) if halves is not None]


def _narrow(halves: Halves) -> Halves | None:
    """Halves that an index can use, of sums where that takes some; None where it cannot."""
    together = halves.put_together()
    return together if together.have_two_ends() and together.have_one_place() else None
