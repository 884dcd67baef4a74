"""DP-Join's order of layouts, its corrected Eq. 9, Handshake's halves; all against numeric integration."""

import numpy as np
import pytest

from streamjoin.layout import Grid, Keyed, Scale
from streamjoin.layout.base import Cost
from streamjoin.model.copies import Copies
from streamjoin.model.latency import find_fastest_grid, find_handshake_latency, find_latency, to_copies
from streamjoin.model.pairs import Sides, find_reach
from streamjoin.spec.window import Window, between, last, tumbling, within

WINDOW = within("300 seconds")


def latency(grid: Grid, rates: Sides, window: Window = WINDOW) -> float:
    return find_latency(to_copies(grid), window, rates, 1e-9).mean


@pytest.mark.parametrize(("m", "n"), [(1, 16), (2, 8), (4, 4), (3, 5)])
def test_equation_9_without_its_p(m: int, n: int) -> None:
    assert latency(Grid(m, n), Sides.equal(2500)) == pytest.approx(2500 * 1e-9 * 300 * (m + n) / (4 * m * n))


def test_square_before_rectangular_before_linear() -> None:
    latencies = [latency(grid, Sides.equal(2500)) for grid in (Grid(4, 4), Grid(2, 8), Grid(1, 16))]
    assert latencies == sorted(latencies)


def test_asymmetric_rates_want_an_oblong_with_the_longer_side_for_the_faster_stream() -> None:
    rates = Sides(1000, 3000)
    assert latency(Grid(3, 5), rates) < latency(Grid(4, 4), rates) < latency(Grid(5, 3), rates)
    assert find_fastest_grid(16, WINDOW, rates) == Grid(2, 8)  # DP-Join does not show this one
    assert find_fastest_grid(16, WINDOW, Sides(3000, 1000)) == Grid(8, 2)


def test_the_sides_are_weighed_by_results_not_by_arrivals() -> None:
    by_results = (3000 / 5 + 1000 / 3) / 2 * 300 * 1e-9 / 2
    by_arrivals = (3000 / 5 * 0.25 + 1000 / 3 * 0.75) * 300 * 1e-9 / 2
    assert latency(Grid(3, 5), Sides(1000, 3000)) == pytest.approx(by_results)
    assert by_arrivals != pytest.approx(by_results, rel=0.1)


@pytest.mark.parametrize(
    "window",
    [
        WINDOW,
        within(left="100 seconds", right="300 seconds"),
        between("20 seconds", "90 seconds"),
        tumbling("60 seconds"),
        last(left=30_000, right=90_000) & tumbling("60 seconds"),
    ],
    ids=str,
)
def test_latency_by_drawing_results(window: Window) -> None:
    """Results are uniform over the window's area; each is found after a uniform share of its cell's scan."""
    rates, grid, rng = Sides(1000, 3000), Grid(3, 5), np.random.default_rng(2)
    reach = find_reach(window, rates)
    span = 1000.0 if reach.bucket == np.inf else reach.bucket
    l, r = rng.uniform(0, span, (2, 2_000_000))
    inside = (reach.lower <= r - l) & (r - l <= reach.upper)
    if reach.bucket == np.inf:
        inside &= (np.maximum(l, r) > 300) & (np.maximum(l, r) < 1000)  # the windows are full
    l, r = l[inside], r[inside]
    now = np.maximum(l, r)
    until, since = (-reach.lower, -reach.upper), (reach.upper, reach.lower)
    met = np.where(
        l > r,
        3000 / 5 * (np.minimum(now, until[0]) - max(0, until[1])),
        1000 / 3 * (np.minimum(now, since[0]) - max(0, since[1])),
    )
    found = find_latency(to_copies(grid), window, rates, 1e-9)
    assert found.mean == pytest.approx(1e-9 * met.mean() / 2, rel=0.01)
    assert found.worst == pytest.approx(1e-9 * met.max(), rel=0.01)


def test_any_layout_by_the_share_of_a_window_in_a_cell() -> None:
    """A cell of Scale(n) scans one n-th for rows of both sides; of Keyed(16, spread=2) an eighth."""
    rates = Sides.equal(1000)
    scale = Copies(Scale(16).cells, Cost(16, 1), Cost(16, 1))
    keyed = Copies(Keyed(16, spread=2).cells, Cost(2, 2), Cost(2, 2))
    assert scale.shares == Sides.equal(1 / 16)
    assert find_latency(scale, WINDOW, rates, 1e-9).mean == pytest.approx(1000 * 300 / 16 * 1e-9 / 2)
    assert find_latency(keyed, WINDOW, rates, 1e-9).mean == pytest.approx(1000 * 300 / 8 * 1e-9 / 2)


def test_handshake_waits_for_half_of_the_window_at_most_and_a_quarter_on_average() -> None:
    found = find_handshake_latency(900, 900)
    assert (found.worst, found.mean) == (450, 225)  # "up to 7.5 minutes" (ScaleJoin VI)


@pytest.mark.parametrize(("left", "right"), [(300, 300), (900, 300), (60, 600)])
def test_handshake_by_letting_rows_walk(left: float, right: float) -> None:
    """Both walk at constant speed from opposite ends; the chain has length 1."""
    apart = np.linspace(-right, left, 200_001)  # t_r - t_l: uniform over the window
    l, r = np.maximum(-apart, 0), np.maximum(apart, 0)  # when they enter
    meet = (1 + l / left + r / right) / (1 / left + 1 / right)
    waited = meet - np.maximum(l, r)
    found = find_handshake_latency(left, right)
    assert waited.min() > -1e-9
    assert waited.max() == pytest.approx(found.worst, rel=1e-3)
    assert waited.mean() == pytest.approx(found.mean, rel=1e-3)


def test_handshake_waits_ten_thousand_times_as_long() -> None:
    for measured in (0.95e-3, 2.42e-3):  # DP-Join 5.3.1, windows of 300 s
        assert find_handshake_latency(300, 300).mean / measured > 1e4
