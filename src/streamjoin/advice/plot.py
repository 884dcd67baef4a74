"""Advice as a picture: latency and sustainable rate over the number of cells, a line for each kind of layout."""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamjoin.advice.answer import Advice
from streamjoin.errors import StreamJoinError
from streamjoin.layout import Grid, Keyed, Layout
from streamjoin.model.choice import estimate_layout, find_headroom, list_layouts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_DEGREES = 24
FORMATS = (".png", ".svg")


def plot_advice(advice: Advice, path: Path) -> None:
    """Draw into a file, PNG or SVG."""
    if path.suffix.lower() not in FORMATS:
        raise StreamJoinError(f"--plot: got {path}; expected a name that ends in .png or .svg")
    figure = draw_advice(advice)
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise StreamJoinError(f"--plot: {path} cannot be written: {error.strerror}") from error


def draw_advice(advice: Advice) -> "Figure":
    """The figure, for a notebook."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise StreamJoinError("plots need Matplotlib: pip install 'streamjoin[plot]'") from error
    figure = Figure(figsize=(9, 4), layout="constrained")
    latency, rate = figure.subplots(1, 2)
    for kind, points in compare_degrees(advice).items():
        cells, latencies, rates = zip(*points, strict=True)
        latency.plot(cells, latencies, marker="o", markersize=3, label=kind)
        rate.plot(cells, rates, marker="o", markersize=3, label=kind)
    best, asked = advice.best, advice.question.demand.rates
    latency.plot([best.layout.cells], [best.latency], "k*", markersize=11, label=f"advised: {best.layout}")
    _dress(latency, "mean latency, s", "Latency")
    rate.axhline(asked.left + asked.right, color="gray", linestyle="--", label="asked for")
    _dress(rate, "rows per second, both sides", "Sustainable rate")
    figure.suptitle(f"micro-batches of {advice.interval:g} s on {advice.machine.cores} cores", fontsize=10)
    return figure


def compare_degrees(advice: Advice) -> dict[str, list[tuple[int, float, float]]]:
    """For each kind of layout, cells with the latency and the sustainable rate of the best of the kind."""
    q, machine, interval = advice.question, advice.machine, advice.interval
    total = q.demand.rates.left + q.demand.rates.right
    lines: dict[str, list[tuple[int, float, float]]] = defaultdict(list)
    for cells in _choose_degrees(max(machine.cores, advice.layout.cells)):
        kinds: dict[str, list[Any]] = defaultdict(list)
        for layout in list_layouts(cells, q.plan, q.demand.narrowing):
            kinds[_name_kind(layout)].append(estimate_layout(layout, q.plan, q.demand, machine, interval))
        for kind, estimates in kinds.items():
            best = min(estimates, key=lambda e: e.seconds)
            headroom = find_headroom(best.layout, q.plan, q.demand, machine, interval)
            lines[kind].append((cells, best.latency, headroom * total))
    return dict(lines)


def _choose_degrees(most: int) -> Iterable[int]:
    if most <= _MOST_DEGREES:
        return range(1, most + 1)
    return sorted({round(most ** (step / (_MOST_DEGREES - 1))) for step in range(_MOST_DEGREES)})


def _name_kind(layout: Layout) -> str:
    match layout:
        case Grid():
            return "Grid, the best"
        case Keyed(spread=1):
            return "Keyed"
        case Keyed():
            return "Keyed, spread"
    return type(layout).__name__


def _dress(axes: Any, unit: str, title: str) -> None:
    axes.set_xlabel("cells")
    axes.set_ylabel(unit)
    axes.set_ylim(0, 1.3 * axes.get_ylim()[1])  # room for the legend
    axes.yaxis.set_major_formatter("{x:,g}")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_title(title, fontsize=10)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7)
