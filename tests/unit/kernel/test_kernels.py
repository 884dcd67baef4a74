"""Every kernel finds exactly the pairs that a literal comparison finds, whatever room its output has."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamjoin.kernel.buckets import Axis, Buckets
from streamjoin.kernel.codes import encode, widths
from streamjoin.kernel.costs import STRIP
from streamjoin.kernel.nested import TILE, nested
from streamjoin.kernel.ordered import Ordered
from streamjoin.kernel.pairs import Chunk, refine

DTYPES = [np.int32, np.int64]
SMALL = st.integers(-6, 6)
EXTREME = st.sampled_from([-(2**31), 2**31 - 1]) | SMALL
ROOM = st.integers(1, 9) | st.just(1000)
Found = list[tuple[int, int]]


@st.composite
def boxes(draw: st.DrawFn) -> tuple[Any, Any]:
    """Rows with two codes, and intervals on both for some probes."""
    dtypes = draw(st.tuples(st.sampled_from(DTYPES), st.sampled_from(DTYPES)))
    rows = draw(st.lists(st.tuples(EXTREME, SMALL), max_size=30))
    probes = draw(st.lists(st.tuples(*[st.tuples(EXTREME, EXTREME).map(sorted)] * 2), max_size=12))
    columns = [np.array([row[k] for row in rows], dtypes[k]) for k in range(2)]
    ends = [[np.array([probe[k][end] for probe in probes], dtypes[k]) for end in range(2)] for k in range(2)]
    return columns, ends


def literally(columns: Any, ends: Any) -> Found:
    """The definition: inside both intervals."""
    return sorted(
        (i, j)
        for i in range(len(ends[0][0]))
        for j in range(len(columns[0]))
        if all(ends[k][0][i] <= columns[k][j] <= ends[k][1][i] for k in range(2))
    )


def drained(chunk: Chunk, step: Callable[[], int], going: Callable[[], bool]) -> Found:
    """All pairs that a kernel gives, chunk by chunk."""

    def pieces() -> Iterator[Found]:
        while going():
            count = step()
            assert count <= chunk.capacity
            yield [(int(p), int(b)) for p, b in zip(chunk.probe[:count], chunk.build[:count], strict=True)]

    return sorted(pair for piece in pieces() for pair in piece)


@given(boxes(), ROOM)
def test_nested_loop(case: tuple[Any, Any], room: int) -> None:
    columns, ends = case
    chunk, cursor = Chunk(room), np.zeros(3, np.int64)
    intervals = [part for low, high in ends for part in (low, widths(low, high))]
    found = drained(chunk, lambda: nested(*columns, *intervals, chunk, cursor), lambda: cursor[0] < len(columns[0]))
    assert found == literally(columns, ends)


@pytest.mark.parametrize("size", [STRIP - 1, STRIP, TILE - 1, TILE, TILE + 1, 2 * TILE + STRIP + 3])
@pytest.mark.parametrize("room", [7, 10_000])
def test_nested_loop_across_tiles(size: int, room: int) -> None:
    rng = np.random.default_rng(size)
    columns = [rng.integers(0, 40, size).astype(np.int32) for _ in range(2)]
    ends = [[low, low + 3] for low in (rng.integers(-2, 40, 5).astype(np.int32) for _ in range(2))]
    chunk, cursor = Chunk(room), np.zeros(3, np.int64)
    intervals = [part for low, high in ends for part in (low, widths(low, high))]
    found = drained(chunk, lambda: nested(*columns, *intervals, chunk, cursor), lambda: cursor[0] < size)
    assert found == literally(columns, ends)


def by_buckets(index: Buckets, ends: Any, room: int) -> Found:
    """All pairs that the buckets give, and those of the probes that it leaves to the nested loop."""
    x, y = ((low, high, low, high) for low, high in ends)
    visits, wide = index.visits(x, y)
    probes = len(ends[0][0])
    assert sorted([*visits[:, 0].tolist(), *wide.tolist()]) == list(range(probes))
    chunk, cursor = Chunk(room), np.zeros(4, np.int64)
    found = drained(chunk, lambda: index.probe(visits, chunk, cursor)[0], lambda: cursor[0] < len(visits))
    columns = list(index.rows.T[:2])
    left = literally(columns, [[end[wide] for end in pair] for pair in ends])
    return sorted(found + [(int(wide[i]), int(index.rows[j, 2])) for i, j in left])


@given(boxes(), ROOM, st.tuples(st.sampled_from([1.0, 3.0, 2.0**20]), st.sampled_from([1.0, 5.0])))
def test_buckets(case: tuple[Any, Any], room: int, width: tuple[float, float]) -> None:
    """Dense and hashed (extreme values spread too far for a table), with buckets of several widths."""
    columns, ends = case
    axes = (Axis(column, bucket) for column, bucket in zip(columns, width, strict=True))
    built = Buckets.build(*axes, np.arange(len(columns[0]), dtype=np.int32))
    assert by_buckets(Buckets.from_arrays(built.arrays()), ends, room) == literally(columns, ends)


@given(boxes(), ROOM, st.booleans())
def test_buckets_of_an_equality(case: tuple[Any, Any], room: int, alone: bool) -> None:
    columns, ((codes, _), y_ends) = case
    y = Axis() if alone else Axis(columns[1], 5.0)
    if alone:
        columns = [columns[0], np.zeros(len(columns[0]), np.int32)]
        y_ends = [np.zeros(len(codes), np.int32)] * 2
    index = Buckets.build(Axis(columns[0]), y, np.arange(len(columns[0]), dtype=np.int32))
    assert by_buckets(index, [[codes, codes], y_ends], room) == literally(columns, [[codes, codes], y_ends])


@pytest.mark.parametrize("spread", [1, 2**40])
def test_buckets_visit_many_probes_in_order(spread: int) -> None:
    rng = np.random.default_rng(1)
    columns = [rng.integers(0, 100, 20_000) * spread for _ in range(2)]
    ends = [[low, low + 9] for low in (rng.integers(-20, 100, 70) * spread for _ in range(2))]
    index = Buckets.build(*(Axis(column, 10.0) for column in columns), np.arange(20_000, dtype=np.int32))
    assert bool(index.bits) == (spread > 1)
    visits, _ = index.visits(*((low, high, low, high) for low, high in ends))
    assert visits[:, 0].tolist() != list(range(70))
    assert by_buckets(index, ends, 64) == literally(columns, ends)


def test_a_few_values_far_out_do_not_stretch_the_table() -> None:
    values = np.array([1.0, 2.0, 3.0, np.nan, np.inf, -np.inf])
    index = Buckets.build(Axis(values, 1.0), Axis(), np.arange(6, dtype=np.int32))
    assert index.bits == 0
    assert index.x.last == 2


@given(boxes(), ROOM)
def test_ordered_and_refined(case: tuple[Any, Any], room: int) -> None:
    columns, ends = case
    ordered = Ordered.from_arrays(Ordered.build(columns[0], np.arange(len(columns[0]), dtype=np.int32)).arrays())
    start, end = ordered.ranges(*ends[0])
    chunk, cursor = Chunk(room), np.zeros(2, np.int64)
    low, high = ends[1]

    def step() -> int:
        count = ordered.probe(start, end, chunk, cursor)
        return int(refine(chunk.probe, chunk.build, count, columns[1], low, widths(low, high)))

    assert drained(chunk, step, lambda: cursor[0] < len(low)) == literally(columns, ends)


FLOATS = st.sampled_from([np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, 1e-45, 1.7e308, 3.4e38]) | st.floats()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.int16, np.int32, np.int64, np.bool_])
@given(values=st.lists(FLOATS, max_size=20))
def test_codes_sort_as_the_values_do(dtype: Any, values: list[float]) -> None:
    with np.errstate(all="ignore"):
        column = np.nan_to_num(np.array(values)).clip(-100, 100).astype(dtype)
        if np.dtype(dtype).kind == "f":
            column = np.array(values).astype(dtype)
    codes = encode(column)
    for i, a in enumerate(column):
        for j, b in enumerate(column):
            ordered = (not np.isnan(a)) and (np.isnan(b) or a < b) if column.dtype.kind == "f" else a < b
            assert (codes[i] < codes[j]) == ordered
