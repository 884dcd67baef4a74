"""What `LocalJoin.asof` and `LocalJoin.aggregate` take and refuse, and the types of their results."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from streamjoin import Cell, Grid, Handshake, Keyed, LocalJoin, Scale, StreamJoinError

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


def test_a_lambda_is_kept_as_text(tmp_path: Path) -> None:
    with asof(by=["sym"], on=lambda l, r: r.ask > l.price) as join:
        join.push_left({"ts": 0, "sym": "A", "price": 1.0})
        join.save(tmp_path)
    with LocalJoin.restore(tmp_path) as again:
        assert again.stats().live_left == 1
        assert again.schema == join.schema
