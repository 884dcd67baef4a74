"""What a probe costs in each kernel, in seconds of one core: per probe, per candidate, per match.

The formulae and their constants are those that kernels are chosen by: ``kernel/costs.py``.
"""

from dataclasses import dataclass

from streamjoin.kernel.costs import Kernel
from streamjoin.model.constants import SHIPPED, Constants

_NANOSECOND = 1e-9


@dataclass(frozen=True)
class Probe:
    """What a probe meets: stored rows, those of them that the index narrows to, those that match."""

    rows: float
    candidates: float
    matches: float


def estimate_probe(
    kernel: Kernel,
    probe: Probe,
    *,
    segments: int = 1,
    builds: float = 1.0,
    checked: bool = False,
    constants: Constants = SHIPPED,
) -> float:
    """Seconds of a probe in a window of so many equal segments, with its share of what building them takes.

    >>> probe = Probe(rows=100_000, candidates=11, matches=4)
    >>> [f"{estimate_probe(kernel, probe):.2g}" for kernel in ("nested", "buckets", "ordered", "compiled")]
    ['1.2e-05', '1.1e-07', '6.3e-07', '5e-05']
    """
    met = (probe.rows, probe.candidates, probe.matches)
    return _NANOSECOND * constants.estimate(kernel, *met, checked=checked, segments=segments, builds=builds)


def find_comparison_speed(constants: Constants = SHIPPED) -> float:
    """Pairs per second that the nested loop decides on one core where matches are rare.

    >>> f"{find_comparison_speed():.3g}"
    '1e+10'
    """
    return 1 / (constants.nested_pair * _NANOSECOND)
