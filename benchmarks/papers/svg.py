"""Charts as SVG for a page that is light or dark: Matplotlib draws, colours become the page's own variables."""

import io
import re

from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from benchmarks.papers.experiment import Chart, Line

INK, GRID = "#010203", "#040506"
COLOURS = [f"#0a0b0{n}" for n in range(6)]
PAPER, MODEL, PEER = "#0c0d00", "#0c0d01", "#0c0d02"
"""Colours that stand for variables of the page: nothing else has them."""

VARIABLES = {
    INK: "var(--ink)", GRID: "var(--line)", PAPER: "var(--paper)", MODEL: "var(--model)", PEER: "var(--peer)",
    **{colour: f"var(--c{n})" for n, colour in enumerate(COLOURS)},
}  # fmt: skip
STYLES = {
    "ours": {"marker": "o", "linestyle": "-"},
    "paper": {"marker": "s", "linestyle": ":"},
    "model": {"marker": "", "linestyle": "--"},
    "peer": {"marker": "^", "linestyle": "-"},
    "unmeasured": {"marker": "o", "linestyle": ":", "markerfacecolor": "none"},
}
DASHES = ("--", "-.", (0, (1, 1)))
"""Lines of models, told apart."""

SETTINGS = {
    "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9, "text.color": INK, "axes.labelcolor": INK,
    "axes.edgecolor": GRID, "xtick.color": INK, "ytick.color": INK, "grid.color": GRID, "axes.spines.top": False,
    "axes.spines.right": False, "legend.frameon": False, "legend.fontsize": 8, "svg.hashsalt": "streamjoin",
}  # fmt: skip


def draw_chart(chart: Chart, prefix: str) -> str:
    """An SVG element; identifiers begin with the prefix, so that several share a page."""
    with rc_context(SETTINGS):
        figure = Figure(figsize=(4.8, 3.2), layout="constrained")
        axes = figure.subplots()
        if any(isinstance(x, str) for line in chart.lines for x in line.x):
            _draw_bars(axes, chart)
        else:
            _draw_lines(axes, chart)
        axes.set_xlabel(chart.x)
        axes.set_ylabel(chart.y)
        axes.set_title(chart.title, fontsize=10, loc="left")
        axes.grid(axis="y", linewidth=0.6)
        axes.set_axisbelow(True)
        if chart.log_y:
            axes.set_yscale("log")
            lowest, highest = axes.get_ylim()
            if highest < 100 * lowest:  # powers of ten alone would leave one label
                axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.yaxis.set_minor_formatter(NullFormatter())
        else:
            axes.set_ylim(bottom=min(0, axes.get_ylim()[0]))
        axes.yaxis.set_major_formatter(FuncFormatter(_write))
        figure.legend(loc="outside lower center", ncols=2)
        written = io.StringIO()
        figure.savefig(written, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return _fit_page(written.getvalue(), prefix, chart)


def _draw_lines(axes: object, chart: Chart) -> None:
    colours, dashes = iter(COLOURS), iter(DASHES)
    for line in chart.lines:
        dense = len(line.x) > 20
        style = STYLES[line.kind] | ({"marker": "", "linewidth": 1} if dense else {"markersize": 5})
        if line.kind == "model":  # all of one colour
            style["linestyle"] = next(dashes, DASHES[-1])
        axes.plot(line.x, line.y, color=_choose_colour(line, colours), label=line.name, **style)  # type: ignore[attr-defined]
    if chart.log_x:
        axes.set_xscale("log", base=2)  # type: ignore[attr-defined]
        axes.xaxis.set_major_formatter(FuncFormatter(_write_binary))  # type: ignore[attr-defined]
    elif all(float(x).is_integer() for line in chart.lines for x in line.x):
        axes.xaxis.get_major_locator().set_params(integer=True)  # type: ignore[attr-defined]


def _draw_bars(axes: object, chart: Chart) -> None:
    names = list(dict.fromkeys(str(x) for line in chart.lines for x in line.x))
    shared = len(names) < sum(len(line.x) for line in chart.lines)
    abreast = len(chart.lines) if shared else 1
    width, colours = (0.8 if shared else 0.5) / abreast, iter(COLOURS)
    for number, line in enumerate(chart.lines):
        aside = (number - (abreast - 1) / 2) * width if shared else 0
        at = [names.index(str(x)) + aside for x in line.x]
        hollow = {"hatch": "///", "fill": False} if line.kind == "unmeasured" else {}
        axes.bar(at, line.y, width * 0.92, color=(colour := _choose_colour(line, colours)), edgecolor=colour,  # type: ignore[attr-defined]
                 label=line.name, **hollow)  # fmt: skip
    long = max(map(len, names)) * len(names) > 60
    axes.set_xticks(range(len(names)), names, rotation=35 if long else 0, ha="right" if long else "center")  # type: ignore[attr-defined]


def _choose_colour(line: Line, colours: "object") -> str:
    fixed = {"paper": PAPER, "model": MODEL, "peer": PEER}
    return fixed.get(line.kind) or next(colours, COLOURS[-1])  # type: ignore[call-overload]


def _write(value: float, _: object = None) -> str:
    """A tick: 2,000,000 as 2M."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def _write_binary(value: float, _: object = None) -> str:
    """A tick of an axis of powers of two: 65,536 as 64Ki."""
    for size, letters in ((2**30, "Gi"), (2**20, "Mi"), (2**10, "Ki")):
        if value >= size and value % size == 0:
            return f"{value / size:g}{letters}"
    return _write(value)


def _fit_page(svg: str, prefix: str, chart: Chart) -> str:
    svg = svg[svg.index("<svg") :]
    for colour, variable in VARIABLES.items():
        svg = svg.replace(colour, variable)
    svg = re.sub(r'\bid="', f'id="{prefix}-', svg)
    svg = re.sub(r"url\(#", f"url(#{prefix}-", svg)
    svg = re.sub(r'href="#', f'href="#{prefix}-', svg)
    svg = re.sub(r'<svg [^>]*?viewBox="([^"]+)"[^>]*>', rf'<svg viewBox="\1" role="img" xmlns:xlink="http://www.w3.org/1999/xlink">'
                 f"<title>{chart.title}</title>", svg, count=1)  # fmt: skip
    return re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
