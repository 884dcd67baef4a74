"""A ring forgets what is expired, wherever it lies, and joins rows of any time."""

from random import Random
from typing import Any

import pyarrow as pa
import pytest

from streamjoin import Grid, LocalJoin, within
from streamjoin.local.ring import SMALLEST

SCHEMA = pa.schema([("ts", pa.int64()), ("x", pa.int32()), ("name", pa.string())])


def make(stripes: int = 1) -> LocalJoin:
    return LocalJoin(
        on="l.x = r.x", window=within("100 microseconds"), left=SCHEMA, right=SCHEMA, time="ts", delay="0 seconds",
        layout=Grid(1, stripes),
    )  # fmt: skip


def number_rows(start: int, size: int, draw: Random) -> dict[str, Any]:
    """One row a microsecond, ten of a key, with texts of all lengths."""
    times = range(start, start + size)
    return {
        "ts": list(times),
        "x": [time // 10 for time in times],
        "name": ["n" * draw.randint(0, 99) for _ in times],
    }


@pytest.mark.parametrize("size", [1, 50])
def test_a_row_far_ahead_keeps_nothing_that_is_expired(size: int) -> None:
    #  left    1000000   0  1  2  3 ... 9999      the first row is live to the end, and all others pass behind it
    #  right             0  1  2  3 ... 9999
    draw, found, most_rows, most_bytes = Random(0), 0, 0, 0
    with make() as join:
        join.push_left({"ts": 1_000_000, "x": 7, "name": "far ahead"})
        for start in range(0, 10_000, size):
            for push in (join.push_left, join.push_right):
                rows = number_rows(start, size, draw)
                push({name: values[0] for name, values in rows.items()} if size == 1 else rows)
            found += join.read().num_rows
            stats = join.stats()
            most_rows, most_bytes = max(most_rows, stats.live_left), max(most_bytes, stats.bytes)
        assert most_rows <= SMALLEST + size
        assert most_bytes < 1_000_000
        assert found == 10_000 * 10
        join.push_right({"ts": 1_000_001, "x": 7, "name": ""})
        assert join.read()["name_l"].to_pylist() == ["far ahead"]


def test_only_what_is_expired_is_taken_out_behind_a_row_far_ahead() -> None:
    with make() as join:
        join.push_left({"ts": 1_000_000, "x": 7, "name": "far ahead"})
        join.push_left({"ts": list(range(2000)), "x": [1] * 2000, "name": list(map(str, range(2000)))})
        join.advance(1600)
        assert join.read().num_rows == 0
        assert join.stats().live_left == 1 + 500
        join.push_right({"ts": 1600, "x": 1, "name": ""})
        assert join.read()["name_l"].to_pylist() == list(map(str, range(1700, 1499, -1)))


@pytest.mark.parametrize("times", [(-(2**63) + 1, 2**63 - 1), (2**63 - 1, -(2**63) + 1)])
def test_times_so_far_apart_that_their_difference_wraps_around_do_not_match(times: tuple[int, int]) -> None:
    with make(2) as join:
        assert join._rows is not None
        for push, time in zip((join.push_left, join.push_right), times, strict=True):
            push({"ts": time, "x": 1, "name": ""})
        join.push_left({"ts": 2**63 - 1, "x": 1, "name": "near"})
        assert join.read()["name_l"].to_pylist() == (["near"] if times[1] > 0 else [])
