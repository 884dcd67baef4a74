"""A real browser for the pages that people look at."""

import shutil
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

Open = Callable[..., Page]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no Chromium on the PATH (Debian: apt install chromium)")
    with sync_playwright() as started:
        found = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def visit(browser: Browser) -> Iterator[Open]:
    """Opens an address in a window of its own; a test fails if a page complained on its console."""
    pages, complaints = [], []

    def go(url: str, *, width: int = 1600, scheme: str = "light") -> Page:
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        pages.append(page)
        page.goto(url)
        return page

    yield go
    for page in pages:
        page.close()
    assert complaints == []


def fits(page: Page) -> bool:
    """Whether nothing reaches beyond the window's right edge."""
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


def is_dark(page: Page) -> bool:
    """Whether the ground is nearer to black than to white."""
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return sum(int(part) for part in ground[4:-1].split(",")) < 384


def count_points(page: Page) -> int:
    """The points of the first line of the dashboard's first chart."""
    return int(page.evaluate("document.querySelector('.plot')?.data?.[0].x.length ?? 0"))


def await_more_points(page: Page, number: int) -> int:
    """Wait until the first chart has more points than so many; how many it has."""
    for _ in range(600):
        found = count_points(page)
        if found > number:
            return found
        page.wait_for_timeout(100)
    raise AssertionError(f"no more than {number} points")


def read_lines(page: Page, title: str) -> dict[str, list[float | None]]:
    """The lines of a chart, by their names."""
    cards = page.locator(".chart", has=page.get_by_role("heading", name=title, exact=True))
    drawn = cards.locator(".plot").evaluate("plot => plot.data.map(line => [line.name, line.y])")
    return dict(drawn)
