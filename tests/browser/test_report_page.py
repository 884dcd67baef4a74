"""The report's page in a real browser, from a file and offline: it fits, light and dark, and can be printed."""

from pathlib import Path

import pytest
from playwright.sync_api import Page

from benchmarks.papers.experiment import Chart, Experiment, Line
from benchmarks.papers.judge import compare_shape, compare_value
from benchmarks.papers.kept import Results
from benchmarks.papers.page import write_report
from tests.browser.conftest import Open, fits, is_dark

pytestmark = pytest.mark.browser

COMMITTED = Path(__file__).parents[2] / "docs" / "report" / "report.html"
LONG = "a claim whose words go on for longer than any narrow window is wide, and then some"

WORDS_OUTSIDE = """[...document.querySelectorAll("figure text")].filter((text) => {
  const word = text.getBoundingClientRect(), card = text.closest("figure").getBoundingClientRect();
  return word.left < card.left || word.right > card.right || word.top < card.top || word.bottom > card.bottom;
}).map((text) => text.textContent)"""
TICKS_THAT_OVERLAP = """[...document.querySelectorAll("figure svg")].flatMap((chart) => {
  const level = [...chart.querySelectorAll("[id*='-xtick_'] text")].filter((text) => {
    const box = text.getBoundingClientRect(); return box.width > box.height; });
  const ticks = level.map((text) => [text.getBoundingClientRect(), text.textContent]);
  ticks.sort((one, other) => one[0].left - other[0].left);
  return ticks.slice(1).filter(([box], before) => ticks[before][0].right > box.left).map(([, text]) => text);
})"""


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of one small experiment with a chart of each kind."""
    lines = [
        Line("ours", [1, 2, 4], [10, 19, 35]),
        Line("paper", [1, 4], [8, 30], "paper"),
        Line("as the model has it", [1, 2, 4], [10, 20, 40], "model"),
        Line("more than the cores", [4, 8], [35, 36], "unmeasured"),
    ]
    bars = [Line("ours", ["a long name", "another long name"], [3, 30]), Line("peers", ["the third of them"], [9])]
    sizes = [2**power for power in range(10, 19)]
    one = Experiment(
        "one", "Paper", "An experiment", "What it measures.", {}, {},
        run=lambda *_: {},
        judge=lambda _: [
            compare_value("rows", 100, 101, 2, "1/s", note=LONG),
            compare_shape(LONG, "linear in the number of threads", "0.5x", None),
        ],
        draw=lambda _: [
            Chart("Rows over threads", "threads", "rows/s", lines, log_x=True),
            Chart("Rows over sizes", "bytes", "rows/s", [Line("ours", sizes, sizes)], log_x=True, log_y=True),
            Chart("Rows of each", "contestant", "rows/s", bars, log_y=True),
        ],
        table=lambda _: (["contestant", "rows/s", "what it is"], [["ours", 3, LONG], ["theirs", 9, LONG]]),
    )  # fmt: skip
    home = tmp_path_factory.mktemp("report")
    return write_report([(one, Results(home).write(one, True, {}, 0.5))], home)


@pytest.fixture(params=["made", "committed"])
def report(request: pytest.FixtureRequest, made: Path) -> Path:
    return made if request.param == "made" else COMMITTED


@pytest.mark.parametrize("width", [400, 1600])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_report_fits_light_and_dark(report: Path, visit: Open, width: int, scheme: str) -> None:
    page = visit(report.as_uri(), width=width, scheme=scheme)
    assert fits(page)
    assert is_dark(page) == (scheme == "dark")
    assert page.evaluate(WORDS_OUTSIDE) == []


def test_the_report_asks_for_nothing_else(report: Path, visit: Open) -> None:
    page = visit("about:blank")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(report.as_uri(), wait_until="networkidle")
    assert asked == [report.as_uri()]


def test_every_chart_has_units_and_a_legend(report: Path, visit: Open) -> None:
    page = visit(report.as_uri())
    charts = page.locator("figure svg")
    assert charts.count() == page.locator("figure").count() > 0
    for chart in charts.all():
        labels = [chart.locator(f"[id*='{part}'] text").count() for part in ("matplotlib.axis_2", "legend_1")]
        assert min(labels) > 0, chart.inner_text()


def test_the_ticks_of_an_axis_do_not_overlap(made: Path, visit: Open) -> None:
    assert visit(made.as_uri()).evaluate(TICKS_THAT_OVERLAP) == []


def test_the_report_prints_dark_on_white(report: Path, visit: Open) -> None:
    page = visit(report.as_uri(), scheme="dark")
    page.emulate_media(media="print")
    assert not is_dark(page)
    assert page.locator("nav").is_hidden()
    assert _is_whole(page)
    assert page.pdf(format="A4").startswith(b"%PDF-")


def _is_whole(page: Page) -> bool:
    """Nothing is hidden behind a bar to scroll: paper has none."""
    page.set_viewport_size({"width": 718, "height": 1000})  # an A4 page less Chromium's margins
    return bool(page.evaluate("[...document.querySelectorAll('.wide')].every(w => w.scrollWidth <= w.clientWidth)"))
