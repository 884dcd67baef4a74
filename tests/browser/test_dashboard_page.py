"""The dashboard's page in a real browser, fed by hand: charts move, queries end, it fits, light and dark."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from streamjoin.report.history import History, Plan
from streamjoin.report.server import Server
from tests.browser.conftest import Open, count_points, fits, is_dark, read_lines
from tests.unit.report.reports import make_metrics, make_report

pytestmark = pytest.mark.browser

CHARTS = [
    "Rows in", "Matches", "Event-time lag", "Latency", "Windows", "State", "Time of a micro-batch", "Load of the cells",
    "Balance", "Dropped rows",
]  # fmt: skip


@pytest.fixture
def kept() -> History:
    return History()


@pytest.fixture
def served(kept: History) -> Iterator[Server]:
    server = Server(kept, {"0123": Plan("the plan of this join", 10_000_000, 0)}.get, "127.0.0.1", 0)
    yield server
    server.close()


def feed(kept: History, batches: range, **metrics: int) -> None:
    for batch in batches:
        kept.add(make_report(batch, second=batch, joins={"streamjoin": make_metrics(rows_left=400, **metrics)}))


def await_points(page: Page, number: int) -> None:
    """Wait until the first line of the first chart has so many points."""
    found = -1
    for _ in range(100):
        found = count_points(page)
        if found == number:
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"{found} points instead of {number}")


def test_charts_move_while_reports_come(kept: History, served: Server, visit: Open) -> None:
    page = visit(served.url)
    expect(page.get_by_text("No query has reported yet")).to_be_visible()
    feed(kept, range(5))
    expect(page.locator(".plot .main-svg").first).to_be_visible()
    assert page.locator("h2").all_inner_texts() == CHARTS
    await_points(page, 5)
    expect(page.locator(".tile").first).to_contain_text("400")  # each second, of which the micro-batch takes 0.4 s
    feed(kept, range(5, 8), late_left=3, waiting_rows=2)
    await_points(page, 8)
    expect(page.locator(".tile.bad")).to_contain_text("9")
    assert page.locator("h2").all_inner_texts() == [*CHARTS, "Waiting"]
    page.get_by_text("Plan", exact=True).click()
    expect(page.get_by_text("the plan of this join")).to_be_visible()


def test_each_input_has_its_own_lag_and_watermark(kept: History, served: Server, visit: Open) -> None:
    #  seconds   0         1         2        batches end 0.4 s after they began
    #  left      -1        -1        -        newest row, before 9:00:00
    #  right     -31       -         -21
    nine = 1_767_603_600_000_000
    for batch, (left, right) in enumerate([(-1, -31), (-1, None), (None, -21)]):
        newest = {"newest_left": left, "newest_right": right}
        times = {name: None if each is None else nine + each * 1_000_000 for name, each in newest.items()}
        kept.add(make_report(batch, second=batch, joins={"streamjoin": make_metrics(rows_left=1, **times)}))
    page = visit(served.url)
    await_points(page, 3)
    lines = read_lines(page, "Event-time lag")
    assert lines["newest row, left"] == pytest.approx([1.4, 2.4, 3.4])
    assert lines["watermark, left"] == pytest.approx([11.4, 12.4, 13.4])
    assert lines["newest row, right"] == lines["watermark, right"] == pytest.approx([31.4, 32.4, 23.4])
    assert lines["watermark of the query"] == pytest.approx([11.4, 12.4, 13.4])
    latency = read_lines(page, "Latency")
    assert latency["at least"] == pytest.approx([0.4] * 3)
    assert latency["at most"] == [None, pytest.approx(1.4), pytest.approx(1.4)]


def test_rates_are_of_the_time_between_micro_batches(kept: History, served: Server, visit: Open) -> None:
    #  second      0     1     3        33
    #  rows left   400   400   400      300
    #  matches     6     6     6        6
    for batch, (second, rows) in enumerate([(0, 400), (1, 400), (3, 400), (33, 300)]):
        kept.add(make_report(batch, second=second, joins={"streamjoin": make_metrics(rows_left=rows, matches=6)}))
    page = visit(served.url)
    await_points(page, 4)
    assert read_lines(page, "Rows in")["left"] == [None, 400, 200, 10]
    assert read_lines(page, "Matches")["matches"] == [None, 6, 3, pytest.approx(0.2)]
    expect(page.locator(".tile").nth(1)).to_contain_text("0.20")


SHOWN = [(400, "light"), (400, "dark"), (1600, "light"), (1600, "dark")]
"""Widths and colours."""


@pytest.mark.parametrize(("width", "scheme"), SHOWN)
def test_the_page_fits_light_and_dark(kept: History, served: Server, visit: Open, width: int, scheme: str) -> None:
    feed(kept, range(30))
    page = visit(served.url, width=width, scheme=scheme)
    expect(page.locator(".plot .main-svg").first).to_be_visible()
    assert fits(page)
    assert is_dark(page) == (scheme == "dark")
    for chart in page.locator(".plot").all():
        drawn, card = chart.locator(".main-svg").first.bounding_box(), chart.bounding_box()
        assert drawn
        assert card
        assert drawn["width"] <= card["width"] + 1


@pytest.mark.parametrize(("width", "scheme"), SHOWN)
def test_after_a_failure_the_last_state_stays_with_its_reason(
    kept: History, served: Server, visit: Open, width: int, scheme: str
) -> None:
    feed(kept, range(3))
    page = visit(served.url, width=width, scheme=scheme)
    expect(page.get_by_text("Running since")).to_be_visible()
    kept.end("run-1", 1_767_603_700_000, f"SparkException: the disk is full\n\tat {'org.apache.spark.' * 20}")
    expect(page.locator("#state.failed")).to_contain_text("the disk is full")
    assert fits(page)
    assert is_dark(page) == (scheme == "dark")
    expect(page.get_by_role("button", name="near (failed)")).to_be_visible()
    await_points(page, 3)


def test_several_queries_are_told_apart(kept: History, served: Server, visit: Open) -> None:
    feed(kept, range(3))
    kept.add({**make_report(0, run="run-2"), "name": "fraud"})
    page = visit(served.url)
    page.get_by_role("button", name="near").click()
    await_points(page, 3)
    page.get_by_role("button", name="fraud").click()
    await_points(page, 1)


@pytest.mark.parametrize("batches", [2, 9])
def test_an_open_page_shows_another_driver_on_its_port_from_the_start(browser: Browser, batches: int) -> None:
    first, second = History(), History()
    feed(first, range(5))
    server = Server(first, {}.get, "127.0.0.1", 0)
    port = int(server.url.rstrip("/").rpartition(":")[2])
    page = browser.new_page()
    page.goto(server.url)
    await_points(page, 5)
    server.close()
    for batch in range(batches):
        second.add(make_report(batch, run="run-2", second=batch))
    server = Server(second, {}.get, "127.0.0.1", port)
    try:
        await_points(page, batches)
    finally:
        page.close()
        server.close()


def test_a_closed_dashboard_is_told(kept: History, browser: Browser) -> None:
    server = Server(kept, {}.get, "127.0.0.1", 0)
    page = browser.new_page()
    page.goto(server.url)
    expect(page.locator("#connection")).to_contain_text("live")
    server.close()
    expect(page.locator("#connection")).to_contain_text("does not answer")
    page.close()
