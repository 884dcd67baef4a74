"""What each kernel costs: the one home of these figures, by which `match` chooses and the model predicts.

They are nanoseconds of one core, measured by ``benchmarks/micro/band_shapes.py``. The choice of a kernel always goes by
those that ship; a machine's own (``streamjoin advise --calibrate``) serve predictions alone.
"""

import math
from dataclasses import dataclass
from typing import Literal

Kernel = Literal["nested", "buckets", "ordered", "compiled"]
KERNELS: tuple[Kernel, ...] = ("nested", "buckets", "ordered", "compiled")

STRIP = 128
"""Rows that the nested loop decides on at once."""


@dataclass(frozen=True)
class KernelCosts:
    """Nanoseconds of one core."""

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

    def estimate(
        self,
        kernel: Kernel,
        rows: float,
        candidates: float,
        matches: float,
        *,
        checked: bool = False,
        segments: int = 1,
        builds: float = 1.0,
    ) -> float:
        """A probe of so many stored rows, of which the index narrows to `candidates`, with its share of the building.

        - nested: rows · pair + look · min(rows, 128 · matches): a strip that holds a match is looked at again
        - buckets: segments · probe + candidate · candidates + builds · (build + segments · start / (rows + 1))
        - ordered: segments · step · log2(rows / segments + 2) + candidate · candidates + builds · build
        - compiled: rows · pair
        - and for each match a check, where compiled code must see it (`checked`)

        Rows lie in `segments` of equal size, each with an index of its own; for each probe there are `builds` rows that
        are put into one, about one where a cell stores as many rows as probe in it.

        >>> KernelCosts().estimate("nested", 1000, 1000, 0)
        100.0
        """
        checks = matches * self.checked_pair if checked and kernel != "compiled" else 0.0
        match kernel:
            case "nested":
                return rows * self.nested_pair + min(rows, STRIP * matches) * self.nested_look + checks
            case "buckets":
                built = builds * (self.buckets_build + segments * self.buckets_start / (rows + 1))
                return segments * self.buckets_probe + self.buckets_candidate * candidates + built + checks
            case "ordered":
                steps = segments * self.ordered_step * math.log2(rows / segments + 2)
                return steps + self.ordered_candidate * candidates + builds * self.ordered_build + checks
            case "compiled":
                return rows * self.compiled_pair


SHIPPED = KernelCosts()
