"""What `LocalJoin.asof` and `LocalJoin.aggregate` take and refuse, and the types of their results."""

from datetime import UTC, datetime
from decimal import Decimal
from inspect import signature
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import streamjoin
from streamjoin import Cell, Grid, Handshake, Keyed, LocalJoin, Scale, StreamJoinError, last, within

TRADES = pa.schema([("ts", pa.timestamp("us", "UTC")), ("sym", pa.string()), ("price", pa.float64())])
QUOTES = pa.schema([("ts", pa.timestamp("us", "UTC")), ("sym", pa.string()), ("ask", pa.decimal128(10, 2))])
INPUTS: dict[str, Any] = {"left": TRADES, "right": QUOTES, "time": "ts", "delay": "0 seconds"}


def asof(**arguments: Any) -> LocalJoin:
    return LocalJoin.asof(**{**INPUTS, "tolerance": "1 minute", **arguments})


def test_asof_has_the_columns_of_both_sides_and_by_once() -> None:
    with asof(by="sym") as join:
        fields = [(field.name, field.type) for field in join.schema]
    instant = pa.timestamp("us", "UTC")
    assert fields == [
        ("ts_l", instant),
        ("sym", pa.string()),
        ("price", pa.float64()),
        ("ts_r", instant),
        ("ask", pa.decimal128(10, 2)),
        ("join_time", instant),
    ]


@pytest.mark.parametrize("layout", [Scale(2), Cell(2), Grid(2, 2), Keyed(4, spread=2), Handshake(2)], ids=str)
def test_a_layout_that_parts_a_left_row_is_refused_with_one_that_serves(layout: Any) -> None:
    with pytest.raises(StreamJoinError, match=r"one cell must see all that it meets; take Grid\(\d, 1\)"):
        asof(by="sym", layout=layout)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"direction": "sideways"}, "direction: got 'sideways'; expected one of 'backward', 'forward', 'nearest'"),
        ({"allow_exact_matches": 1}, "allow_exact_matches: got 1; expected True or False"),
        ({"tolerance": "-1 second"}, "tolerance: expected a duration >= 0; got '-1 second'"),
        ({"how": "full"}, "how: got 'full'; expected 'left' or 'inner': one result for a left row"),
        ({"by": [1]}, "by: got [1]; expected a column name, or a list of them"),
        ({"by": "ask"}, "by: the left side has no column 'ask'"),
        ({"on": "l.price <"}, "on: "),
        ({"on": "soundex(l.sym) = 'A'"}, "soundex"),
        ({"layout": 3}, "layout: got 3; expected 'auto' or a layout such as Grid(2, 2)"),
        ({"workers": 0}, "workers: got 0; expected a whole number, 1 or more"),
        ({"left": {"ts": "timestamp"}}, "expected a pyarrow.Schema"),
    ],
)
def test_asof_refuses(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(StreamJoinError) as caught:
        asof(**arguments)
    assert message in str(caught.value)


def test_what_must_be_given_is_asked_for_in_words() -> None:
    told = {"left": TRADES, "right": QUOTES, "time": "ts"}
    with pytest.raises(StreamJoinError, match="tolerance: say how far"):
        LocalJoin.asof(**told, delay="0 seconds")
    with pytest.raises(StreamJoinError, match="delay: say how far"):
        LocalJoin.asof(**told, tolerance="1 second")
    with pytest.raises(StreamJoinError, match="delay: say how far"):
        LocalJoin.aggregate(**told, on="l.sym = r.sym", window=within("1s"), select=["count(*)"])
    with pytest.raises(StreamJoinError, match="delay: say how far"):
        LocalJoin(**told, on="l.sym = r.sym", window=within("1s"))


def test_a_lambda_is_kept_as_text(tmp_path: Path) -> None:
    with asof(by=["sym"], on=lambda l, r: r.ask > l.price) as join:
        join.push_left({"ts": 0, "sym": "A", "price": 1.0})
        join.save(tmp_path)
    with LocalJoin.restore(tmp_path) as again:
        assert again.stats().live_left == 1
        assert again.schema == join.schema


# Aggregates


def aggregate(*select: str, **arguments: Any) -> LocalJoin:
    given = {"on": "l.sym = r.sym", "window": within("1 minute"), "select": list(select)}
    return LocalJoin.aggregate(**{**INPUTS, **given, **arguments})


TYPES = {
    "count(*)": pa.int64(),
    "count(r.sym)": pa.int64(),
    "count_if(r.ask > 1)": pa.int64(),
    "sum(r.ask)": pa.decimal128(20, 2),
    "avg(r.ask)": pa.decimal128(14, 6),
    "sum(r.tiny)": pa.int64(),
    "sum(r.real)": pa.float64(),
    "avg(r.tiny)": pa.float64(),
    "stddev(r.ask)": pa.float64(),
    "min(r.ask)": pa.decimal128(10, 2),
    "max(r.real)": pa.float32(),
    "min(r.sym)": pa.string(),
    "max(r.ts)": pa.timestamp("us", "UTC"),
    "max_by(r.tiny, r.ask)": pa.int8(),
    "last(r.sym)": pa.string(),
    "first(r.list)": pa.list_(pa.int32()),
    "bool_and(r.tiny > 0)": pa.bool_(),
    "min(l.price - r.real)": pa.float64(),
    "avg(r.real) + 1": pa.float64(),
    "count(*) > 1": pa.bool_(),
    "l.sym AS sym": pa.string(),
}


def test_results_have_the_types_that_spark_gives() -> None:
    right = QUOTES
    for name, type in (("tiny", pa.int8()), ("real", pa.float32()), ("list", pa.list_(pa.int32()))):
        right = right.append(pa.field(name, type))
    with aggregate(*TYPES, right=right) as join:
        assert dict(zip(TYPES, join.schema.types, strict=False)) == TYPES
        join.push_left({"ts": 0, "sym": "A", "price": 3.0})
        quotes = {"ts": [0, 1], "sym": ["A", "A"], "ask": [Decimal("1.25"), Decimal("2.5")]}
        join.push_right({**quotes, "tiny": [1, 2], "real": [0.5, None], "list": [[1], []]})
        join.push_left({"ts": 0, "sym": "B", "price": 3.0})
        join.flush()
        met, alone = join.read().drop_columns("join_time").sort_by("sym").to_pylist()
    assert met == {
        "count(*)": 2,
        "count(r.sym)": 2,
        "count_if(r.ask > 1)": 2,
        "sum(r.ask)": Decimal("3.75"),
        "avg(r.ask)": Decimal("1.875"),
        "sum(r.tiny)": 3,
        "sum(r.real)": 0.5,
        "avg(r.tiny)": 1.5,
        "stddev(r.ask)": pytest.approx(0.8838834764831844),
        "min(r.ask)": Decimal("1.25"),
        "max(r.real)": 0.5,
        "min(r.sym)": "A",
        "max(r.ts)": datetime(1970, 1, 1, 0, 0, 0, 1, UTC),
        "max_by(r.tiny, r.ask)": 2,
        "last(r.sym)": "A",
        "first(r.list)": [1],
        "bool_and(r.tiny > 0)": True,
        "min(l.price - r.real)": 2.5,
        "avg(r.real) + 1": 1.5,
        "count(*) > 1": True,
        "sym": "A",
    }
    counts = ("count(*)", "count(r.sym)", "count_if(r.ask > 1)")
    assert alone == dict.fromkeys(met) | dict.fromkeys(counts, 0) | {"count(*) > 1": False, "sym": "B"}


def test_all_columns_of_l() -> None:
    with aggregate("l.*", "count(*) AS n") as join:
        assert join.schema.names == ["ts", "sym", "price", "n", "join_time"]
        join.push_left({"ts": 0, "sym": "A", "price": 3.0})
        join.flush()
        assert join.read().select(["sym", "n"]).to_pylist() == [{"sym": "A", "n": 0}]


@pytest.mark.parametrize(
    ("select", "message"),
    [
        ([], "select: expected a list of SQL, aggregates among it, such as 'count(*) AS n'; got []"),
        (["l.sym"], "expected an aggregate among them, such as count(*)"),
        (["count(DISTINCT r.sym)"], "aggregates of DISTINCT values are not possible; leave it out"),
        (["r.sym", "count(*)"], "names r.sym outside of an aggregate"),
        (["sum(r.sym)"], "select: sum of r.sym, which is string; expected a number: cast it before"),
        (["avg(r.wide)"], "which is decimal(30,2); expected a decimal of at most 18 digits, or a double"),
        (["sum(r.wide)"], "which is decimal(30,2); expected a decimal of at most 28 digits, or a double"),
        (["min(r.list)"], "which is array<int>; expected a number, string, binary, date, time or boolean"),
        (["bool_and(r.ask)"], "select: bool_and of r.ask, which is decimal(10,2); expected a boolean"),
        (["count(*) AS n", "sum(r.ask) AS n"], "the result would have two columns named 'n'"),
        (["sum(r.nothing)"], "r.nothing"),
        (["count(*) + l.nothing"], "nothing"),
        (["first(soundex(r.sym))"], "select: only Spark evaluates soundex(r.sym)"),
        (["soundex(last(r.sym))"], "select: only Spark evaluates soundex"),
        (["first(levenshtein(l.sym, r.sym))"], "a cell would have to for each pair of rows"),
    ],
)
def test_aggregate_refuses(select: list[str], message: str) -> None:
    right = QUOTES.append(pa.field("wide", pa.decimal128(30, 2))).append(pa.field("list", pa.list_(pa.int32())))
    with pytest.raises(StreamJoinError) as caught:
        aggregate(*select, right=right)
    assert message in str(caught.value)


@pytest.mark.parametrize("window", [last(3), last(3) & within("1 minute")])
def test_count_windows_are_refused(window: Any) -> None:
    with pytest.raises(StreamJoinError, match="counts rows, which only a join can; give a time window"):
        aggregate("count(*)", window=window)


def test_items_compute_with_decimals() -> None:
    with aggregate("sum(r.ask) / count(*) AS mean") as join:
        join.push_left({"ts": 0, "sym": "A", "price": 3.0})
        join.push_right({"ts": 0, "sym": "A", "ask": Decimal("2.00")})
        join.flush()
        assert join.read()["mean"].to_pylist() == [Decimal("2")]


def test_a_time_zone_is_refused_only_where_it_matters() -> None:
    with aggregate("max(r.ts) AS latest", timezone="Europe/Berlin"):
        pass
    with pytest.raises(StreamJoinError, match="depends on the time zone, and without Spark only 'UTC' is served"):
        aggregate("CAST(max(r.ts) AS DATE) AS day", timezone="Europe/Berlin")


@pytest.mark.parametrize("verb", ["asof", "aggregate"])
def test_arguments_are_those_of_the_verb_on_spark(verb: str) -> None:
    here, there = (signature(getattr(of, verb)).parameters for of in (LocalJoin, streamjoin))
    for_spark, of_its_own = {"late", "name"}, {"workers", "timezone", "callback", "unread"}
    assert here.keys() - of_its_own == there.keys() - for_spark
    for name in here.keys() & there.keys() - {"delay"}:  # nothing else would say what is late
        assert here[name].default == there[name].default
