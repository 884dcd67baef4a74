"""Items of `select` taken apart: aggregates, what stands around them, and what is refused."""

import pytest

from streamjoin import StreamJoinError
from streamjoin.sql.aggregates import AggregateCall, find_sides, read_item, read_items


@pytest.mark.parametrize(
    ("written", "name", "text", "calls"),
    [
        ("count(*)", "count(*)", "`__streamjoin_a0`", [AggregateCall("count", ())]),
        ("COUNT(1) AS n", "n", "`__streamjoin_a0`", [AggregateCall("count", ("1",))]),
        ("l.id", "id", "l.id", []),
        ("l.`the id`", "the id", "l.`the id`", []),
        ("mean(r.x) AS m", "m", "`__streamjoin_a0`", [AggregateCall("avg", ("r.x",))]),
        (
            "max_by(r.a, coalesce(r.b, 0)) AS m",
            "m",
            "`__streamjoin_a0`",
            [AggregateCall("max_by", ("r.a", "coalesce(r.b, 0)"))],
        ),
        ("first(r.x) IGNORE NULLS AS f", "f", "`__streamjoin_a0`", [AggregateCall("first", ("r.x",), True)]),
        ("last(r.x IGNORE NULLS) AS f", "f", "`__streamjoin_a0`", [AggregateCall("last", ("r.x",), True)]),
        ("last(r.x, true) AS f", "f", "`__streamjoin_a0`", [AggregateCall("last", ("r.x",), True)]),
        (
            "round(sum(r.x) / count(r.x), 2) AS `my mean`",
            "my mean",
            "round(`__streamjoin_a0` / `__streamjoin_a1`, 2)",
            [AggregateCall("sum", ("r.x",)), AggregateCall("count", ("r.x",))],
        ),
        ("CAST(any(r.ok) AS INT) AS i", "i", "CAST(`__streamjoin_a0` AS INT)", [AggregateCall("bool_or", ("r.ok",))]),
    ],
)
def test_an_item_is_read(written: str, name: str, text: str, calls: list[AggregateCall]) -> None:
    item = read_item(written, 0)
    assert (item.name, item.text, list(item.calls)) == (name, text, calls)


def test_aggregates_are_numbered_throughout() -> None:
    assert [item.text for item in read_items(["count(*)", "l.id", "sum(r.x)"])] == [
        "`__streamjoin_a0`",
        "l.id",
        "`__streamjoin_a1`",
    ]


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("r.x", "outside of an aggregate"),
        ("sum(r.x) + r.y AS s", "r.y outside of an aggregate"),
        ("count(DISTINCT r.x)", "DISTINCT"),
        ("sum(r.x) OVER ()", "OVER is not possible"),
        ("sum(r.x) FILTER (WHERE r.y > 0)", "CASE WHEN within"),
        ("sum(r.x, r.y)", "sum takes 1 arguments, not 2"),
        ("sum(r.x", "not closed"),
        (7, "expected SQL text"),
    ],
)
def test_what_cannot_be_read_is_refused(written: object, reason: str) -> None:
    with pytest.raises(StreamJoinError, match=reason):
        read_item(written, 0)


@pytest.mark.parametrize("select", ["count(*)", [], None, ["l.id"]])
def test_an_aggregate_is_expected(select: object) -> None:
    with pytest.raises(StreamJoinError, match="select"):
        read_items(select)


@pytest.mark.parametrize(
    ("text", "sides"),
    [
        ("1", ""),
        ("r.x + 1", "r"),
        ("a", "r"),
        ("x", "l"),
        ("l.x * r.a", "lr"),
        ("x - a", "lr"),
        ("'a'", ""),
        ("a(1)", ""),
    ],
)
def test_the_sides_of_an_expression(text: str, sides: str) -> None:
    assert find_sides(text, {"l": ["x"], "r": ["a"]}) == set(sides)


@pytest.mark.parametrize("name", ["collect_list", "median", "PERCENTILE"])
def test_an_aggregate_that_is_not_known_is_answered_with_those_there_are(name: str) -> None:
    with pytest.raises(StreamJoinError, match=f"{name} is not one of the aggregates: avg, bool_and, bool_or, count"):
        read_items(["l.id", f"{name}(r.x) AS m"])


def test_a_function_that_is_no_aggregate_is_answered_with_those_there_are() -> None:
    with pytest.raises(StreamJoinError, match=r"names r.x outside of.* The aggregates are avg, bool_and"):
        read_items(["abs(r.x) AS xs"])
