"""`aggregate` and `asof` on Spark: the rows of Spark's own batch join, reduced; the same in a stream and a batch."""

import math
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import streamjoin as sj
from streamjoin.reference import Row
from streamjoin.reference_reduce import meet, pick
from tests.spark.harness import Feed, batches, feed, micros, run

LEFT = "id int, ts timestamp, sym string, price double, qty int"
RIGHT = "ts timestamp, sym string, ask double, size int, d decimal(10,2), day date, ok boolean"
MS = 1000
WINDOW = sj.between("-6 milliseconds", "4 milliseconds")
ON = "l.sym = r.sym AND r.ask < 9"
NEAR = "unix_micros(r.ts) - unix_micros(l.ts) BETWEEN -6000 AND 4000"
AGGREGATES = [
    *("count(*)", "count(r.sym)", "count(r.ask)", "count_if(r.ok)", "sum(r.size)", "sum(r.ask)", "sum(r.d)"),
    *("avg(r.ask)", "avg(r.size)", "avg(r.d)", "var_pop(r.ask)", "var_samp(r.size)", "stddev_pop(r.d)"),
    *("stddev(r.ask)", "min(r.ask)", "max(r.ask)", "min(r.sym)", "max(r.day)", "min(r.d)", "max(r.ts)"),
    *("bool_and(r.ok)", "bool_or(r.ok)", "sum(r.size * 2 + 1)", "max(length(r.sym))", "sum(l.qty * r.size)"),
    *("min(abs(l.price - r.ask))", "max(CASE WHEN l.qty > 1 THEN r.size END)", "avg(l.qty)"),
    *("round(avg(r.ask), 3) + l.price", "max_by(r.size, struct(r.ts).ts)"),
]
"""Each has one value for each set of matches, ties or not."""

ASKS, HARD = [0.1, 0.2, 0.7, 9.5, math.nan], 2
"""Prices; in the history of this seed their sums depend on the order in which they are added."""

ORDERED = ["first(r.size)", "last(r.sym)", "last(r.ask) IGNORE NULLS", "min_by(r.size, r.d)", "max_by(r.sym, r.ts)"]


def some(pick: random.Random, values: Sequence[Any]) -> Any:
    return pick.choice([*values, None])


def history(seed: int, count: int = 6, rows: int = 12) -> tuple[list[list[Row]], list[list[Row]]]:
    """Batches of both sides that move on in time, with rows that come late; no two right rows of one time."""
    pick = random.Random(seed)
    times = pick.sample(range(count * 10 * MS), count * rows)
    left, right = [], []
    for k in range(count):
        lefts = [
            {
                "id": k * rows + n,
                "ts": (k * 10 + pick.randrange(-4, 10)) * MS if pick.random() < 0.95 else None,
                "sym": some(pick, "ab"),
                "price": some(pick, [1.5, 2.25, -0.0]),
                "qty": some(pick, [1, 2, 7]),
            }
            for n in range(rows)
        ]
        rights = [
            {
                "ts": t if pick.random() < 0.95 else None,
                "sym": some(pick, "ab"),
                "ask": some(pick, [0.1, 0.2, 0.7, 1e15, -1e15] if seed == HARD else ASKS),
                "size": some(pick, range(9)),
                "d": some(pick, [Decimal("1.25"), Decimal("-7.01"), Decimal("99.99")]),
                "day": None,
                "ok": some(pick, [True, False]),
            }
            for t in times
            if k * 10 * MS <= t < (k + 1) * 10 * MS
        ]
        left.append([dict(row, ts=None if row["ts"] is None else max(0, row["ts"])) for row in lefts])
        right.append(rights)
    end = (count + 20) * 10 * MS
    left += [[dict.fromkeys(left[0][0]) | {"id": -1, "ts": at}] for at in (end, end + MS)]
    right += [[dict.fromkeys(right[0][0]) | {"ts": at}] for at in (end, end + MS)]
    return left, right


def named(aggregates: Iterable[str]) -> list[str]:
    return [f"{text} AS c{at}" for at, text in enumerate(aggregates)]


def judge(left: DataFrame, right: DataFrame, aggregates: Sequence[str], how: str = "left") -> DataFrame:
    """Spark's own inner join, grouped by a unique id of the left row, joined back to the left rows."""
    left = left.where("ts IS NOT NULL")
    pairs = left.alias("l").join(right.alias("r"), F.expr(f"{ON} AND {NEAR}"))
    grouped = pairs.groupBy("l.id", "l.price").agg(*(F.expr(text) for text in named(aggregates)))
    back = left.select("id").join(grouped.drop("price"), "id", how)
    counts = {f"c{at}": 0 for at, text in enumerate(aggregates) if text.startswith("count")}
    return back.fillna(counts)


def to_rows(frame: Iterable[Any]) -> dict[int, tuple[str, ...]]:
    """Rows by id; doubles to 12 digits, -0.0 as 0.0."""

    def show(value: Any) -> str:
        return f"{value + 0.0:.11e}" if isinstance(value, float) else str(value)

    found = {row["id"]: tuple(show(value) for name, value in row.asDict().items() if name[0] == "c") for row in frame}
    return {key: row for key, row in found.items() if key >= 0}


def write(tmp_path: Path, seed: int) -> tuple[Feed, Feed]:
    left, right = history(seed)
    return feed(tmp_path, LEFT, left), feed(tmp_path, RIGHT, right)


@pytest.mark.every_spark
def test_batch_and_stream_aggregate_as_spark_does(spark: SparkSession, tmp_path: Path) -> None:
    left, right = write(tmp_path, 1)
    expected = judge(left.table(spark), right.table(spark), AGGREGATES)
    asked = {"on": ON, "window": WINDOW, "time": "ts", "select": ["l.id", *named(AGGREGATES)]}
    found = sj.aggregate(left.table(spark), right.table(spark), layout=sj.Grid(2, 1), **asked)
    assert {f.name: f.dataType for f in found.drop("join_time").schema} == {f.name: f.dataType for f in expected.schema}
    rows = to_rows(expected.collect())
    assert to_rows(found.collect()) == rows
    frames = left.stream(spark), right.stream(spark)
    stream = sj.aggregate(*frames, delay="100 milliseconds", layout=sj.Keyed(2), **asked)
    assert to_rows(run(stream).rows) == rows
    inner = sj.aggregate(left.table(spark), right.table(spark), how="inner", **asked)
    expected = judge(left.table(spark), right.table(spark), AGGREGATES, "inner")
    assert to_rows(inner.collect()) == to_rows(expected.collect())


@pytest.mark.slow  # properties/test_reduce does the same without Spark
def test_floating_sums_are_the_same_in_every_layout_and_cut(spark: SparkSession, tmp_path: Path) -> None:
    left, right = write(tmp_path, HARD)
    asked = {"on": ON, "window": WINDOW, "time": "ts", "select": ["l.id", *named(["sum(r.ask)", *ORDERED])]}
    found = []
    for layout in (sj.Grid(3, 1), sj.Keyed(2)):
        frames = left.stream(spark), right.stream(spark)
        found.append(run(sj.aggregate(*frames, delay="100 milliseconds", layout=layout, **asked)).rows)
    found.append(sj.aggregate(left.table(spark), right.table(spark), **asked).collect())
    exact = [Counter(repr(tuple(row)) for row in rows if row["id"] >= 0) for rows in found]
    assert exact[0] == exact[1] == exact[2]


@pytest.mark.slow  # tutorials do it in every run
@pytest.mark.parametrize("direction", ["backward", "nearest"])
def test_a_stream_picks_what_the_law_says(spark: SparkSession, tmp_path: Path, direction: Any) -> None:
    left, right = history(3)
    feeds = feed(tmp_path, LEFT, left), feed(tmp_path, RIGHT, right)
    frames = [each.stream(spark) for each in feeds]
    asked = {"by": "sym", "on": lambda l, r: F.abs(r.ask) < 9, "time": "ts", "tolerance": "6 milliseconds"}
    stream = sj.asof(*frames, delay="3 milliseconds", select=["l.id", "r.ts", "r.size"], direction=direction, **asked)
    found = Counter((row.id, micros(row.ts), row["size"], micros(row.join_time)) for row in run(stream).rows)
    window = sj.between("-6 milliseconds", "0 seconds" if direction == "backward" else "6 milliseconds")

    def on(l: Row, r: Row) -> bool:
        return l["sym"] is not None and l["sym"] == r["sym"] and r["ask"] is not None and r["ask"] < 9

    expected: Counter[Any] = Counter()
    for met in meet(batches(left, right, 3 * MS), on, window, ended=False):
        row = pick(met, direction) or {}
        expected[met.left["id"], row.get("ts"), row.get("size"), met.join_time] += 1
    late = Counter({key: n for key, n in found.items() if key[0] >= 0})
    assert late == Counter({key: n for key, n in expected.items() if key[0] >= 0})


def test_what_cannot_be_aggregated_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    frames = [each.table(spark) for each in write(tmp_path, 4)]

    def refuse(match: str, **changed: Any) -> None:
        asked = {"on": ON, "window": WINDOW, "time": "ts", "select": ["count(*)"], **changed}
        with pytest.raises(sj.StreamJoinError, match=match):
            sj.aggregate(*frames, **asked)

    refuse("counts rows", window=sj.last(3))
    refuse("'left' or 'inner'", how="full")
    refuse(r"take Grid\(4, 1\)", layout=sj.Grid(2, 2))
    refuse("outside of an aggregate.*last\\(r.ask\\)", select=["r.ask", "count(*)"])
    refuse("DISTINCT", select=["count(DISTINCT r.ask)"])
    refuse("expected an aggregate", select=["l.id"])
    refuse("select: sum of r.sym, which is string; expected a number", select=["sum(r.sym)"])
    refuse("only Spark evaluates", select=["max(concat(l.sym, r.sym))"])
    refuse("no column 'nope'", select=["l.nope", "count(*)"])
    refuse("Spark does not understand", select=["sum(r.nope)"])
    refuse("two columns named", select=["count(*) AS id", "l.id"])
    told = sj.explain(*frames, of=sj.aggregate, on=ON, window=WINDOW, time="ts", select=["l.id", "avg(r.ask * 2) AS m"])
    assert "one row for each left row" in str(told)
    assert "right row is kept until the watermark has passed its time + 10 milliseconds" in str(told)
    assert "r.ask * 2 double" in str(told)
    with pytest.raises(sj.StreamJoinError, match="direction"):
        sj.asof(*frames, time="ts", tolerance="1 second", direction="sideways")  # type: ignore[arg-type]
    with pytest.raises(sj.StreamJoinError, match="tolerance"):
        sj.asof(*frames, time="ts", tolerance="-1 second")
    with pytest.raises(sj.StreamJoinError, match="tolerance: say how far in time a match may lie"):
        sj.asof(*frames, time="ts")
    with pytest.raises(sj.StreamJoinError, match="by: the left side has no column"):
        sj.asof(*frames, by="ask", time="ts", tolerance="1 second")


SLID = [
    *("count(*)", "count(sym)", "count_if(ok)", "sum(size)", "sum(ask)", "sum(d)", "avg(ask)", "avg(d)"),
    *(
        "var_pop(ask)",
        "stddev(size)",
        "min(ask)",
        "max(ts)",
        "min(d)",
        "max(day)",
        "bool_or(ok)",
        "max(size) - min(size)",
    ),
]


@pytest.mark.parametrize(
    "by", [pytest.param(["sym", "ok"], marks=pytest.mark.every_spark), pytest.param(["sym"], marks=pytest.mark.slow)]
)
def test_windows_slide_as_in_spark(spark: SparkSession, tmp_path: Path, by: list[str]) -> None:
    _, rows = history(5)
    source = feed(tmp_path, RIGHT, rows)
    window = F.window("ts", "10 milliseconds", "4 milliseconds")
    table = source.table(spark).where("ts < timestamp_millis(100)")
    expected = table.groupBy(window, *by).agg(*(F.expr(text) for text in named(SLID)))
    asked: dict[str, Any] = {"size": "10 milliseconds", "every": "4 milliseconds", "by": by, "time": "ts"}
    found = sj.sliding_aggregate(table, select=named(SLID), **asked)
    assert found.drop("window_time").schema.simpleString() == expected.schema.simpleString()

    def show(rows: Iterable[Any]) -> Counter[tuple[str, ...]]:
        values = (list(row)[: len(by) + 1 + len(SLID)] for row in rows)
        return Counter(tuple(f"{v + 0.0:.9e}" if isinstance(v, float) else str(v) for v in row) for row in values)

    assert show(found.collect()) == show(expected.collect())
    if by == ["sym"]:
        stream = source.stream(spark)
        slid = sj.sliding_aggregate(stream, delay="100 milliseconds", layout=sj.Keyed(2), select=named(SLID), **asked)
        assert show(run(slid.where("window.end < timestamp_millis(110)")).rows) == show(expected.collect())


def test_windows_that_are_not_over_wait_in_a_checkpoint_for_a_flush(spark: SparkSession, tmp_path: Path) -> None:
    source = feed(tmp_path, RIGHT, history(5)[1][:-2])
    asked: dict[str, Any] = {"size": "10 milliseconds", "every": "4 milliseconds", "by": "sym", "time": "ts"}
    asked |= {"select": ["count(*) AS n", "max(size) AS c"], "delay": "100 milliseconds", "of": sj.sliding_aggregate}
    stream, place = source.stream(spark), tmp_path / "place"
    plain = {name: value for name, value in asked.items() if name != "of"}
    assert sj.check(place, stream, **asked).startswith("begins")
    writer = sj.sliding_aggregate(stream, **plain).writeStream.option("checkpointLocation", str(place))
    writer.trigger(availableNow=True).start(str(tmp_path / "out")).awaitTermination()
    assert sj.check(place, stream, **asked).startswith("goes on")
    with pytest.raises(sj.StreamJoinError, match="written by another join"):
        sj.check(place, stream, **{**asked, "every": "5 milliseconds"})
    emitted = spark.read.parquet(str(tmp_path / "out")).collect()
    waiting = sj.flush(place, stream, **asked).collect()
    assert len(waiting) > 5
    wanted = sj.sliding_aggregate(source.table(spark), **plain).collect()
    assert Counter(map(tuple, emitted + waiting)) == Counter(map(tuple, wanted))


def test_explain_says_how_windows_slide(spark: SparkSession, tmp_path: Path) -> None:
    rows = feed(tmp_path, RIGHT, []).stream(spark)
    asked: dict[str, Any] = {"size": "1 hour", "every": "25 seconds", "time": "ts", "delay": "1 second"}
    plan = sj.explain(rows, of=sj.sliding_aggregate, by="sym", select=["max(size) AS m", "count(*) AS n"], **asked)
    for part in (
        "1 hour long, one every 25 seconds, put together of panes of 25 seconds",
        "for each pane and group of sym, the parts of 2 aggregates of size",
        "Keyed(2), chosen by rule: 2 cells on 2 shuffle partitions",
        "a row is sent to 1 cell and stored in 1",
    ):
        assert part in str(plan)
    assert "left" not in str(plan)
    whole = sj.explain(rows, of=sj.sliding_aggregate, select=["count(*) AS n"], **asked)
    assert "for each pane, the parts of 1 aggregates\n" in f"{whole}\n"
    assert not any("condition" in warning for warning in whole.warnings)
    with pytest.raises(TypeError, match="explain\\(\\) takes the arguments of join"):
        sj.explain(rows, on="l.size = r.size")


def test_explain_says_what_a_kept_row_of_an_aggregate_holds(spark: SparkSession, tmp_path: Path) -> None:
    frames = [each.stream(spark) for each in write(tmp_path, 4)]
    asked: dict[str, Any] = {"on": ON, "time": "ts", "delay": "1 second", "late": "keep"}
    told = sj.explain(*frames, of=sj.aggregate, window=WINDOW, select=["l.id", "count(*) AS n"], **asked)
    assert "a left one holds the left columns of the result, a right one none" in str(told)
    told = sj.explain(*frames, of=sj.asof, tolerance="1 second", **asked)
    assert "they hold the columns that their side carries" in str(told)
