"""Halves: ``sum of multiples + constant <= 0``, one end of an interval on a column of either side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from streamjoin.operators.expr import Call, Cast, Expr, Literal
from streamjoin.operators.types import DOUBLE
from streamjoin.spec.side import SIDES, Side

EPSILON = {"float": Fraction(1, 2**23), "double": Fraction(1, 2**52)}
WIDEST_VALUE = {"float": 60, "double": 500}  # as powers of two


@dataclass(frozen=True)
class Multiple:
    """``factor * value``; `size` is the sum of the factors' sizes where several multiples of one value were added."""

    value: Expr
    factor: Fraction
    size: Fraction


@dataclass(frozen=True)
class Half:
    """``sum of multiples + constant <= 0``, but for an error of at most `relative` times the size of all of them."""

    multiples: tuple[Multiple, ...]
    constant: Fraction
    size: Fraction
    relative: Fraction

    def of(self, side: Side) -> tuple[Multiple, ...]:
        """The multiples of one side's values."""
        return tuple(multiple for multiple in self.multiples if multiple.value.sides == {side})

    def factor(self, value: Expr) -> Fraction:
        """How many times it counts a value."""
        return next((multiple.factor for multiple in self.multiples if multiple.value == value), Fraction(0))

    def put_together(self, values: Sequence[Expr], first: "Half") -> "Half":
        """The same, said of the sum of some values as the `first` half counts them."""
        counted = [multiple for multiple in first.multiples if multiple.value in values and multiple.factor]
        times = self.factor(counted[0].value) / counted[0].factor
        rest = tuple(replace(m, factor=Fraction(0)) if m.value in values else m for m in self.multiples)
        rounding = self.relative + (2 * len(counted) + 2) * EPSILON["double"]
        return replace(self, multiples=(Multiple(_add_up(counted), times, abs(times)), *rest), relative=rounding)

    def rename(self, names: Mapping[Expr, Expr]) -> "Half":
        """The same of other values."""
        return replace(self, multiples=tuple(replace(m, value=names[m.value]) for m in self.multiples))


@dataclass(frozen=True)
class Halves:
    """What one or several comparisons say; `positive` are sums of one side that no half speaks of unless positive."""

    bounds: tuple[Half, ...]
    positive: tuple[Half, ...] = ()

    def __add__(self, other: "Halves") -> "Halves":
        return Halves(self.bounds + other.bounds, self.positive + other.positive)

    @property
    def values(self) -> tuple[Expr, ...]:
        """All values that they speak of, each once."""
        return tuple(dict.fromkeys(m.value for half in (*self.bounds, *self.positive) for m in half.multiples))

    @property
    def reach(self) -> tuple[float, float]:
        """The least and the greatest size of a value (but for zero) with which no arithmetic overflows or vanishes."""
        coarse = any(half.relative >= EPSILON["float"] for half in (*self.bounds, *self.positive))
        power = WIDEST_VALUE["float" if coarse else "double"]
        return 2.0**-power, 2.0**power

    def have_two_ends(self) -> bool:
        """Whether some value is bounded from above and from below."""
        factors = [[half.factor(value) for half in self.bounds] for value in self.values]
        return any(min(each) < 0 < max(each) for each in factors)

    def have_one_place(self) -> bool:
        """Whether each side says by at most one value where it lies; other values only widen or shift one end.

        Where one half counts ``l.x + l.y`` and another ``l.x - l.y``, no column or sum alone tells where a row lies.
        """
        for side in SIDES:
            factors = [[half.factor(v) for half in self.bounds] for v in self.values if v.sides == {side}]
            if sum(min(each) < 0 < max(each) for each in factors) > 1:
                return False
        return True

    def put_together(self) -> "Halves":
        """The same, with one sum in place of the values of a side that all halves count in the same proportion.

        So ``l.x - r.a + l.y - r.b`` is said of ``l.x + l.y`` and ``r.a + r.b``. The values stay for what rounding may
        have moved: they may be much larger than their sum.
        """
        found = self
        for side in SIDES:
            factors = {v: [half.factor(v) for half in found.bounds] for v in found.values if v.sides == {side}}
            places = [v for v, each in factors.items() if min(each) < 0 < max(each)]
            if len(places) > 1 and all(_is_proportional(factors[v], factors[places[0]]) for v in places):
                found = replace(
                    found, bounds=tuple(half.put_together(places, found.bounds[0]) for half in found.bounds)
                )
        return found

    def touch(self, other: "Halves") -> bool:
        """Whether one bounds a value from above and the other the same value from below."""
        pairs = ((a.factor(v), b.factor(v)) for v in self.values for a in self.bounds for b in other.bounds)
        return any(a * b < 0 for a, b in pairs)


def _is_proportional(factors: Sequence[Fraction], others: Sequence[Fraction]) -> bool:
    ratios = {a / b if b else a for a, b in zip(factors, others, strict=True) if a or b}
    return len(ratios) == 1 and all(bool(a) == bool(b) for a, b in zip(factors, others, strict=True))


def _add_up(multiples: Sequence[Multiple]) -> Expr:
    """The sum of multiples as an expression, in doubles, which never fails."""
    total: Expr | None = None
    for multiple in multiples:
        value = multiple.value if multiple.value.type == DOUBLE else Cast(DOUBLE, multiple.value)
        factor = float(multiple.factor)
        term = value if factor == 1 else Call(DOUBLE, "*", (Literal(DOUBLE, factor, f"{factor!r}D"), value))
        total = term if total is None else Call(DOUBLE, "+", (total, term))
    assert total is not None
    return total
