"""`LocalJoin.asof` and `LocalJoin.aggregate` yield what the law says, push by push.

Hypothesis chooses rows, windows, conditions, cuts into pushes, layouts, threads and restarts.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from streamjoin import Grid, Keyed, LocalJoin
from streamjoin.layout import Layout
from streamjoin.local.step import Step
from streamjoin.plan.asof import find_window, read_pick
from streamjoin.reference import Batch, Row
from streamjoin.reference_reduce import Met, fold, meet, pick
from streamjoin.worker.expiry import ENDED
from tests.properties.test_local import PREDICATES, PUSHES, SCHEMAS, tie, to_batches
from tests.properties.test_worker import CONDITIONS
from tests.strategies import WINDOWS, us

GRIDS: tuple[Layout, ...] = (Grid(1, 1), Grid(2, 1), Grid(3, 1))
Expect = Callable[[Sequence[Batch], bool], Counter[str]]
Pushes = list[tuple[str, list[Row]]]


@st.composite
def runs(draw: DrawFn, layouts: Sequence[Layout]) -> dict[str, Any]:
    """What both reductions are asked."""
    return {
        "left": SCHEMAS[0],
        "right": SCHEMAS[1],
        "time": "ts",
        "delay": (us(draw(st.integers(0, 8))), us(draw(st.integers(0, 8)))),
        "how": draw(st.sampled_from(["left", "inner"])),
        "layout": draw(st.sampled_from(layouts)),
        "workers": draw(st.sampled_from([1, 2, 3])),
    }


def check(join: LocalJoin, delay: tuple[Any, Any], sequence: Pushes, expect: Expect, directory: Path | None) -> None:
    """Push by push what the watermark decides, in the end everything; with a directory it is saved on the way."""
    found = Counter[str]()
    batches = to_batches(sequence, to_microseconds(delay))
    try:
        for k, (side, rows) in enumerate(sequence, 1):
            push(join, side, rows, single=k % 2 == 0)
            if directory is not None and k % 3 == 0:
                join.save(directory)
                join.close()
                join = LocalJoin.restore(directory)
            if directory is None or k % 2:
                found += to_values(join.read())
                assert found == expect(batches[:k], False), f"after push {k}"
        join.flush()
        found += to_values(join.read())
        assert found == expect(batches, True), "in the end"
        stats = join.stats()
        assert (stats.results, stats.live_left, stats.live_right) == (found.total(), 0, 0)
    finally:
        join.close()


def check_together(join: LocalJoin, delay: tuple[Any, Any], sequence: Pushes, expect: Expect, most: int) -> None:
    """Several pushes in one step, as they are joined when they queue up."""
    batches = to_batches(sequence, to_microseconds(delay))
    with join:
        steps = [
            join._admit(side, join._intakes[side].read(to_table(join, side, rows)), 0.0)  # type: ignore[arg-type]
            for side, rows in sequence
        ]
        found = [join._join(steps[at : at + most]) for at in range(0, len(steps), most)]
        found.append(join._join([Step(None, None, ENDED, 0.0)]))
        results = pa.Table.from_batches([batch for each in found for batch in each], join.schema)
        assert to_values(results) == expect(batches, True)


def push(join: LocalJoin, side: str, rows: list[Row], *, single: bool) -> None:
    verb = join.push_left if side == "l" else join.push_right
    table = to_table(join, side, rows)
    verb(rename(table.schema, rows[0]) if single and len(rows) == 1 else table)


def to_table(join: LocalJoin, side: str, rows: list[Row]) -> pa.Table:
    schema = join._asked.schemas[side]  # type: ignore[index]
    return pa.Table.from_pylist([rename(schema, row) for row in rows], schema)


def rename(schema: pa.Schema, row: Row) -> dict[str, Any]:
    return dict(zip(schema.names, row.values(), strict=True))


def to_microseconds(delay: tuple[Any, Any]) -> tuple[int, int]:
    left, right = (round(wait.total_seconds() * 1e6) for wait in delay)
    return left, right


def to_values(results: pa.Table) -> Counter[str]:
    return Counter(repr(row) for row in zip(*(column.to_pylist() for column in results.columns), strict=True))


def tie_right(row: Row) -> int:
    return tie("right", row)


# As-of joins


@st.composite
def asofs(draw: DrawFn) -> dict[str, Any]:
    by = draw(st.sampled_from([None, None, "x", ["x"]]))
    further = draw(st.sampled_from([None, *CONDITIONS])) if by is None else None
    keyed = by or further in ("l.x = r.a", "l.x = r.a AND l.y >= r.b")
    return {
        **draw(runs((*GRIDS, Keyed(2)) if keyed else GRIDS)),
        "right": SCHEMAS[1] if by is None else SCHEMAS[1].set(1, pa.field("x", pa.int32())),
        "by": by,
        "tolerance": us(draw(st.integers(0, 5))),
        "direction": draw(st.sampled_from(["backward", "forward", "nearest"])),
        "allow_exact_matches": draw(st.booleans()),
        "on": further,
    }


def expect_asof(arguments: dict[str, Any]) -> Expect:
    chosen = read_pick(arguments["direction"], arguments["allow_exact_matches"])
    by = arguments["by"]
    on = PREDICATES[arguments["on"] or ("l.x = r.a" if by else "true")]

    def expect(batches: Sequence[Batch], ended: bool) -> Counter[str]:
        found = Counter[str]()
        for met in meet(batches, on, find_window(arguments["tolerance"], chosen), tie=tie_right, ended=ended):
            row = pick(met, chosen.direction, exact=chosen.exact)
            if row is not None or arguments["how"] == "left":
                t, a, b = row.values() if row else (None, None, None)
                found[repr((*met.left.values(), t, *(() if by else (a,)), b, met.join_time))] += 1
        return found

    return expect


@settings(max_examples=60)
@given(arguments=asofs(), sequence=PUSHES, saves=st.booleans())
def test_asof_picks_what_the_law_says(
    tmp_path_factory: pytest.TempPathFactory, arguments: dict[str, Any], sequence: Pushes, saves: bool
) -> None:
    directory = tmp_path_factory.mktemp("saved") if saves else None
    check(LocalJoin.asof(**arguments), arguments["delay"], sequence, expect_asof(arguments), directory)


@settings(max_examples=20)
@given(arguments=asofs(), sequence=PUSHES, most=st.integers(2, 9))
def test_pushes_that_are_joined_together_give_the_same(arguments: dict[str, Any], sequence: Pushes, most: int) -> None:
    check_together(LocalJoin.asof(**arguments), arguments["delay"], sequence, expect_asof(arguments), most)


# Aggregates


def folded(
    op: str, value: Callable[[Row, Row], Any], by: Callable[[Row, Row], Any] | None = None
) -> Callable[[Met], Any]:
    """An aggregate of a value of each pair."""
    return lambda met: fold(op, *([of(met.left, r) for r in met.right] for of in (value, by) if of is not None))


def if_known(compute: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *values: None if None in values else compute(*values)


def difference(l: Row, r: Row) -> Any:
    return if_known(lambda x, a: a - x)(l["x"], r["a"])


A, B, T, X = (lambda l, r: r["a"]), (lambda l, r: r["b"]), (lambda l, r: r["ts"]), (lambda l, r: l["x"])
FLOATING = ("avg", "var_pop", "stddev_samp")
ITEMS: dict[str, Callable[[Met], Any]] = {
    "l.x": lambda met: met.left["x"],
    "l.y": lambda met: met.left["y"],
    "count(*)": lambda met: len(met.right),
    "count(r.a)": folded("count", A),
    "count_if(r.a > 0)": lambda met: sum(r["a"] is not None and r["a"] > 0 for r in met.right),
    "sum(r.a)": folded("sum", A),
    "sum(r.b)": folded("sum", B),
    "sum(l.x)": folded("sum", X),
    "sum(r.a * 2)": folded("sum", lambda l, r: if_known(lambda a: 2 * a)(r["a"])),
    "sum(r.a - l.x)": folded("sum", difference),
    "min(r.a - l.x)": folded("min", difference),
    **{f"{op}(r.{name})": folded(op, of) for op in FLOATING for name, of in (("a", A), ("b", B))},
    **{
        f"{op}(r.{name})": folded(op, of)
        for op in ("min", "max", "first", "last")
        for name, of in (("ts", T), ("a", A), ("b", B))
    },
    "min_by(r.a, r.b)": folded("min_by", A, B),
    "max_by(r.ts, r.a)": folded("max_by", T, A),
    "first(r.a) IGNORE NULLS": lambda met: fold("first", [r["a"] for r in met.right if r["a"] is not None]),
    "bool_or(r.a > l.x)": folded("max", lambda l, r: if_known(lambda d: d > 0)(difference(l, r))),
    "avg(r.a) + 1": lambda met: if_known(lambda mean: mean + 1)(folded("avg", A)(met)),
    "sum(r.a) - l.x * count(*)": lambda met: if_known(lambda total, x: total - x * len(met.right))(
        folded("sum", A)(met), met.left["x"]
    ),
    "CASE WHEN count(r.a) > 1 THEN 'many' ELSE 'few' END": lambda met: "many" if folded("count", A)(met) > 1 else "few",
}
TIME_WINDOWS = st.one_of([windows for name, windows in WINDOWS.items() if "last" not in name])


@st.composite
def aggregates(draw: DrawFn) -> dict[str, Any]:
    on = draw(st.sampled_from(CONDITIONS))
    keyed = on in ("l.x = r.a", "l.x = r.a AND l.y >= r.b")
    some = st.lists(st.sampled_from(list(ITEMS)), min_size=1, max_size=5, unique=True)
    return {
        **draw(runs((*GRIDS, Keyed(2)) if keyed else GRIDS)),
        "on": on,
        "window": draw(TIME_WINDOWS),
        "select": draw((some | st.just(list(ITEMS))).filter(lambda items: any("(" in item for item in items))),
    }


def expect_aggregate(arguments: dict[str, Any]) -> Expect:
    def expect(batches: Sequence[Batch], ended: bool) -> Counter[str]:
        found = Counter[str]()
        for met in meet(batches, PREDICATES[arguments["on"]], arguments["window"], tie=tie_right, ended=ended):
            if met.right or arguments["how"] == "left":
                found[repr((*(ITEMS[item](met) for item in arguments["select"]), met.join_time))] += 1
        return found

    return expect


@settings(max_examples=60)
@given(arguments=aggregates(), sequence=PUSHES, saves=st.booleans())
def test_aggregates_are_what_the_law_says(
    tmp_path_factory: pytest.TempPathFactory, arguments: dict[str, Any], sequence: Pushes, saves: bool
) -> None:
    directory = tmp_path_factory.mktemp("saved") if saves else None
    check(LocalJoin.aggregate(**arguments), arguments["delay"], sequence, expect_aggregate(arguments), directory)


@settings(max_examples=20)
@given(arguments=aggregates(), sequence=PUSHES, most=st.integers(2, 9))
def test_aggregates_of_pushes_that_are_joined_together(arguments: dict[str, Any], sequence: Pushes, most: int) -> None:
    check_together(LocalJoin.aggregate(**arguments), arguments["delay"], sequence, expect_aggregate(arguments), most)
