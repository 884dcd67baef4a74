"""What a probe costs in each kernel, in seconds of one core: per probe, per candidate, per match.

The formulae are those that ``match/choose.py`` compares kernels by.
"""

import math
from dataclasses import dataclass
from typing import Literal

from streamjoin.model.constants import SHIPPED, Constants

Kernel = Literal["nested", "buckets", "ordered", "compiled"]
STRIP = 128
"""Rows that the nested loop decides on at once."""

_NANOSECOND = 1e-9


@dataclass(frozen=True)
class Probe:
    """What a probe meets: stored rows, those of them that the index narrows to, those that match."""

    rows: float
    candidates: float
    matches: float


def estimate_probe(
    kernel: Kernel, probe: Probe, *, segments: int = 1, checked: bool = False, constants: Constants = SHIPPED
) -> float:
    """Seconds of a probe in a window of so many equal segments, with its share of what building them takes.

    - nested: rows · (pair + look · min(1, 128 · matches / rows)): a strip that holds a match is looked at again
    - buckets: start / (rows + 1) + build + probe + candidate · candidates, for each segment
    - ordered: build + step · log2(rows + 2) + candidate · candidates, for each segment
    - compiled: rows · pair
    - and for each match a check, where compiled code must see it (`checked`)

    >>> probe = Probe(rows=100_000, candidates=11, matches=4)
    >>> [f"{estimate_probe(kernel, probe):.2g}" for kernel in ("nested", "buckets", "ordered", "compiled")]
    ['1.2e-05', '1.1e-07', '6.3e-07', '5e-05']
    """
    part = Probe(probe.rows / segments, probe.candidates / segments, probe.matches / segments)
    checks = probe.matches * constants.checked_pair if checked and kernel != "compiled" else 0.0
    return _NANOSECOND * (segments * _estimate(kernel, part, constants) + checks)


def _estimate(kernel: Kernel, probe: Probe, constants: Constants) -> float:
    match kernel:
        case "nested":
            looked = min(probe.rows, STRIP * probe.matches)
            return probe.rows * constants.nested_pair + looked * constants.nested_look
        case "buckets":
            index = constants.buckets_start / (probe.rows + 1) + constants.buckets_build + constants.buckets_probe
            return index + constants.buckets_candidate * probe.candidates
        case "ordered":
            steps = constants.ordered_step * math.log2(probe.rows + 2)
            return constants.ordered_build + steps + constants.ordered_candidate * probe.candidates
        case "compiled":
            return probe.rows * constants.compiled_pair


def find_comparison_speed(constants: Constants = SHIPPED) -> float:
    """Pairs per second that the nested loop decides on one core where matches are rare.

    >>> f"{find_comparison_speed():.3g}"
    '1e+10'
    """
    return 1 / (constants.nested_pair * _NANOSECOND)
