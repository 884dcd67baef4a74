"""What the formulae for our kernels and for Spark take as given: one machine's figures."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from streamjoin.kernel.costs import KernelCosts


@dataclass(frozen=True)
class Constants(KernelCosts):
    """Nanoseconds of one core, but for `batch`, which is of the clock.

    Of the kernels: those that they are chosen by (``kernel/costs.py``). Of Spark: fitted, on two cores, to the seconds
    in ``benchmarks/results``: spark-layouts, spark-sustained, spark-join-types, spark-memory and spark-empty-batch. All
    of those have rows of some 50 bytes; what of a row's cost is its bytes' rests on how fast state is written.
    """

    batch: float = 5.4e8
    """A micro-batch, however small."""
    cell: float = 1e7
    """A cell in a micro-batch: its calls, its state."""
    row_in: float = 2_250.0
    """An input row: read, hashed, packed."""
    byte_in: float = 5.0
    """A byte of it."""
    copy: float = 50.0
    """A copy of a row that is sent to a cell."""
    byte_copy: float = 1.5
    """A byte of it."""
    stored: float = 700.0
    """A copy that is stored: merged, written to state and to the cache."""
    byte_stored: float = 12.0
    """A byte of it."""
    row_out: float = 450.0
    """A result row."""
    byte_out: float = 4.0
    """A byte of it."""

    def scale(self, names: Iterable[str], by: float) -> "Constants":
        """The same, but those of these names multiplied."""
        return replace(self, **{name: getattr(self, name) * by for name in names})


SHIPPED = Constants()
