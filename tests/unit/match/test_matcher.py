"""The matcher finds exactly the pairs that satisfy condition and window: every kernel, either side probing."""

import math
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamjoin import between, tumbling, within
from streamjoin.kernel.costs import KERNELS
from streamjoin.match import Matcher
from streamjoin.match.choose import choose
from streamjoin.match.index import choose_widths
from streamjoin.operators.arithmetic import EvaluationError
from streamjoin.operators.evaluate import evaluate
from streamjoin.pane import KeyColumn, Rows, Segment
from streamjoin.predicate import Predicate, Schema, parse
from streamjoin.reference import Batch, join
from streamjoin.spec.side import Side

NUMBERS = st.integers(-20, 20)
FLOATS = NUMBERS.map(lambda v: v / 2) | st.sampled_from([math.nan, math.inf, -math.inf, -0.0, 2.0**-149])
VALUES = {
    "i": ("int", np.int32, NUMBERS | st.sampled_from([2**31 - 1, -(2**31)])),
    "b": ("bigint", np.int64, NUMBERS | st.sampled_from([2**63 - 1, -(2**63), 2**53 + 1])),
    "f": ("float", np.float32, FLOATS | st.just((2 - 2**-23) * 2.0**127)),
    "d": ("double", np.float64, FLOATS | st.sampled_from([1.7976931348623157e308, 5e-324, 0.1])),
    "k": ("int", np.int32, st.integers(1, 3)),
    "s": ("string", None, st.sampled_from(["", "a", "A", "b"])),
}
SCHEMA = Schema({"ts": "timestamp", **{name: type for name, (type, _, _) in VALUES.items()}})
ROWS = st.lists(
    st.fixed_dictionaries(
        {"ts": st.integers(-10, 10), **{name: st.none() | values for name, (_, _, values) in VALUES.items()}}
    ),
    max_size=25,
)
CONDITIONS = [
    "abs(l.i - r.i) <= 10",
    "l.i BETWEEN r.i - 5 AND r.i + 8 AND l.f BETWEEN r.f - 10 AND r.f + 10",
    "l.b < r.b",
    "l.i < r.i AND l.b > r.b",
    "l.d <= r.d + 10",
    "l.d - r.d >= 5",
    "l.d + r.d < 5",
    "abs(l.d - r.f) < 3",
    "l.i - 3 <= r.d",
    "l.f BETWEEN r.d - 1e300 AND r.d + 1e300",
    "l.d - r.d = 0.1",
    "l.k = r.k AND abs(l.i - r.i) <= 3",
    "l.k = r.k AND l.s = r.s AND l.d <=> r.d",
    "l.s <=> r.s AND l.k <=> r.k",
    "l.f = r.f",
    "l.k > 1 AND l.i <= r.i",
    "l.d * r.k > 10",
    "true",
]
US = timedelta(microseconds=1)
WINDOWS = [within(5 * US), between(-4 * US, -US), tumbling(6 * US), within(3 * US, closed="left")]


def rows_of(predicate: Predicate, side: Side, rows: Sequence[dict[str, Any]]) -> Rows:
    """Rows with their key columns computed; the hash of a string collides often."""

    def column(key: Any) -> KeyColumn:
        values = [evaluate(key, *((row, {}) if side == "l" else ({}, row))) for row in rows]
        valid = np.array([value is not None for value in values], np.bool_)
        mask = None if valid.all() else valid
        if key.type.name == "string":
            return KeyColumn(np.array([len(v or "") for v in values], np.int64), mask, pa.array(values, pa.string()))
        dtype = np.bool_ if key.type.name == "boolean" else next(d for t, d, _ in VALUES.values() if t == key.type.name)
        return KeyColumn(np.array([0 if v is None else v for v in values], dtype), mask)

    time = np.array([row["ts"] for row in rows], np.int64)
    payload = pa.record_batch([pa.array(range(len(rows)), pa.int64())], ["id"])
    return Rows(time, tuple(column(key) for key in predicate.keys(side)), payload)


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("kernel", ["auto", *KERNELS])
@given(lefts=ROWS, rights=ROWS, window=st.sampled_from(WINDOWS), room=st.sampled_from([1, 3, 1000]))
@settings(max_examples=12)
def test_every_kernel_finds_what_the_reference_finds(
    condition: str, kernel: str, lefts: Any, rights: Any, window: Any, room: int
) -> None:
    predicate = parse(condition, SCHEMA, SCHEMA)
    numbered = [
        [{"#": i, **{name: row[name] for name in SCHEMA.names}} for i, row in enumerate(rows)]
        for rows in (lefts, rights)
    ]
    try:
        wanted = join([Batch(*numbered)], predicate, window).rows
    except EvaluationError:
        return
    matcher = Matcher(predicate, window, kernel=kernel)
    blocks = {"l": rows_of(predicate, "l", lefts), "r": rows_of(predicate, "r", rights)}
    for probe, build in (("l", "r"), ("r", "l")):
        segment = matcher.prepare(build, Segment("s", blocks[build]))
        found = [
            (int(p), int(b)) if probe == "l" else (int(b), int(p))
            for pairs in matcher.pairs(probe, blocks[probe], segment, chunk=room)
            for p, b in zip(pairs.probe, pairs.build, strict=True)
        ]
        assert sorted(found) == sorted((j.left["#"], j.right["#"]) for j in wanted)


@pytest.mark.parametrize(
    ("condition", "kernel"), [("true", "auto"), ("l.i = r.i", "buckets"), ("l.i * r.i > 0", "compiled")]
)
def test_ranks_narrow_a_count_window(condition: str, kernel: str) -> None:
    predicate = parse(condition, SCHEMA, SCHEMA)
    row = dict.fromkeys(VALUES) | {"ts": 0, "i": 1}
    rows = rows_of(predicate, "r", [row] * 4)
    ranked = Segment("s", Rows(rows.time, rows.keys, rows.payload, np.array([7, 8, 9, 10])))
    matcher = Matcher(predicate, within(5 * US), kernel=kernel)
    probe = rows_of(predicate, "l", [row] * 2)
    ranks = np.array([8, 11]), np.array([9, 10])
    (pairs,) = matcher.pairs("l", probe, matcher.prepare("r", ranked), ranks)
    assert list(zip(pairs.probe, pairs.build, strict=True)) == [(0, 1), (0, 2)]


@pytest.mark.parametrize(
    ("condition", "kernel"),
    [
        ("abs(l.i - r.i) <= 10 AND abs(l.d - r.d) <= 10", "buckets"),
        ("l.b = r.b", "buckets"),
        ("l.b < r.b", "ordered"),
        ("l.d * r.k > 10", "compiled"),
        ("true", "ordered"),
    ],
)
def test_the_kernel_is_chosen_by_cost(condition: str, kernel: str) -> None:
    rng = np.random.default_rng(1)
    matcher = Matcher(parse(condition, SCHEMA, SCHEMA), within("1 minute"))
    columns = [rng.integers(0, 10**6, 10_000) for _ in matcher.dimensions]
    assert choose(matcher.dimensions, columns, checked=matcher.check is not None).kernel == kernel


def test_few_rows_are_not_worth_an_index() -> None:
    matcher = Matcher(parse("abs(l.i - r.i) <= 10", SCHEMA, SCHEMA), within("1 minute"))
    assert choose(matcher.dimensions, [np.arange(20) for _ in matcher.dimensions]).kernel == "nested"


@pytest.mark.parametrize("band", [0, 1])
def test_few_distinct_values_are_for_the_grid(band: int) -> None:
    """Its buckets hold what the band asks for; a range of sorted rows holds three times as much."""
    rng = np.random.default_rng(1)
    on = f"abs(l.i - r.i) <= {band} AND abs(l.b - r.b) <= {band}"
    matcher = Matcher(parse(on, SCHEMA, SCHEMA), within("1 minute"))
    columns = [rng.integers(0, 3 + 9 * band, 10_000), rng.integers(0, 3 + 9 * band, 10_000), np.zeros(10_000)]
    assert choose(matcher.dimensions, columns).kernel == "buckets"


def test_cells_stay_narrow_within_clusters() -> None:
    """Clusters lie together on both axes, which the axes by themselves do not show."""
    rng = np.random.default_rng(1)
    matcher = Matcher(parse("abs(l.i - r.i) <= 10 AND abs(l.b - r.b) <= 10", SCHEMA, SCHEMA), within("1 minute"))
    centre = rng.integers(0, 10**6, (2, 100))[:, rng.integers(0, 100, 100_000)]
    clustered = [*(centre + rng.normal(0, 100, (2, 100_000))).astype(np.int64)]
    spread = [*rng.integers(0, 10**6, (2, 100_000))]
    narrow, wide = (choose_widths((0, 1), matcher.dimensions[:2], columns) for columns in (clustered, spread))
    assert narrow[0] < 100 < wide[0]


def test_a_difference_of_zoned_times_is_left_to_spark_with_room_for_the_zone() -> None:
    predicate = parse("l.ts - r.ts < INTERVAL 1 MINUTE", SCHEMA, SCHEMA)
    matcher = Matcher(predicate, within("1 week"))
    assert [str(conjunct.exact) for conjunct in predicate.residual] == ["l.ts - r.ts < INTERVAL '1' MINUTE"]

    def block(time: int) -> Rows:
        times = np.array([time], np.int64)
        return Rows(times, (KeyColumn(times),), pa.record_batch([pa.array([0])], ["id"]))

    hour = 3_600_000_000
    segment = matcher.prepare("r", Segment("s", block(0)))
    for distance, candidates in ((hour, 1), (72 * hour, 0)):
        found = matcher.pairs("l", block(distance), segment)
        assert sum(len(pairs.probe) for pairs in found) == candidates
