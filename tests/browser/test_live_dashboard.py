"""The dashboard's page in a real browser beside a query that runs: charts show what Spark reported, as it comes."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

import streamjoin as sj
from tests.browser.conftest import Open, await_more_points, read_lines
from tests.spark.harness import feed

pytestmark = pytest.mark.browser


def read_reports(query: StreamingQuery) -> list[Any]:
    """The join's metrics of all micro-batches that had any."""
    each = [progress["observedMetrics"].get("streamjoin") for progress in query.recentProgress]
    return [metrics for metrics in each if metrics is not None and metrics.rows_left is not None]


def test_charts_move_while_a_query_runs(browser: Browser, visit: Open, spark: SparkSession, tmp_path: Path) -> None:
    assert browser.is_connected()  # asked for first: without Chromium no session is started
    rows = feed(tmp_path / "rows", "ts TIMESTAMP, x INT", [[{"ts": 0, "x": 1}, {"ts": 5, "x": 9}]])
    near = sj.join(
        *(rows.stream(spark), rows.stream(spark)), on="l.x < r.x", window=sj.within("9 s"), time="ts", delay="0 s"
    )
    with sj.dashboard(spark) as served:
        page = visit(served.url)
        expect(page.get_by_text("No query has reported yet")).to_be_visible()
        query = near.writeStream.format("noop").queryName("near").start()
        try:
            seen = await_more_points(page, 0)
            for second in (1, 2):
                rows.add([{"ts": second * 1_000_000, "x": second}])
                seen = await_more_points(page, seen)
            expect(page.locator("#state")).to_contain_text("Running since")
            query.processAllAvailable()
        finally:
            query.stop()
        expect(page.locator("#state")).to_contain_text("Ended at")
        reports = read_reports(query)
        await_more_points(page, len(reports) - 1)
        assert read_lines(page, "Windows")["rows"] == [each.state_rows for each in reports]
        assert read_lines(page, "Rows in")["left"][0] is None
        assert max(read_lines(page, "Rows in")["left"][1:], default=0) > 0
