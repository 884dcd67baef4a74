"""What the formulae for our kernels and for Spark take as given: one machine's figures."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Constants:
    """Nanoseconds of one core, but for `batch`, which is of the clock.

    Of the kernels: those that ``match/choose.py`` decides by (``benchmarks/micro/band_shapes.py``). Of Spark: a
    micro-batch with one row (``spark-empty-batch.md``); CPU seconds at 13.3 and at 36 results a row
    (``spark-sustained.md``) and at 2 and 16 copies a row (``spark-layouts.md``), less what the kernels take. All are in
    ``benchmarks/results``; the last three are fitted to these few workloads, and no more than a first guess.
    """

    nested_pair: float = 0.1
    """A row that the nested loop looks at."""
    nested_look: float = 3.0
    """A row of a strip that holds a match, looked at once more."""
    compiled_pair: float = 0.5
    """A row that compiled code decides on."""
    checked_pair: float = 10.0
    """A candidate in all intervals that compiled code decides on as well."""
    buckets_start: float = 80_000.0
    """An index of buckets, however small."""
    buckets_build: float = 20.0
    """A row that is put into it; each row is probed against about once, so a probe pays for one."""
    buckets_probe: float = 60.0
    """A probe."""
    buckets_candidate: float = 2.5
    """A row in the buckets that a probe touches."""
    ordered_build: float = 100.0
    """A row that is sorted."""
    ordered_step: float = 30.0
    """A step of the binary searches."""
    ordered_candidate: float = 3.0
    """A row in the range."""

    batch: float = 5e8
    """A micro-batch, however small."""
    row_in: float = 8_000.0
    """An input row: read, packed, admitted, stored."""
    copy: float = 200.0
    """A copy of a row that is sent to a cell."""
    row_out: float = 510.0
    """A result row."""


SHIPPED = Constants()
