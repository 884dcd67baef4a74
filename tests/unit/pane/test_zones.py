"""Zone maps are the least and greatest values, without NULL and NaN."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from streamjoin.pane import KeyColumn, Rows, Segment, no_columns
from streamjoin.pane.zones import Zone
from tests.segments import KEYS, assert_same, everything, stamped


def test_zones_leave_out_null_and_nan() -> None:
    zones = everything().zones
    low, high, nan = (dict(zip(KEYS, end, strict=True)) for end in (zones.low.keys, zones.high.keys, zones.nan))
    assert (zones.low.time, zones.high.time, zones.low.rank, zones.high.rank) == (-10, 30, 4, 7)
    assert {name: (low[name], high[name], nan[name]) for name in KEYS} == {
        "boolean": (False, True, False),
        "tinyint": (-128, 1, False),
        "smallint": (-128, 127, False),
        "int": (None, None, False),
        "bigint": (-(2**63), 2**63 - 1, False),
        "float": (0.0, math.inf, True),
        "double": (-math.inf, 2.0, False),
        "all NaN": (None, None, True),
        "string": (-7, 11, False),
        "binary": (-7, 11, False),
        "long decimal": (1, 4, False),
    }


def test_no_rows_have_no_zones() -> None:
    empty = Segment("l1", stamped([]))
    assert empty.low == empty.high == Zone(None, (None,))
    assert_same(Segment.from_bytes(empty.to_bytes(), "l1"), empty)


@given(st.lists(st.tuples(st.integers(-5, 5), st.floats(width=32) | st.none()), max_size=6))
def test_zones_are_the_least_and_greatest(rows: list[tuple[int, float | None]]) -> None:
    values = np.array([value or 0.0 for _, value in rows], np.float32)
    key = KeyColumn(values, np.array([value is not None for _, value in rows], np.bool_))
    segment = Segment("l1", Rows(np.array([t for t, _ in rows], np.int64), (key,), no_columns(len(rows))))
    known = [value for _, value in rows if value is not None and not math.isnan(value)]
    assert segment.low.time == min((t for t, _ in rows), default=None)
    assert segment.high.time == max((t for t, _ in rows), default=None)
    assert (segment.low.keys, segment.high.keys) == ((min(known, default=None),), (max(known, default=None),))
    assert segment.rows.zones.nan == (any(value is not None and math.isnan(value) for _, value in rows),)


@given(st.lists(st.integers(-5, 5), max_size=5), st.integers(0, 9))
def test_ranks_are_added_without_looking_at_the_rows(times: list[int], first: int) -> None:
    rows = stamped(times)
    ranked = rows.with_rank(first)
    assert ranked.zones == Rows(rows.time, rows.keys, rows.payload, np.arange(first, first + len(times))).zones
