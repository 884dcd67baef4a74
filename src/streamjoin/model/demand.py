"""What is asked of a join, as far as its cost depends on it."""

from dataclasses import dataclass, replace

from streamjoin.kernel.costs import Kernel
from streamjoin.model.outputs import find_result_rate
from streamjoin.model.pairs import Sides
from streamjoin.spec.how import How, sides_of
from streamjoin.spec.side import NAMED
from streamjoin.spec.window import Window

OVERHEAD_BYTES = 28
"""A stored row beside its columns and keys: its time, its routing hash, its place in an index."""


_USUAL_WIDTHS, _USUAL_KEYS = Sides.equal(32.0), Sides.equal(8.0)


@dataclass(frozen=True)
class Narrowing:
    """How far an index narrows: the kernels that can serve the condition, and the share of pairs they look at.

    `checked` says that compiled code decides on what the index lets through. `hottest` is the share of all matches that
    the commonest key has, `groups` how many keys, or buckets of a band, the values fall into; None where not known.
    """

    kernels: tuple[Kernel, ...] = ("nested",)
    candidates: float = 1.0
    checked: bool = False
    hottest: float = 0.0
    groups: float | None = None


@dataclass(frozen=True)
class Demand:
    """Rates in rows per second, hit rate as a share of the window's pairs, widths in bytes, delay in seconds.

    `widths` are of the columns that results carry, `keys` of those that are compared.
    """

    window: Window
    rates: Sides
    hit_rate: float
    narrowing: Narrowing = Narrowing()
    widths: Sides = _USUAL_WIDTHS
    keys: Sides = _USUAL_KEYS
    delay: float = 0.0
    how: How = "inner"

    def scale(self, by: float) -> "Demand":
        """The same join at other rates, in the same proportion."""
        return replace(self, rates=Sides(self.rates.left * by, self.rates.right * by))

    @property
    def stored_widths(self) -> Sides:
        """Bytes of a row in state."""
        beside = OVERHEAD_BYTES
        return Sides(self.widths.left + self.keys.left + beside, self.widths.right + self.keys.right + beside)

    @property
    def result_rate(self) -> float:
        """Results per second once the windows are full."""
        return find_result_rate(self.window, self.rates, self.hit_rate, self.how)

    @property
    def result_width(self) -> float:
        """Bytes of a result."""
        return float(sum(getattr(self.widths, NAMED[side]) for side in sides_of(self.how)) + 8)
