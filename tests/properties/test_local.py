"""LocalJoin yields what the reference says, push by push: every system, window and `how` that it serves."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DataObject, DrawFn

from streamjoin import Cell, Grid, Handshake, Keyed, LocalJoin, Scale, between, reference, within
from streamjoin.layout import Layout
from streamjoin.local.intake import hash_rows
from streamjoin.predicate import Schema, parse
from streamjoin.reference import Batch, Joined, Row
from streamjoin.spec.how import HOWS, How, sides_of
from tests.blocks import arrow_schema
from tests.properties.test_worker import CONDITIONS
from tests.strategies import ANY_WINDOW, HISTORIES, History, multiset, us

LEFT = Schema({"ts": "timestamp", "x": "int", "y": "double"})
RIGHT = Schema({"ts": "timestamp", "a": "int", "b": "double"})
SCHEMAS = arrow_schema(LEFT), arrow_schema(RIGHT)
SIDES = ("l", "r")
SERVED: dict[str, tuple[tuple[Layout, ...], tuple[How, ...]]] = {
    "Grid, linear": ((Grid(1, 1), Grid(1, 3), Grid(3, 1)), tuple(how for how in HOWS if how != "left_semi")),
    "Grid, for semi joins": ((Grid(1, 1), Grid(3, 1)), ("left_semi",)),
    "Grid, rectangular": ((Grid(2, 2), Grid(2, 3)), tuple(how for how in HOWS if how != "left_semi")),
    "Keyed": ((Keyed(1), Keyed(3)), HOWS),
    "Scale": ((Scale(1), Scale(3)), ("inner",)),
    "Cell": ((Cell(1), Cell(3)), ("inner",)),
    "Handshake": ((Handshake(1), Handshake(2), Handshake(4)), ("inner",)),
}
TIMED = [within(us(3)), within(left=us(4), right=us(0)), between(us(-5), us(-1)), within(us(2), closed="left")]
SPECIAL = "l.y BETWEEN r.b - 0.5 AND r.b + 0.5"
"""What Spark takes for true of two NaN, and of two infinities alike."""

PREDICATES = {on: parse(on, LEFT, RIGHT) for on in [*CONDITIONS, SPECIAL]}


@st.composite
def pushes(draw: DrawFn, history: History) -> list[tuple[str, list[Row]]]:
    """A history as a sequence of pushes: single rows and blocks, sides in any order."""
    rest = {"l": draw(st.permutations(history.left)), "r": draw(st.permutations(history.right))}
    sequence = []
    while rest["l"] or rest["r"]:
        side = draw(st.sampled_from([side for side in SIDES if rest[side]]))
        size = draw(st.sampled_from([1, 1, 2, 5]))
        sequence.append((side, list(rest[side][:size])))
        rest[side] = rest[side][size:]
    return sequence


PUSHES = HISTORIES.flatmap(pushes)


def to_batches(sequence: Sequence[tuple[str, list[Row]]], delays: tuple[int, int]) -> list[Batch]:
    """The micro-batches that a sequence of pushes is, each under the watermark that the pushes before it led to."""
    latest: dict[str, int | None] = dict.fromkeys(SIDES)
    watermark, batches = None, []
    for side, rows in sequence:
        batches.append(Batch(rows if side == "l" else (), rows if side == "r" else (), watermark))
        times = [row["ts"] for row in rows if row["ts"] is not None]
        latest[side] = max([*times, *([] if latest[side] is None else [latest[side]])], default=None)
        if None not in latest.values():
            reached = min(latest[side] - delay for side, delay in zip(SIDES, delays, strict=True))  # type: ignore[operator]
            watermark = reached if watermark is None else max(watermark, reached)
    return batches


def push(join: LocalJoin, side: str, rows: list[Row], *, single: bool) -> None:
    verb = join.push_left if side == "l" else join.push_right
    schema = SCHEMAS[SIDES.index(side)]
    if len(rows) == 1 and single:
        verb(rows[0])
    else:
        verb(pa.Table.from_pylist([dict(row) for row in rows], schema))


def to_joined(how: How, results: pa.Table) -> list[Joined]:
    wide = len(sides_of(how)) == 2
    joined = []
    for row in results.to_pylist():
        left = {"ts": row["ts_l" if wide else "ts"], "x": row["x"], "y": row["y"]}
        right = {"ts": row["ts_r"], "a": row["a"], "b": row["b"]} if wide else None
        absent = (None if side is None or side["ts"] is None else side for side in (left, right))
        joined.append(Joined(*absent, row["join_time"]))
    return joined


@st.composite
def joins(draw: DrawFn, layouts: Sequence[Layout], how: How, windows: Any = ANY_WINDOW) -> dict[str, Any]:
    """The arguments of a join."""
    layout = draw(st.sampled_from(layouts))
    keyed = [on for on in CONDITIONS if " = " in on or "abs" in on or "<=>" in on]
    keyed = [on for on in keyed if " OR " not in on and "<>" not in on]
    return {
        "on": draw(st.sampled_from(keyed if isinstance(layout, Keyed) else CONDITIONS)),
        "window": draw(windows),
        "how": how,
        "layout": layout,
        "delay": (us(draw(st.integers(0, 8))), us(draw(st.integers(0, 8)))),
        "ordered": not isinstance(layout, Handshake) and draw(st.sampled_from([False, False, True])),
        "workers": draw(st.sampled_from([1, 2, 6])),
        "left": SCHEMAS[0],
        "right": SCHEMAS[1],
        "time": "ts",
    }


def expect(arguments: dict[str, Any], batches: Iterable[Batch], *, ended: bool) -> reference.Result:
    on, ordered = PREDICATES[arguments["on"]], sorts(arguments)
    window, how = arguments["window"], arguments["how"]
    return reference.join(batches, on, window, how, tie=tie, ordered=ordered, ended=ended)


def tie(side: str, row: Row) -> int:
    """The hash of a row as a join in this process has it."""
    schema = SCHEMAS[SIDES.index(side[0])]
    return int(hash_rows(pa.RecordBatch.from_pylist([dict(row)], schema), side[0])[0])


def sorts(arguments: dict[str, Any]) -> bool:
    """Whether results come in order: Scale's always do."""
    return arguments["ordered"] or isinstance(arguments["layout"], Scale)


def serves(arguments: dict[str, Any]) -> bool:
    """Keyed sends rows near a bucket's border twice, so that it serves bands for inner joins alone."""
    return not (isinstance(arguments["layout"], Keyed) and arguments["how"] != "inner" and "abs" in arguments["on"])


def by_time(joined: Joined) -> tuple[Any, ...]:
    """What order goes by before ties."""
    return joined.join_time, *(None if side is None else side["ts"] for side in (joined.left, joined.right))


def check(
    arguments: dict[str, Any],
    sequence: list[tuple[str, list[Row]]],
    directory: Path | None = None,
    *,
    single: bool = False,
) -> None:
    delays = tuple(int(d.total_seconds() * 1e6 + 0.5) for d in arguments["delay"])
    batches = to_batches(sequence, delays)  # type: ignore[arg-type]
    join, found = LocalJoin(**arguments), []
    try:
        for k, (side, rows) in enumerate(sequence, 1):
            push(join, side, rows, single=single or k % 2 == 0)
            if directory is not None and k % 3 == 0:
                join.save(directory)
                join.close()
                join = LocalJoin.restore(directory)
            if directory is None or k % 2:
                found += to_joined(arguments["how"], join.read())
                before, allowed = multiset(found), multiset(expect(arguments, batches[:k], ended=False).rows)
                late = isinstance(arguments["layout"], Handshake)  # it finds pairs when their rows meet
                assert before <= allowed if late else before == allowed, f"after push {k}"
        join.flush()
        found += to_joined(arguments["how"], join.read())
        expected = expect(arguments, batches, ended=True)
        if sorts(arguments):
            assert list(map(by_time, found)) == list(map(by_time, expected.rows))
        assert multiset(found) == multiset(expected.rows), "in the end"
        stats = join.stats()
        if "l.x > 0" not in arguments["on"]:  # rows that their own side's condition excludes are not counted
            assert (stats.late_left, stats.late_right) == (expected.late_left, expected.late_right)
        assert stats.invalid_left + stats.invalid_right == expected.invalid
        assert (stats.results, stats.live_left, stats.live_right) == (len(found), 0, 0)
    finally:
        join.close()


@pytest.mark.parametrize(("system", "how"), [(name, how) for name, (_, hows) in SERVED.items() for how in hows])
@settings(max_examples=8, suppress_health_check=[HealthCheck.filter_too_much])
@given(data=st.data())
def test_every_system_and_how(system: str, how: How, data: DataObject) -> None:
    arguments = data.draw(joins(SERVED[system][0], how).filter(serves))
    check(arguments, data.draw(PUSHES))


NUMBERS = [
    {"x": x, "y": y} for x in (0, 1, 2) for y in (0.0, -0.0, 0.5, 1.0, 1e300, *map(float, ("nan", "inf", "-inf")))
]
BANDS = [SPECIAL, *(on for on in CONDITIONS if "abs" in on or on == "l.x = r.a")]


@st.composite
def plain_pushes(draw: DrawFn) -> list[tuple[str, list[Row]]]:
    """Rows of plain numbers, most of them pushed singly."""
    pushed = []
    for side, row, t in draw(st.lists(st.tuples(st.sampled_from(SIDES), st.sampled_from(NUMBERS), st.integers(-6, 6)))):
        names = ("x", "y") if side == "l" else ("a", "b")
        rows = [{"ts": t, **dict(zip(names, row.values(), strict=True))}]
        pushed.append((side, rows * draw(st.sampled_from([1, 1, 1, 3]))))
    return pushed


@settings(max_examples=30)
@given(data=st.data())
def test_single_rows_of_plain_numbers_take_the_lean_way(data: DataObject) -> None:
    arguments = data.draw(joins((Grid(1, 1), Grid(1, 2), Grid(3, 2)), "inner", st.sampled_from(TIMED)))
    arguments |= {"on": data.draw(st.sampled_from(BANDS)), "ordered": False}
    with LocalJoin(**arguments) as join:
        assert join._rows is not None
    check(arguments, data.draw(plain_pushes()), single=True)


FARTHEST = [-(2**63), -(2**63) + 1, -(2**62), -(2**61), 0, 1, 2**61, 2**62, 2**63 - 2, 2**63 - 1]


@settings(max_examples=40)
@given(data=st.data())
def test_times_as_far_apart_as_64_bits_go(data: DataObject) -> None:
    """Their differences do not fit into 64 bits: what wraps around is no match."""
    arguments = data.draw(joins((Grid(1, 1), Grid(1, 2)), "inner", st.sampled_from(TIMED)))
    arguments |= {"on": data.draw(st.sampled_from(BANDS)), "ordered": False}
    times = iter(data.draw(st.lists(st.sampled_from(FARTHEST), min_size=100, max_size=100)))
    sequence = [(side, [row | {"ts": next(times)} for row in rows]) for side, rows in data.draw(plain_pushes())[:30]]
    check(arguments, sequence, single=data.draw(st.booleans()))


@settings(max_examples=30)
@given(data=st.data())
def test_rows_far_ahead_change_no_result(data: DataObject) -> None:
    """Left rows of the far future stay in a small ring, which forgets expired rows behind them."""
    arguments = data.draw(joins((Grid(1, 1), Grid(2, 1)), "inner", st.sampled_from(TIMED)))
    arguments |= {"on": data.draw(st.sampled_from(BANDS)), "ordered": False}
    draw = Random(data.draw(st.integers(0, 2**32)))
    sequence = []
    for now in range(60):
        side = draw.choice(SIDES)
        far = side == "l" and draw.random() < 0.1
        names = ("x", "y") if side == "l" else ("a", "b")
        row = {"ts": now + (1000 if far else -draw.randint(0, 8))}
        row |= dict(zip(names, draw.choice([*NUMBERS, {"x": None, "y": None}]).values(), strict=True))
        sequence.append((side, [row] * draw.choice([1, 1, 3])))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("streamjoin.local.ring.SMALLEST", 4)
        check(arguments, sequence, single=True)


@settings(max_examples=12)
@given(data=st.data())
def test_saved_and_restored_it_goes_on_exactly(tmp_path_factory: Any, data: DataObject) -> None:
    layouts, hows = data.draw(st.sampled_from(list(SERVED.values())))
    arguments = data.draw(joins(layouts, data.draw(st.sampled_from(hows))).filter(serves))
    check(arguments, data.draw(PUSHES), tmp_path_factory.mktemp("saved"))
