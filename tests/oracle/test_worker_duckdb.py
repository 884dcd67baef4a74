"""A worker and DuckDB agree on long histories: made ones with much disorder, and real ones from a stock exchange."""

# As in test_reference_duckdb.py.
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from streamjoin import last, tumbling, within
from streamjoin.pane import KeyColumn, Rows
from streamjoin.plan import Block, Plan
from streamjoin.predicate import Schema, parse
from streamjoin.spec.how import HOWS, How
from streamjoin.spec.side import Side
from streamjoin.spec.window import Window
from streamjoin.worker import Worker
from tests.blocks import ARROW
from tests.strategies import us

STOCK = Path(__file__).parents[3] / "shared" / "data" / "stock"
SCHEMA = Schema({"id": "bigint", "ts": "timestamp", "x": "int", "y": "double"})
LEFT_ID, RIGHT_ID = (pa.schema([(name, pa.int64())]) for name in ("l", "r"))
NOBODY = -1


@pytest.fixture(scope="module")
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"threads": 2}) as connection:
        yield connection


def plan_of(on: str, window: Window, how: How = "inner") -> Plan:
    return Plan(parse(on, SCHEMA, SCHEMA), window, LEFT_ID, RIGHT_ID, how)


@dataclass(frozen=True)
class Arrival:
    """The rows of one side as they arrive, and for each the number of its batch."""

    table: pa.Table
    batch: np.ndarray

    def take(self, chosen: np.ndarray) -> Arrival:
        return Arrival(self.table.take(np.flatnonzero(chosen)), self.batch[chosen])

    @property
    def time(self) -> np.ndarray:
        return self.table["ts"].to_numpy()

    def block(self, plan: Plan, side: Side) -> Block:
        keys = []
        for key in plan.keys[side]:
            (name,) = key.arg.path
            column = self.table[name].combine_chunks().cast(ARROW[key.type.name])
            valid = column.is_valid().to_numpy(zero_copy_only=False)
            keys.append(KeyColumn(column.fill_null(0).to_numpy(), None if valid.all() else valid))
        payload = pa.RecordBatch.from_arrays([self.table["id"].combine_chunks()], schema=plan.payload(side))
        return Block(Rows(self.time, tuple(keys), payload))


def watermarks(left: Arrival, right: Arrival, delay: int) -> list[int | None]:
    """One for each batch: the slower input's latest time in the batches before, less the delay."""
    count = 1 + max(int(side.batch.max()) for side in (left, right))
    latest = np.full((2, count), np.iinfo(np.int64).min)
    for row, side in enumerate((left, right)):
        np.maximum.at(latest[row], side.batch, side.time)
    slower = np.minimum(*np.maximum.accumulate(latest, axis=1))
    return [None, *(None if t == np.iinfo(np.int64).min else int(t) - delay for t in slower[:-1])]


def least_delay(left: Arrival, right: Arrival) -> int:
    """The delay with which no row is late."""
    marks = np.array([-(2**63) if mark is None else mark for mark in watermarks(left, right, 0)])
    return max(0, *(int((np.maximum(marks[side.batch], side.time) - side.time).max()) for side in (left, right)))


def replay(plan: Plan, left: Arrival, right: Arrival, marks: list[int | None]) -> np.ndarray:
    """The results as a sorted array of (left id, right id, join time)."""
    worker, found = Worker(plan), []
    for batch, mark in enumerate(marks):
        sides = [(side.take(side.batch == batch), name) for side, name in ((left, "l"), (right, "r"))]
        found += worker.process(*(side.block(plan, name) for side, name in sides), mark)
    found += worker.finish()
    assert max(block.num_rows for block in found) <= plan.block_rows
    return _sorted([_columns(block) for block in found])


def _columns(block: pa.RecordBatch) -> list[np.ndarray]:
    left = block["l"].fill_null(NOBODY).to_numpy()
    right = block["r"].fill_null(NOBODY).to_numpy() if "r" in block.schema.names else np.full(len(left), NOBODY)
    return [left, right, block["join_time"].to_numpy()]


def _sorted(parts: list[Any]) -> np.ndarray:
    rows = np.concatenate([np.array(part) for part in parts], axis=1)
    return rows[:, np.lexsort(rows[::-1])]


def ask(duck: duckdb.DuckDBPyConnection, query: str, left: Arrival, right: Arrival) -> np.ndarray:
    duck.register("l", left.table)
    duck.register("r", right.table)
    return _sorted([list(duck.execute(query).fetchnumpy().values())])


# Only inner joins are DuckDB's own: its range joins (2.0.0) are wrong in outer ones with more than two inequalities.
MATCHES = "WITH found AS (SELECT l.id AS l, r.id AS r, greatest(l.ts, r.ts) AS t FROM l JOIN r ON {on}) "
PAIRS = "SELECT * FROM found"
LEFT = f"SELECT id, {NOBODY}, {{decided_l}} FROM l WHERE id NOT IN (SELECT l FROM found)"
RIGHT = f"SELECT {NOBODY}, id, {{decided_r}} FROM r WHERE id NOT IN (SELECT r FROM found)"
JOINS: dict[How, str] = {
    "inner": MATCHES + PAIRS,
    "left": f"{MATCHES} {PAIRS} UNION ALL {LEFT}",
    "right": f"{MATCHES} {PAIRS} UNION ALL {RIGHT}",
    "full": f"{MATCHES} {PAIRS} UNION ALL {LEFT} UNION ALL {RIGHT}",
    "left_semi": f"{MATCHES} SELECT DISTINCT l, {NOBODY}, 0 FROM found",
    "left_anti": MATCHES + LEFT,
}


# Made histories


def made(seed: int, rows: int, disorder: int) -> tuple[Arrival, Arrival]:
    """Two streams of a row every 100 microseconds or so; a row arrives up to `disorder` microseconds late."""
    random = np.random.default_rng(seed)
    sides = []
    for _ in range(2):
        time = np.sort(random.integers(0, rows * 100, rows))
        arrives = time + np.where(random.random(rows) < 0.3, random.integers(0, disorder, rows), 0)
        x = pa.array(random.integers(0, 200, rows), pa.int32(), mask=random.random(rows) < 0.01)
        y = np.where(random.random(rows) < 0.01, np.nan, random.normal(0, 1, rows))
        table = pa.table({"id": np.arange(rows), "ts": time, "x": x, "y": y})
        order = np.argsort(arrives, kind="stable")
        sides.append(Arrival(table.take(order), arrives[order] // 40_000))
    return sides[0], sides[1]


ON = "abs(l.x - r.x) <= 2 AND l.y <= r.y"
ON_DUCK = "l.x - r.x BETWEEN -2 AND 2 AND l.y <= r.y"


@pytest.mark.parametrize(
    "how", [pytest.param(how, marks=pytest.mark.slow if how in ("left", "left_semi") else ()) for how in HOWS]
)
def test_twenty_thousand_rows_a_side_with_disorder_and_late_rows(duck: duckdb.DuckDBPyConnection, how: How) -> None:
    left, right = made(seed=3, rows=20_000, disorder=100_000)
    marks = watermarks(left, right, delay=60_000)
    floor = np.array([-(2**63) if mark is None else mark for mark in marks])
    admitted = [side.take(side.time >= floor[side.batch]) for side in (left, right)]
    assert all(0 < len(side.batch) < 20_000 for side in admitted)

    plan = plan_of(ON, within(left=us(30_000), right=us(10_000)), how)
    on = f"{ON_DUCK} AND r.ts >= l.ts - 10000 AND r.ts <= l.ts + 30000"
    query = JOINS[how].format(on=on, decided_l="ts + 30000", decided_r="ts + 10000")
    found, expected = replay(plan, left, right, marks), ask(duck, query, *admitted)
    if how == "left_semi":  # which match releases a row depends on the cut into batches
        found[2] = 0
    assert found.shape[1] > 1_000
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("flows", [True, False], ids=["rows become ready bit by bit", "all are ready at once"])
def test_twenty_thousand_rows_a_side_under_a_count_window(duck: duckdb.DuckDBPyConnection, flows: bool) -> None:
    left, right = made(seed=4, rows=20_000, disorder=100_000)
    marks = watermarks(left, right, least_delay(left, right))
    if not flows:
        marks = [None] * len(marks)
    placed = """
        WITH placed AS (
            SELECT *, row_number() OVER (ORDER BY ts, side, id) AS place
            FROM (SELECT *, 0 AS side FROM l UNION ALL SELECT *, 1 AS side FROM r)
        ), counted AS (
            SELECT *, count(*) FILTER (side = 0) OVER before AS lefts, count(*) FILTER (side = 1) OVER before AS rights
            FROM placed WINDOW before AS (ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
        ), a AS (FROM counted WHERE side = 0), b AS (FROM counted WHERE side = 1)
    """
    query = f"""{placed}
        SELECT l.id, r.id, r.ts FROM a AS l JOIN b AS r ON l.x = r.x
            AND l.lefts < r.lefts AND l.lefts >= r.lefts - 3000
        UNION ALL SELECT l.id, r.id, l.ts FROM a AS l JOIN b AS r ON l.x = r.x
            AND r.rights < l.rights AND r.rights >= l.rights - 100
    """
    found = replay(plan_of("l.x = r.x", last(left=3000, right=100)), left, right, marks)
    expected = ask(duck, query, left, right)
    assert found.shape[1] > 100_000
    np.testing.assert_array_equal(found, expected)


# Real histories


def stock(duck: duckdb.DuckDBPyConnection, delay: str, batch: int, every: int = 1) -> tuple[Arrival, Arrival]:
    """Every so manieth row of the two order streams as they arrived; event time is in milliseconds."""
    files = [STOCK / f"{name}_{delay}_delay.csv.gz" for name in ("cj", "sb")]
    if not all(file.exists() for file in files):
        pytest.skip(f"the stock data is not in {STOCK}")
    query = duck.sql(
        """
        SELECT side, key::INTEGER AS x, value::DOUBLE AS y, (eventTime * 1000)::BIGINT AS ts,
            row_number() OVER (ORDER BY arrivalTime, side, line) - 1 AS place
        FROM (
            SELECT 'l' AS side, *, row_number() OVER () AS line FROM read_csv(?)
            UNION ALL SELECT 'r', *, row_number() OVER () FROM read_csv(?)
        ) WHERE line % ? = 0 ORDER BY place
        """,
        params=[*map(str, files), every],
    )
    table = query.to_arrow_table()
    place = table["place"].to_numpy()
    everyone = Arrival(table.append_column("id", pa.array(place)), place // batch)
    side = np.array(table["side"])
    return everyone.take(side == "l"), everyone.take(side == "r")


@pytest.mark.parametrize("delay", ["high", "mid"])
def test_stock_orders_joined_by_key(duck: duckdb.DuckDBPyConnection, delay: str) -> None:
    left, right = stock(duck, delay, batch=10_000)
    marks = watermarks(left, right, least_delay(left, right))
    query = JOINS["inner"].format(on="l.x = r.x AND r.ts - l.ts BETWEEN -5000 AND 5000")
    found = replay(plan_of("l.x = r.x", within("5 milliseconds")), left, right, marks)
    assert found.shape[1] > 100_000
    np.testing.assert_array_equal(found, ask(duck, query, left, right))


def test_stock_orders_joined_by_a_band_that_everybody_is_in(duck: duckdb.DuckDBPyConnection) -> None:
    left, right = stock(duck, "high", batch=1_000, every=8)  # their value is 1 throughout
    marks = watermarks(left, right, least_delay(left, right))
    query = JOINS["inner"].format(on="abs(l.y - r.y) <= 0.5 AND l.ts = r.ts")  # times are whole milliseconds
    found = replay(plan_of("abs(l.y - r.y) <= 0.5", tumbling("1 millisecond")), left, right, marks)
    assert found.shape[1] > 500_000
    np.testing.assert_array_equal(found, ask(duck, query, left, right))
