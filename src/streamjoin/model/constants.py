"""What the formulae for our kernels and for Spark take as given: one machine's figures."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from streamjoin.kernel.costs import KernelCosts


@dataclass(frozen=True)
class Constants(KernelCosts):
    """Nanoseconds of one core, but for `batch`, which is of the clock.

    Of the kernels: those that they are chosen by (``kernel/costs.py``). Of Spark: fitted, on two cores and once Java
    has compiled what it runs, to ``benchmarks/results/fitted-batches.md``. What a row costs to read and to store goes
    by its bytes there, those beside its columns included: `row_in` and `stored` came out as zero.
    """

    batch: float = 4.7e8
    """A micro-batch, however small."""
    cell: float = 1.3e7
    """A cell in a micro-batch: its calls, its state."""
    row_in: float = 0.0
    """An input row: read, hashed, packed."""
    byte_in: float = 5.4
    """A byte of it."""
    copy: float = 47.0
    """A copy of a row that is sent to a cell."""
    byte_copy: float = 2.4
    """A byte of it."""
    stored: float = 0.0
    """A copy that is stored: merged, written to state and to the cache."""
    byte_stored: float = 18.0
    """A byte of it."""
    row_out: float = 78.0
    """A result row."""
    byte_out: float = 6.3
    """A byte of it."""

    def scale(self, names: Iterable[str], by: float) -> "Constants":
        """The same, but those of these names multiplied."""
        return replace(self, **{name: getattr(self, name) * by for name in names})


SHIPPED = Constants()
