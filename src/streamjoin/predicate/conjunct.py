"""The parts of a predicate, each by how it can be served.

A predicate is true when all of its conjuncts are. An index may narrow by `Equi` and `Band`; where such a part does
not decide by itself (`decides` is False), its written form `exact` has the last word.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

from streamjoin.operators.expr import Call, Expr, Key
from streamjoin.operators.types import DATE
from streamjoin.predicate.half import Halves
from streamjoin.predicate.linear import Bound, Margin
from streamjoin.spec.duration import format_duration
from streamjoin.spec.how import PRESERVED, How, emits_unmatched
from streamjoin.spec.side import Side
from streamjoin.spec.window import Both, Last, Window


@dataclass(frozen=True)
class Conjunct:
    """One part of a predicate; `exact` is the condition as it was written."""

    exact: Expr
    kind: ClassVar[str]

    @property
    def keys(self) -> tuple[Key, ...]:
        """The columns to be computed for it before the join."""
        return ()

    def __str__(self) -> str:
        return str(self.exact)


@dataclass(frozen=True)
class Equi(Conjunct):
    """``left = right``, or with `null_safe` ``left <=> right``."""

    left: Key
    right: Key
    null_safe: bool
    kind = "equi"
    decides: ClassVar[bool] = True

    @property
    def keys(self) -> tuple[Key, ...]:
        """Both sides of the equality."""
        return self.left, self.right


@dataclass(frozen=True)
class Band(Conjunct):
    """``lower <= left - right <= upper``; a bound of None is no bound.

    Floating keys are compared with a `margin`, because the bounds stand for a condition that rounds in its own
    way. NaN and the infinities are not subtracted: `specials` lists the combinations that can match. `check` is the
    condition over the two keys, to be compiled; None where it takes more than machine numbers.
    """

    left: Key
    right: Key
    lower: Bound | None
    upper: Bound | None
    margin: Margin
    specials: frozenset[tuple[str, str]]
    check: Expr | None
    kind = "band"

    @property
    def keys(self) -> tuple[Key, ...]:
        """Both sides of the difference, and what else the check reads."""
        return tuple(dict.fromkeys((self.left, self.right, *(_leaves(self.check) if self.check else ()))))

    @property
    def decides(self) -> bool:
        """Whether the bounds are the condition, so that nothing needs to be checked after them."""
        return self.margin.relative == 0 and self.margin.absolute == 0

    def whole_bounds(self, scale: int = 1) -> tuple[int | None, int | None]:
        """The bounds as inclusive whole numbers, for keys that are whole multiples of ``1 / scale``."""
        lower = None if self.lower is None else _first_whole(Bound(self.lower.value * scale, self.lower.open))
        upper = None if self.upper is None else -_first_whole(Bound(-self.upper.value * scale, self.upper.open))
        return lower, upper

    def __str__(self) -> str:
        below = f"{self._write_bound(self.lower)} {'<' if self.lower.open else '<='} " if self.lower else ""
        above = f" {'<' if self.upper.open else '<='} {self._write_bound(self.upper)}" if self.upper else ""
        return f"{below}{Call(self.left.type, '-', (self.left, self.right))}{above}"

    def _write_bound(self, bound: Bound) -> str:
        value = bound.value
        if value.denominator != 1:
            return repr(float(value))
        if self.left.type.is_timestamp:
            return format_duration(value.numerator)
        return f"{value.numerator} days" if self.left.type == DATE else str(value.numerator)


@dataclass(frozen=True)
class Range(Conjunct):
    """Bounds of which every row has its own: a relative band, a tolerance, a ratio.

    `halves` narrow; `check` decides, the condition over the values that they speak of, to be compiled. It is None where
    that takes more than machine numbers.
    """

    halves: Halves
    check: Expr | None
    kind = "range"
    decides: ClassVar[bool] = False

    @property
    def keys(self) -> tuple[Key, ...]:
        """All that the halves and the check read."""
        values = (value for value in self.halves.values if isinstance(value, Key))
        return tuple(dict.fromkeys((*values, *(_leaves(self.check) if self.check else ()))))


@dataclass(frozen=True)
class OneSided(Conjunct):
    """A condition on one side alone."""

    key: Key
    kind = "one-sided"

    @property
    def keys(self) -> tuple[Key, ...]:
        """The condition itself, for where it may not filter."""
        return (self.key,)

    @property
    def side(self) -> Side:
        """The side it speaks of."""
        return self.key.side

    def may_filter(self, how: How, window: Window) -> bool:
        """Whether its rows may be dropped before the join.

        Not where the side is preserved (an unmatched row must come out), and not where a count window counts it.
        """
        comes_out = emits_unmatched(how) and self.side in PRESERVED[how]
        return not comes_out and not isinstance(window, Last | Both)


@dataclass(frozen=True)
class Compiled(Conjunct):
    """Any other condition on numbers: `exact` holds `Key` leaves and is compiled for the kernels."""

    kind = "compiled"

    @property
    def keys(self) -> tuple[Key, ...]:
        """The leaves of the condition, each once."""
        return _leaves(self.exact)


@dataclass(frozen=True)
class Residual(Conjunct):
    """A condition that Spark evaluates, after the join."""

    kind = "residual"


@dataclass(frozen=True)
class PairColumn:
    """A value that is computed for each pair: of a tree that `vector` evaluates, under the name of a key."""

    key: Key
    tree: Expr


@dataclass(frozen=True)
class Evaluated(Conjunct):
    """A condition on more than numbers that the worker evaluates: `check` is compiled, over keys and pair columns."""

    check: Expr
    pairs: tuple[PairColumn, ...]
    kind = "evaluated"

    @property
    def keys(self) -> tuple[Key, ...]:
        """The key columns that are read, each once."""
        computed = {pair.key for pair in self.pairs}
        read = (key for tree in (self.check, *(pair.tree for pair in self.pairs)) for key in _leaves(tree))
        return tuple(dict.fromkeys(key for key in read if key not in computed))


def _leaves(expr: Expr) -> tuple[Key, ...]:
    return tuple(dict.fromkeys(node for node in expr.walk() if isinstance(node, Key)))


def _first_whole(bound: Bound) -> int:
    first = math.ceil(bound.value)
    return first + 1 if bound.open and first == bound.value else first
