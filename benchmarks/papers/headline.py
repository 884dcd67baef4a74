"""Five figures that say what the project is worth, each from the results, with where it comes from."""

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.papers.experiment import Data
from benchmarks.papers.loops import LIMIT, OURS
from benchmarks.papers.thesis_outputs import find_errors
from benchmarks.papers.workload import OPEN


@dataclass(frozen=True)
class Headline:
    """A figure, what it says, and the experiment that it is from."""

    figure: str
    says: str
    source: str


def find_headlines(found: Mapping[str, Data]) -> list[Headline]:
    """Those whose experiments have run."""
    makers = {
        "peers-sustained": _beside_spark,
        "dp-latency": _latency,
        "cell-simd": _beside_c,
        "thesis-outputs": _prediction,
        "scale-balance": _balance,
    }
    return [make(found[name]) for name, make in makers.items() if name in found]


def _beside_spark(found: Data) -> Headline:
    ours, native = (found["peers"][name] for name in ("streamjoin on Spark", "Spark's own join"))
    says = f"the rate that Spark's own join sustains, on Spark, in windows of {found['window']} s"
    if ours["skipped"] or native["skipped"] or not native["rows_per_s"]:
        return Headline("-", f"{says}: not measured", "peers-sustained")
    return Headline(f"{ours['rows_per_s'] / native['rows_per_s']:.1f}x", says, "peers-sustained")


def _latency(found: Data) -> Headline:
    says = f"from a row to its match, median, in one process; 99 % within {found['rows']['p99']:.1f} ms"
    return Headline(f"{found['rows']['p50']:.2g} ms", says, "dp-latency")


def _beside_c(found: Data) -> Headline:
    speeds = next(iter(found["speeds"].values()))
    says = f"of the speed of plain C in the nested loop: {speeds[OURS] / 1e9:.1f} billion comparisons/s on one core"
    return Headline(f"{100 * speeds[OURS] / speeds[LIMIT]:.0f} %", says, "cell-simd")


def _prediction(found: Data) -> Headline:
    worst = max(map(abs, find_errors(found["counted"], OPEN)))
    says = "at most between results predicted and counted, in the thesis' twelve runs (there 0.34 %)"
    return Headline(f"{worst:.2f} %", says, "thesis-outputs")


def _balance(found: Data) -> Headline:
    shapes = found["shapes"].values()
    worst = max(sum(each["spreads"]) / len(each["spreads"]) for each in shapes)
    return Headline(
        f"{worst:.2f} %", "spread of the work over up to 14 threads, whatever the rates do", "scale-balance"
    )
