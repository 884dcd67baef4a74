"""What the formulae for our kernels and for Spark take as given: one machine's figures."""

from dataclasses import dataclass

from streamjoin.kernel.costs import KernelCosts


@dataclass(frozen=True)
class Constants(KernelCosts):
    """Nanoseconds of one core, but for `batch`, which is of the clock.

    Of the kernels: those that they are chosen by (``kernel/costs.py``). Of Spark: fitted to micro-batches of the joins
    that ``benchmarks/spark/workloads.py`` lists for it, on two cores.
    """

    batch: float = 5e8
    """A micro-batch, however small."""
    cell: float = 0.0
    """A cell in a micro-batch: its task, its state, its segments."""
    row_in: float = 8_000.0
    """An input row: read, packed, admitted, stored."""
    byte_in: float = 0.0
    """A byte of its columns."""
    copy: float = 200.0
    """A copy of a row that is sent to a cell."""
    byte_copy: float = 0.0
    """A byte of it."""
    row_out: float = 510.0
    """A result row."""
    byte_out: float = 0.0
    """A byte of its columns."""


SHIPPED = Constants()
