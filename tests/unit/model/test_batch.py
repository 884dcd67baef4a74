"""A micro-batch's seconds: by hand."""

import math
from dataclasses import replace

import pytest

from streamjoin.layout import Grid
from streamjoin.layout.base import Cost
from streamjoin.model.batch import (
    Work,
    count_segments,
    estimate_latency,
    estimate_probes,
    estimate_seconds,
    estimate_work,
    find_least_interval,
)
from streamjoin.model.constants import Constants
from streamjoin.model.copies import Copies
from streamjoin.model.demand import Demand, Narrowing
from streamjoin.model.latency import to_copies
from streamjoin.model.pairs import Sides
from streamjoin.spec.window import tumbling, within

HALF = Work(rows=0.2, copies=0.1, probes=0.3, results=0.4)
PLAIN = Constants(batch=5e8, cell=0)
DEMAND = Demand(within("10 seconds"), Sides(100, 10), 0.001)


def test_work_by_hand() -> None:
    """100 and 10 rows a second, of which 3 and 2 copies are sent; 100 * 10 * 20 s * 0.001 = 20 results a second."""
    constants = Constants(
        row_in=1e9, copy=1e8, row_out=1e7, byte_in=0, byte_copy=0, byte_out=0, stored=0, byte_stored=0
    )
    work = estimate_work(Copies(6, Cost(3, 3), Cost(2, 2)), DEMAND, constants)
    assert (work.rows, work.copies, work.results) == pytest.approx((110, 32, 0.2))
    assert work.total == pytest.approx(142.2 + work.probes)


def test_bytes_by_hand() -> None:
    """A stored row has 28 bytes beside its columns and keys; a result those of both rows and its time."""
    demand = replace(DEMAND, widths=Sides(64, 100), keys=Sides(8, 12))  # 100 and 140 bytes in all
    constants = Constants(
        row_in=0, copy=0, row_out=0, stored=0, byte_in=1e9, byte_copy=1e8, byte_out=1e7, byte_stored=0
    )
    work = estimate_work(Copies(6, Cost(3, 3), Cost(2, 2)), demand, constants)
    assert work.rows == pytest.approx(100 * 100 + 10 * 140)
    assert work.copies == pytest.approx((3 * 100 * 100 + 2 * 10 * 140) / 10)
    assert work.results == pytest.approx(20 * (64 + 100 + 8) / 100)


def test_stored_copies_by_hand() -> None:
    """1 of 6 copies of a left row is stored, 2 of 2 of a right one."""
    constants = Constants(copy=0, byte_copy=0, stored=1e9, byte_stored=1e7)
    work = estimate_work(Copies(6, Cost(6, 1), Cost(2, 2)), DEMAND, constants)
    assert work.copies == pytest.approx(120 + 120 * (32 + 8 + 28) / 100)


@pytest.mark.parametrize("grid", [Grid(1, 1), Grid(1, 4), Grid(2, 2), Grid(4, 4)], ids=str)
def test_a_nested_loop_compares_each_pair_once_however_it_is_laid_out(grid: Grid) -> None:
    constants = Constants(nested_pair=1, nested_look=0)
    assert estimate_probes(to_copies(grid), DEMAND, constants) * 1e9 == pytest.approx(100 * 10 * 20)


def test_an_index_pays_for_each_copy_that_probes_in_each_segment() -> None:
    demand = Demand(within("1000 seconds"), Sides.equal(1000), 0, Narrowing(("buckets",), 0.0))
    constants = Constants(buckets_start=0, buckets_build=0, buckets_probe=1, buckets_candidate=0)
    for copies, probes in ((to_copies(Grid(2, 2)), 2), (Copies(8, Cost(8, 1), Cost(8, 1)), 8)):
        seconds = estimate_probes(copies, demand, constants, interval=250)
        assert seconds * 1e9 == pytest.approx(2000 * probes * count_segments(demand, 250))


@pytest.mark.parametrize("copies", [Copies(8, Cost(1, 1), Cost(1, 1)), to_copies(Grid(2, 4))], ids=["Keyed(8)", "Grid"])
def test_the_copies_of_a_row_share_its_candidates_and_matches(copies: Copies) -> None:
    """Keyed(8) sends a row to one cell, which holds an eighth of the window and all that the index narrows to."""
    demand = Demand(within("100 seconds"), Sides.equal(10), 0.002, Narrowing(("ordered",), 0.01, checked=True))
    constants = Constants(ordered_build=0, ordered_step=0, ordered_candidate=1, checked_pair=50)
    assert estimate_probes(copies, demand, constants) * 1e9 == pytest.approx(20 * 10 * 100 * (0.01 + 0.002 * 50))


def test_the_cheapest_kernel_serves() -> None:
    """2,000 rows a window: the nested loop takes 200 ns and more, buckets 80 and their start."""
    window, rates = within("100 seconds"), Sides.equal(20)
    each = [
        estimate_probes(to_copies(Grid(1, 1)), Demand(window, rates, 0, Narrowing(kernels, 0.0)), interval=1000)
        for kernels in (("nested",), ("buckets",), ("nested", "buckets"))
    ]
    assert each[2] == min(each[:2])


@pytest.mark.parametrize("window", [within("60 seconds"), tumbling("60 seconds")], ids=str)
def test_segments_are_micro_batches_merged_into_sixteen_basic_windows(window: object) -> None:
    demand = replace(DEMAND, window=window)  # type: ignore[arg-type]
    assert count_segments(demand, 30) < count_segments(demand, 5) <= count_segments(demand, 1) <= 16 + 3 + 1


def test_rows_are_packed_on_all_cores_and_cells_run_on_as_many_as_there_are() -> None:
    assert estimate_seconds(10, HALF, 4, PLAIN, cells=2) == pytest.approx(0.5 + 10 * (0.2 / 4 + 0.8 / 2))
    assert estimate_seconds(10, HALF, 4, PLAIN, cells=16) == pytest.approx(0.5 + 10 * (0.2 / 4 + 0.8 / 4))


def test_the_busiest_cell_is_waited_for() -> None:
    assert estimate_seconds(10, HALF, 4, PLAIN, cells=16, busiest=0.5) == pytest.approx(0.5 + 10 * (0.05 + 0.4))


def test_each_cell_costs_in_each_micro_batch() -> None:
    costs = replace(PLAIN, cell=1e8)
    assert estimate_seconds(0, HALF, 4, costs, cells=16) == pytest.approx(0.5 + 4 * 0.1)


def test_the_least_interval_is_just_kept_up_with() -> None:
    interval = find_least_interval(HALF, 2, PLAIN)
    assert interval == pytest.approx(1.0)
    assert estimate_seconds(interval, HALF, 2, PLAIN) == pytest.approx(interval)
    assert estimate_seconds(2 * interval, HALF, 2, PLAIN) < 2 * interval
    assert find_least_interval(HALF, 1, PLAIN) == math.inf


def test_a_row_waits_half_an_interval_and_its_batch() -> None:
    assert estimate_latency(10, 5.5) == pytest.approx(5 + 5.5)
