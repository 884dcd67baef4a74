"""Tables 3.4 to 3.10 of the thesis, and its distribution of windows against a literal one."""

import math
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamjoin.model.thesis import (
    EXAMPLE,
    Form,
    Problem,
    count_window_copies,
    find_batch,
    find_best_degree,
    find_buffered_time,
    find_completion_time,
    find_memory,
    find_pane,
    find_sequential_time,
    find_streaming_time,
)
from tests.unit.model.figures import DERIVED_DEGREES, DERIVED_LEFT_OUT, SEQUENTIAL, TABLES_3

CASES = [(form, arrival, *row) for form, rows in TABLES_3.items() for arrival, row in rows.items()]


def cut(time: float) -> float:
    """Two digits, as the tables have them: cut off, not rounded."""
    power = 10 ** (math.floor(math.log10(time)) - 1)
    return math.floor(time / power) * power


@pytest.mark.parametrize(("form", "arrival", "n_buffered", "buffered", "same_n", "n_streaming", "streaming"), CASES)
def test_tables_3_7_to_3_10(
    form: Form,
    arrival: float,
    n_buffered: int,
    buffered: float,
    same_n: float | None,
    n_streaming: int,
    streaming: float,
) -> None:
    assert find_best_degree(form, lambda n: find_buffered_time(form, EXAMPLE, n, arrival)) == n_buffered
    assert cut(find_buffered_time(form, EXAMPLE, n_buffered, arrival)) == pytest.approx(buffered)
    if same_n is None:  # the table leaves it out, as worse than buffering
        assert find_streaming_time(form, EXAMPLE, n_buffered, arrival) == pytest.approx(DERIVED_LEFT_OUT, rel=0.01)
    else:
        assert cut(find_streaming_time(form, EXAMPLE, n_buffered, arrival)) == pytest.approx(same_n)
    best = find_best_degree(form, lambda n: find_streaming_time(form, EXAMPLE, n, arrival))
    assert best == DERIVED_DEGREES.get((form, arrival), n_streaming)
    assert cut(find_streaming_time(form, EXAMPLE, n_streaming, arrival)) == pytest.approx(streaming)
    assert cut(find_streaming_time(form, EXAMPLE, best, arrival)) == pytest.approx(streaming)


def test_the_named_exceptions_are_better_than_what_is_printed() -> None:
    for (form, arrival), better in DERIVED_DEGREES.items():
        printed = TABLES_3[form][arrival][3]
        times = [find_streaming_time(form, EXAMPLE, n, arrival) for n in (better, printed)]
        assert times[0] < times[1] < 1.002 * times[0]


#  4 elements, all constants 1: T_send(2) = 3, T_send(4) = 5; g = 2 with 4 workers, or 2 where A is replicated
#  the last 2 x 2 results   4 + 5                                                    9
#                           emitter slower, T_A = 1     emitter waits, T_A = 10
#  map                      1 + 4 * 3                   2 * (10 + 3)
#  stencil                  1 + 2 * 3 + 2 * 3           2 * 10 + 3 + 2 * 3
#  replicated map           1 + 4 * 3 + max(6, 4, 5)    2 * 10 + max(6, 4, 5)
#  replicated stencil       1 + 2 * 3 + max(4, 5)       2 * 10 + max(4, 5)
@pytest.mark.parametrize(
    ("form", "workers", "slower", "waits"),
    [
        ("map", 4, 13, 26),
        ("stencil", 4, 13, 29),
        ("replicated map", 2, 19, 26),
        ("replicated stencil", 2, 12, 25),
    ],
)
def test_streaming_times_by_hand(form: Form, workers: int, slower: float, waits: float) -> None:
    problem = Problem(size=4, function=1, setup=1, transmission=1)
    assert find_streaming_time(form, problem, workers, 1) == slower + 9
    assert find_streaming_time(form, problem, workers, 10) == waits + 9


def test_the_sequential_time() -> None:
    assert find_sequential_time(EXAMPLE) == SEQUENTIAL


def test_the_replicated_forms_differ_by_one_setup() -> None:
    """Section 3.5 says of T_C without streams; with n T_setup + g n T_transm = n T_setup + N T_transm."""
    ways = [find_completion_time(form, EXAMPLE, 50) for form in ("replicated map", "replicated stencil")]
    assert ways[1] - ways[0] == pytest.approx(EXAMPLE.setup)


@pytest.mark.parametrize("form", get_args(Form))
@pytest.mark.parametrize("streaming", [False, True])
def test_tables_3_4_to_3_6(form: Form, streaming: bool) -> None:
    size, n, x = 1000, 100, 77.0
    root = math.sqrt(n)
    totals = {
        ("map", False): 2 * root * size + size**2 + 2 * size,
        ("map", True): 2 * root * size + size**2 + 2 * x,
        ("replicated map", False): 3 * size + n * size + size**2,
        ("replicated map", True): size + n * size + size**2 / n + x,
        ("replicated stencil", False): 3 * size + n * size + size**2,
        ("replicated stencil", True): size + n * size + size**2 / n + 2 * x,
    }
    totals |= {("stencil", kind): totals["map", kind] for kind in (False, True)}
    waiting = x if streaming else None
    assert find_memory(form, size, n, streaming=streaming, waiting=waiting).total == totals[form, streaming]


@given(st.integers(1, 12), st.integers(1, 12), st.integers(1, 9))
def test_an_element_goes_to_as_many_workers_as_have_windows_with_it(size: int, slide: int, workers: int) -> None:
    """Window k has elements k s to k s + N - 1 and goes to worker k mod W; well after the start some element is in
    ceil(N / s) windows."""
    slide = min(size, slide)
    most = 0
    for element in range(20 * size, 20 * size + slide):
        has = [k for k in range(20 * size + 1) if k * slide <= element < k * slide + size]
        most = max(most, len({k % workers for k in has}))
    assert count_window_copies(size, slide, workers) == most


@given(st.integers(1, 30), st.integers(1, 30))
def test_windows_begin_and_end_where_panes_do(size: int, slide: int) -> None:
    pane = find_pane(size, slide)
    borders = {edge for k in range(size + slide) for edge in (k * slide, k * slide + size)}
    assert all(edge % pane == 0 for edge in borders)
    assert math.gcd(*borders) == pane


@given(st.integers(1, 30), st.integers(1, 30), st.integers(1, 6))
def test_a_batch_spans_its_windows(size: int, slide: int, windows: int) -> None:
    starts = [k * slide for k in range(windows)]
    assert find_batch(size, slide, windows) == (starts[-1] + size - starts[0], windows * slide)
    assert count_window_copies(*find_batch(size, slide, windows), workers=99) <= count_window_copies(size, slide, 99)
