"""The dashboard beside real queries: it shows what Spark reported, and how they ended."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

import streamjoin as sj
from tests.spark.harness import feed

BATCHES = [[{"ts": 1_000_000 * k, "x": k}, {"ts": 1_000_000 * k + 5, "x": 9}] for k in range(3)]


@pytest.mark.every_spark
def test_a_dashboard_shows_a_query_and_why_it_failed(spark: SparkSession, tmp_path: Path) -> None:
    rows = feed(tmp_path, "ts TIMESTAMP, x INT", BATCHES)
    with sj.dashboard(spark) as page:
        frames = rows.stream(spark), rows.stream(spark)
        arguments: dict[str, Any] = {"on": "l.x < r.x", "window": sj.within("9 s"), "time": "ts", "delay": "0 s"}
        near = sj.join(*frames, **arguments)
        query = near.writeStream.format("noop").queryName("near").trigger(availableNow=True).start()
        query.awaitTermination()
        seen = await_query(page, "near", lambda found: found["ended"] is not None)
        assert seen["reason"] is None
        shown = [sample["joins"]["streamjoin"] for sample in seen["samples"] if sample["joins"]]
        wanted = [
            p["observedMetrics"]["streamjoin"]
            for p in query.recentProgress
            if p["observedMetrics"]["streamjoin"][0] is not None
        ]
        assert [one["matches"] for one in shown] == [one["matches"] for one in wanted]
        assert sum(one["rows_left"] for one in shown) == 6
        assert [one["newest_left"] for one in shown] == [max(row["ts"] for row in rows) for rows in BATCHES]
        plan = read_state(page)["plans"][shown[-1]["plan"]]
        assert plan == {"text": str(sj.explain(*frames, **arguments)), "delay_left": 0, "delay_right": 0}

        broken = near.selectExpr("raise_error('out of luck') AS x", "join_time")
        failing = broken.writeStream.format("noop").queryName("broken").trigger(availableNow=True).start()
        with pytest.raises(StreamingQueryException):
            failing.awaitTermination()
        assert "out of luck" in await_query(page, "broken", lambda found: found["ended"] is not None)["reason"]


def read_state(page: Any) -> dict[str, Any]:
    with urlopen(f"{page.url}state") as answer:
        return dict(json.load(answer))


def await_query(page: Any, name: str, ready: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """What the page is told of a query, once it is as wanted: Spark tells its listeners a little later."""
    for _ in range(100):
        found = [query for query in read_state(page)["queries"] if query["name"] == name and ready(query)]
        if found:
            return dict(found[0])
        time.sleep(0.1)
    raise AssertionError(f"nothing of {name}")
