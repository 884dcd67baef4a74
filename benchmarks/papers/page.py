"""The report: one page of HTML that needs nothing else, and the same figures as a table in Markdown."""

from collections import Counter
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from benchmarks.papers.experiment import Claim, Experiment
from benchmarks.papers.headline import find_headlines
from benchmarks.papers.kept import Kept
from benchmarks.papers.svg import draw_chart

Found = Sequence[tuple[Experiment, Kept]]
MARKS = {"agrees": "✓", "differs": "≠", "not measurable here": "·", "not run": "○"}
STYLE = (Path(__file__).with_name("page.css")).read_text()
HEADER = ("", "paper", "ours", "model", "ratio", "verdict")


def write_report(found: Found, home: Path) -> Path:
    """Both files into a directory; the path of the page."""
    home.mkdir(parents=True, exist_ok=True)
    (home / "report.md").write_text(to_markdown(found))
    page = home / "report.html"
    page.write_text(to_html(found))
    return page


def write_value(value: float | str | None, unit: str = "") -> str:
    """A figure as a reader wants it.

    >>> write_value(4e9, "1/s"), write_value(0.0476, "%"), write_value(259595), write_value(None)
    ('4.00e9 1/s', '0.0476 %', '259,595', '')
    """
    if value is None or isinstance(value, str):
        return value or ""
    if abs(value) >= 1e8:
        text = f"{value:.2e}".replace("e+0", "e").replace("e+", "e")
    elif abs(value) >= 1000 or (isinstance(value, int) and not unit):
        text = f"{value:,.0f}"
    else:
        text = f"{value:.3g}"
    return f"{text} {unit}".strip()


def to_cells(claim: Claim) -> list[str]:
    """A claim as a row of a table."""
    ratio = "" if claim.ratio is None else f"{claim.ratio:.3g}"
    values = (write_value(value, claim.unit) for value in (claim.paper, claim.ours, claim.model))
    return [claim.what, *values, ratio, f"{MARKS[claim.verdict]} {claim.verdict}"]


def describe_run(found: Found) -> dict[str, str]:
    """Machine, versions, commit, and the command that runs it again."""
    said: dict[str, Any] = found[-1][1].circumstances
    quick = {kept.quick for _, kept in found}
    command = 'make bench ARGS="--quick --again"' if quick == {True} else 'make bench ARGS="--again"'
    loads = [kept.circumstances["load"] for _, kept in found]
    commits = list(dict.fromkeys(kept.circumstances["commit"] for _, kept in found))
    return {
        "run": {(True,): "quick: small sizes", (False,): "full"}.get(tuple(quick), "some quick, some full"),
        "machine": f"{said['processor']}, {said['cores']} cores, {said['system']}",
        "busy": f"load average {min(loads):g} to {max(loads):g} while it ran"
        + (": a shared machine, speeds are too low" if max(loads) > 2 * said["cores"] else ""),
        "versions": f"Python {said['Python']}, " + ", ".join(f"{k} {v}" for k, v in said["versions"].items()),
        "commit": ", ".join(commits),
        "at": f"{said['at']}, {sum(kept.seconds for _, kept in found) / 60:.0f} minutes",
        "again": command,
    }


def judge_all(found: Found) -> list[tuple[Experiment, Kept, list[Claim]]]:
    return [(experiment, kept, experiment.judge(kept.found)) for experiment, kept in found]


def count_verdicts(found: Found) -> str:
    counted = Counter(claim.verdict for *_, claims in judge_all(found) for claim in claims)
    agree, differ, unknown, left_out = (counted[verdict] for verdict in MARKS)
    whole = f"Of {counted.total()} published figures and shapes"
    rest = f", {left_out} not run" if left_out else ""
    return f"{whole}, {agree} agree, {differ} differ, {unknown} cannot be measured here{rest}."


def to_markdown(found: Found) -> str:
    """Every claim as a row of a table."""
    lines = ["# The papers' experiments, run here", ""]
    lines += [f"- **{headline.figure}** {headline.says}" for headline in find_headlines(_data(found))]
    lines += ["", count_verdicts(found), ""]
    lines += [
        f"- {name}: {'`' + value + '`' if name == 'again' else value}" for name, value in describe_run(found).items()
    ]
    for experiment, kept, claims in judge_all(found):
        lines += ["", f"## {experiment.paper}: {experiment.title}", "", experiment.about, ""]
        if experiment.table:
            lines += _markdown_table(*experiment.table(kept.found))
        if claims:
            lines += _markdown_table([*HEADER, "note"], [[*to_cells(claim), claim.note] for claim in claims])
    return "\n".join(lines) + "\n"


def _markdown_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    cells = [[str(cell).replace("|", "\\|") for cell in row] for row in rows]
    return ["| " + " | ".join(row) + " |" for row in [header, ["---"] * len(header), *cells]] + [""]


def to_html(found: Found) -> str:
    """The page."""
    headlines = "".join(
        f'<a class="figure" href="#{escape(h.source)}"><b>{escape(h.figure)}</b><span>{escape(h.says)}</span></a>'
        for h in find_headlines(_data(found))
    )
    facts = "".join(
        f"<dt>{escape(name)}</dt><dd>{_code(name, value)}</dd>" for name, value in describe_run(found).items()
    )
    sections = "".join(_write_section(*each) for each in judge_all(found))
    contents = "".join(
        f'<a href="#{experiment.name}">{escape(experiment.paper)}: {escape(experiment.title)}</a>'
        for experiment, _ in found
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>streamjoin: the papers' experiments</title><style>{STYLE}</style></head><body>"
        "<header><h1>streamjoin</h1><p>Window joins on any condition: the papers' experiments, run on this machine.</p>"
        f'<div class="figures">{headlines}</div><p class="verdicts">{count_verdicts(found)}</p>'
        f"<dl>{facts}</dl></header><nav>{contents}</nav><main>{sections}</main></body></html>\n"
    )


def _code(name: str, value: str) -> str:
    return f"<code>{escape(value)}</code>" if name == "again" else escape(value)


def _write_section(experiment: Experiment, kept: Kept, claims: list[Claim]) -> str:
    charts = "".join(
        f"<figure>{draw_chart(chart, f'{experiment.name}-{number}')}</figure>"
        for number, chart in enumerate(experiment.draw(kept.found))
    )
    size = "quick" if kept.quick else "full"
    rows = "".join(_write_claim(claim) for claim in claims)
    head = "".join(f"<th>{name}</th>" for name in HEADER)
    judged = (
        f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>' if rows else ""
    )
    return (
        f'<section id="{experiment.name}"><h2><small>{escape(experiment.paper)}</small> {escape(experiment.title)}</h2>'
        f"<p>{escape(experiment.about)} <small>{size}, {kept.seconds:.0f} s; "
        f"<code>make bench ARGS=&quot;--only {experiment.name}&quot;</code></small></p>"
        f'<div class="charts">{charts}</div>{_write_told(experiment, kept)}{judged}</section>'
    )


def _write_told(experiment: Experiment, kept: Kept) -> str:
    if experiment.table is None:
        return ""
    header, rows = experiment.table(kept.found)
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="wide"><table class="told"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _write_claim(claim: Claim) -> str:
    what, *values, verdict = to_cells(claim)
    note = f"<small>{escape(claim.note)}</small>" if claim.note else ""
    cells = "".join(f"<td>{escape(value)}</td>" for value in values)
    kind = claim.verdict.split()[0]
    return f'<tr><td>{escape(what)}{note}</td>{cells}<td class="{kind}">{escape(verdict)}</td></tr>'


def _data(found: Found) -> dict[str, Any]:
    return {experiment.name: kept.found for experiment, kept in found}
