"""A micro-batch's seconds: by hand, and of the benchmarks that the shipped constants were fitted on."""

import math

import pytest

from streamjoin.layout import Grid
from streamjoin.layout.base import Cost
from streamjoin.model.batch import (
    Work,
    estimate_latency,
    estimate_probes,
    estimate_seconds,
    estimate_work,
    find_least_interval,
)
from streamjoin.model.constants import Constants
from streamjoin.model.copies import Copies
from streamjoin.model.latency import to_copies
from streamjoin.model.pairs import Sides
from streamjoin.spec.window import within

HIT_RATE = 4.196e-6
CANDIDATES = 1.12e-4  # of 100,000 rows a probe examined 11.2 (micro-band-shapes.md)
HALF = Work(rows=0.2, copies=0.1, probes=0.3, results=0.4)


@pytest.mark.parametrize(("rate", "window", "segments", "measured"), [(52_900, 60, 7, 16.8), (28_650, 300, 20, 31.5)])
def test_cpu_seconds_of_the_benchmarks_behind_the_constants(
    rate: float, window: int, segments: int, measured: float
) -> None:
    """spark-sustained.md, Grid(1, 2), seconds of CPU for a million rows: a fit, so it proves the sum, not the model."""
    copies, reach, rates = to_copies(Grid(1, 2)), within(f"{window} seconds"), Sides.equal(rate)
    probes = estimate_probes(copies, reach, rates, HIT_RATE, kernel="buckets", candidates=CANDIDATES, segments=segments)
    work = estimate_work(copies, reach, rates, HIT_RATE, probes)
    assert work.total / (2 * rate) * 1e6 == pytest.approx(measured, rel=0.05)


def test_work_by_hand() -> None:
    """100 and 10 rows a second, of which 3 and 2 copies are sent; 100 * 10 * 20 s * 0.001 = 20 results a second."""
    constants = Constants(row_in=1e9, copy=1e8, row_out=1e7)
    copies = Copies(6, Cost(3, 3), Cost(2, 2))
    work = estimate_work(copies, within("10 seconds"), Sides(100, 10), 0.001, 0.5, constants)
    assert (work.rows, work.copies, work.probes, work.results) == pytest.approx((110, 32, 0.5, 0.2))
    assert work.total == pytest.approx(142.7)


@pytest.mark.parametrize("grid", [Grid(1, 1), Grid(1, 4), Grid(2, 2), Grid(4, 4)], ids=str)
def test_a_nested_loop_compares_each_pair_once_however_it_is_laid_out(grid: Grid) -> None:
    window, rates, constants = within("10 seconds"), Sides(100, 10), Constants(nested_pair=1, nested_look=0)
    seconds = estimate_probes(to_copies(grid), window, rates, 0.001, kernel="nested", constants=constants)
    assert seconds * 1e9 == pytest.approx(100 * 10 * 20)


def test_an_index_pays_for_each_copy_that_probes() -> None:
    window, rates = within("1000 seconds"), Sides.equal(1000)
    constants = Constants(buckets_start=0, buckets_build=0, buckets_probe=1, buckets_candidate=0)
    for copies, probes in ((to_copies(Grid(2, 2)), 2), (Copies(8, Cost(8, 1), Cost(8, 1)), 8)):
        seconds = estimate_probes(copies, window, rates, 0, kernel="buckets", constants=constants)
        assert seconds * 1e9 == pytest.approx(2000 * probes)


@pytest.mark.parametrize("copies", [Copies(8, Cost(1, 1), Cost(1, 1)), to_copies(Grid(2, 4))], ids=["Keyed(8)", "Grid"])
def test_the_copies_of_a_row_share_its_candidates_and_matches(copies: Copies) -> None:
    """Keyed(8) sends a row to one cell, which holds an eighth of the window and all that the index narrows to."""
    window, rates = within("100 seconds"), Sides.equal(10)
    constants = Constants(ordered_build=0, ordered_step=0, ordered_candidate=1, checked_pair=50)
    seconds = estimate_probes(
        copies, window, rates, 0.002, kernel="ordered", candidates=0.01, checked=True, constants=constants
    )
    assert seconds * 1e9 == pytest.approx(20 * 10 * 100 * (0.01 + 0.002 * 50))


def test_the_least_interval_is_just_kept_up_with() -> None:
    interval = find_least_interval(HALF, cores=2)
    assert interval == pytest.approx(1.0)
    assert estimate_seconds(interval, HALF, cores=2) == pytest.approx(interval)
    assert estimate_seconds(2 * interval, HALF, cores=2) < 2 * interval
    assert find_least_interval(HALF, cores=1) == math.inf


def test_a_row_waits_half_an_interval_and_its_batch() -> None:
    assert estimate_latency(10, HALF, cores=2) == pytest.approx(5 + 0.5 + 5)
