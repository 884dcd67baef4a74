"""Which joins may continue a checkpoint, and what the others are told."""

import json
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from streamjoin import Grid, Keyed, Scale, StreamJoinError, between, last, tumbling, within
from streamjoin.flow import checkpoint
from streamjoin.flow.checkpoint import CheckpointKey, Named
from streamjoin.layout import Layout
from streamjoin.plan import Plan
from streamjoin.plan.describe import describe_plan
from streamjoin.plan.reduction import Aggregate, Aggregates, Pick, Reduction, Taken
from streamjoin.predicate import Predicate, Schema, parse
from streamjoin.predicate.conjunct import Band, Conjunct
from streamjoin.spec.window import Between, Window
from tests.blocks import arrow_schema

LEFT, RIGHT = Schema({"ts": "timestamp", "x": "int"}), Schema({"ts": "timestamp", "x": "int"})
ON = "abs(l.x - r.x) <= 5 AND l.x > 0"
WINDOW, GRID = within("15 seconds"), Grid(1, 2)
DIGEST = "d93cb265ed5124d602ef637e10cce6d3"


def key_of(
    on: str = ON,
    window: Window = WINDOW,
    how: Any = "inner",
    layout: Layout = GRID,
    partitions: int = 2,
    time: str = "ts",
    columns: tuple[tuple[str, str], ...] = (("ts", "timestamp"), ("x", "int")),
    left: Schema = LEFT,
    **options: Any,
) -> CheckpointKey:
    plan = Plan(parse(on, left, RIGHT), window, arrow_schema(left), arrow_schema(RIGHT), how, **options)
    return CheckpointKey.of(plan, layout, partitions, {"l": Named(time, columns), "r": Named("ts", columns)})


STORED = key_of().to_json()
CHANGES: dict[str, tuple[dict[str, Any], list[str], list[str]]] = {
    "bound": (
        {"on": "abs(l.x - r.x) <= 6 AND l.x > 0"},
        [f"on            {ON}", "conjuncts     band -5 <= l.x - r.x <= 5"],
        ["on            abs(l.x - r.x) <= 6 AND l.x > 0", "conjuncts     band -6 <= l.x - r.x <= 6"],
    ),
    "window": (
        {"window": within("16 seconds")},
        ["window        between('-15 seconds', '15 seconds')"],
        ["window        between('-16 seconds', '16 seconds')"],
    ),
    "end of the window": (
        {"window": within("15 seconds", closed="left")},
        ["window        between('-15 seconds', '15 seconds')"],
        ["window        between('-15 seconds', '15 seconds', closed='left')"],
    ),
    "type": ({"how": "left"}, ["how           inner"], ["how           left"]),
    "layout": ({"layout": Grid(2, 1)}, ["layout        Grid(1, 2)"], ["layout        Grid(2, 1)"]),
    "partitions": ({"partitions": 3}, ["partitions    2"], ["partitions    3"]),
    "time": ({"time": "at"}, ["left time     ts"], ["left time     at"]),
    "columns": (
        {"columns": (("at", "timestamp"), ("x", "int"))},
        ["left columns  ts timestamp, x int", "right columns ts timestamp, x int"],
        ["left columns  at timestamp, x int", "right columns at timestamp, x int"],
    ),
    "type of a key": (
        {"left": Schema({"ts": "timestamp", "x": "bigint"})},
        ["left keys     l.x int, l.x > 0 boolean", "right keys    r.x int"],
        ["left keys     l.x bigint, l.x > 0 boolean", "right keys    CAST(r.x AS BIGINT) bigint"],
    ),
}


def refuse(stored: str, key: CheckpointKey) -> str:
    with pytest.raises(StreamJoinError) as refused:
        key.check(stored)
    return str(refused.value)


@pytest.mark.parametrize("change", CHANGES)
def test_another_join_is_refused_with_the_lines_that_differ(change: str) -> None:
    arguments, before, after = CHANGES[change]
    first, *told = refuse(STORED, key_of(**arguments)).split("\n")
    assert first.startswith("This checkpoint was written by another join. ")
    assert told == ["--- the checkpoint's join", *before, "--- this join", *after]


COUNT, MOST = Aggregate("count", (), pa.int64()), Aggregate("max", (Taken("r", 1),), pa.int32())


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        (Pick("backward"), Pick("nearest"), 'reduction ["pick","nearest",true]'),
        (Pick("backward"), Pick("backward", exact=False), 'reduction ["pick","backward",false]'),
        (Aggregates(1, (COUNT,)), Aggregates(1, (COUNT, MOST)), '["max","int32",false,["r",1]]'),
        (Aggregates(1, (COUNT,)), Pick("backward"), 'reduction ["pick","backward",true]'),
    ],
)
def test_another_reduction_is_refused(was: Reduction, now: Reduction, said: str) -> None:
    stored = key_of(how="left", reduction=was).to_json()
    assert said in refuse(stored, key_of(how="left", reduction=now))
    key_of(how="left", reduction=was).check(stored)


@pytest.mark.parametrize(
    ("changed", "hint"),
    [
        ({"layout": Grid(2, 2)}, "set spark.sql.shuffle.partitions to 2 and take layout=Grid(1, 2)."),
        ({"layout": Scale(5), "partitions": 5}, "to 2 and take layout=Grid(1, 2), or auto if it was that."),
        ({"layout": Grid(2, 2), "how": "left"}, "Start with a new checkpoint, or with the old join."),
    ],
)
def test_where_only_the_layout_differs_it_says_what_to_set(changed: dict[str, Any], hint: str) -> None:
    assert refuse(STORED, key_of(**changed)).partition("\n")[0].endswith(hint)


@pytest.mark.parametrize(
    "same",
    [
        {"on": " abs( l.x-r.x )<=5   and (L.x > 0)"},
        {"kernel": "nested"},
        {"block_rows": 5},
    ],
    ids=str,
)
def test_what_state_does_not_depend_on_is_not_asked(same: dict[str, Any]) -> None:
    key_of(**same).check(STORED)


def test_no_wording_refuses_a_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    for worded in (Predicate, Grid, Between, Conjunct, Band):
        monkeypatch.setattr(worded, "__str__", lambda _: "in other words")
    reworded = key_of()
    assert str(reworded) != str(CheckpointKey(**{k: json.loads(STORED)[k] for k in ("parts", "shown")}))
    reworded.check(STORED)


def test_what_differs_but_is_not_shown_is_shown_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Grid, "__str__", lambda _: "a grid")
    stored = key_of().to_json()
    message = refuse(stored, key_of(layout=Grid(2, 1)))
    assert 'layout ["Grid",{"m":1,"n":2}]' in message
    assert 'layout ["Grid",{"m":2,"n":1}]' in message


@pytest.mark.parametrize(
    ("stored", "told"),
    [
        ("on      abs(l.x - r.x) <= 5\nhow     inner", "an earlier release of streamjoin, in format 0"),
        (json.dumps({"format": 2}), "a later release of streamjoin, in format 2"),
    ],
)
def test_another_format_is_refused_in_one_sentence(stored: str, told: str) -> None:
    message = refuse(stored, key_of())
    assert told in message
    assert message.count(". ") == message.count("\n") == 0


def test_another_routing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "ROUTING", 99)
    assert "routing       99" in refuse(STORED, key_of())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"layout": Keyed(4, 1)}, {"layout": Keyed(4, 2)}),
        ({"window": tumbling("1 minute")}, {"window": tumbling("1 minute", offset="1 second")}),
        ({"window": last(3)}, {"window": last(left=3, right=4)}),
        ({"window": last(3) & within("1s")}, {"window": last(3) & within("2s")}),
        ({"window": within("1s")}, {"window": between("-1s", "999999 microseconds")}),
        ({"on": "l.x = r.x"}, {"on": "l.x <=> r.x"}),
        ({"on": "l.x < r.x"}, {"on": "l.x <= r.x"}),
        ({"on": "l.x * r.x > 1"}, {"on": "l.x * r.x > 2"}),
        ({"on": "l.x + r.x > 1.0"}, {"on": "l.x + r.x > 1.00D"}),
    ],
)
def test_keys_differ_where_meanings_do(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert key_of(**one).digest != key_of(**other).digest


def test_a_key_is_the_same_in_every_process() -> None:
    """Format 1 as it was first written: what refuses it refuses the checkpoints of users."""
    assert key_of().digest == DIGEST
    assert json.loads(STORED)["parts"] == json.loads(json.dumps(key_of().parts))


def test_a_plan_is_described_by_what_it_means() -> None:
    plan = Plan(parse("l.x = r.x", LEFT, RIGHT), within("1s"), arrow_schema(LEFT), arrow_schema(RIGHT))
    described = describe_plan(plan)
    assert described["on"] == ["call", "boolean", "=", ["column", "int", "l", "x"], ["column", "int", "r", "x"]]
    assert described["window"] == ["between", -1_000_000, 1_000_000, "both"]
    assert described["left payload"] == ["int64", "int32"]
    assert describe_plan(replace(plan, how="full")) == described | {"how": "full"}


@pytest.mark.parametrize(
    ("columns", "hint"),
    [
        (
            (("ts", "timestamp"), ("x", "int"), ("y", "int")),
            'New on the left side: y int. If that is new in the input, join left.select("ts", "x"), or name',
        ),
        ((("ts", "timestamp"),), "The left columns were ts timestamp, x int."),
        ((("ts", "timestamp"), ("x", "bigint")), "The left columns were ts timestamp, x int."),
    ],
)
def test_columns_that_differ_are_named(columns: tuple[tuple[str, str], ...], hint: str) -> None:
    first = refuse(STORED, key_of(columns=columns)).partition("\n")[0]
    assert hint in first
    assert first.endswith("Else start with a new checkpoint, or with the old join.")
