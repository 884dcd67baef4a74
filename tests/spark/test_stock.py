"""Two order streams of a stock exchange, replayed as they arrived, against DuckDB on the whole history."""

# As in tests/oracle/test_reference_duckdb.py.
from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pytest
from pyspark.sql import SparkSession

import streamjoin as sj
from streamjoin.spec.window import Window
from tests.oracle.test_worker_duckdb import JOINS, ask, least_delay, stock
from tests.spark.harness import Feed, run
from tests.strategies import us


@pytest.mark.parametrize(
    ("on", "window", "near", "every"),
    [
        ("l.x = r.x", sj.within("5 milliseconds"), "r.ts - l.ts BETWEEN -5000 AND 5000", 6),
        pytest.param(
            *("abs(l.y - r.y) <= 0.5", sj.tumbling("1 millisecond"), "l.ts = r.ts", 32), marks=pytest.mark.slow
        ),
    ],
    ids=["by key", "by a band that everybody is in"],
)
def test_stock_orders_as_they_arrived(
    spark: SparkSession, tmp_path: Path, on: str, window: Window, near: str, every: int
) -> None:
    with duckdb.connect(config={"threads": 2}) as duck:
        whole = stock(duck, "high", batch=40_000 // every, every=every)
        expected = ask(duck, JOINS["inner"].format(on=f"{on} AND {near}"), *whole)
    count = 1 + max(int(side.batch.max()) for side in whole)
    streams = []
    for name, side in zip("lr", whole, strict=True):
        source = Feed(tmp_path / name, "id bigint, ts timestamp, x int, y double")
        for batch in range(count):
            source.add(side.take(side.batch == batch).table.to_pylist())
        streams.append(source.stream(spark))
    joined = sj.join(
        *streams, on=on, window=window, time="ts", delay=us(least_delay(*whole)), select=["l.id AS l", "r.id AS r"]
    )
    found = run(joined.selectExpr("l", "r", "unix_micros(join_time) AS t"))
    rows = np.array(found.rows, dtype=np.int64).T
    assert rows.shape[1] > 10_000
    np.testing.assert_array_equal(rows[:, np.lexsort(rows[::-1])], expected)
    assert sum(found.metric("late_left") + found.metric("late_right")) == 0
