"""What the dashboard costs the driver while a query runs: CPU of listener and server, without and with a viewer.

One query at a steady rate, observed for the same time in three ways: no dashboard, one that nobody looks at, and one
that headless Chromium shows. Counted is the CPU time of all threads of the driver's Python process but the main one,
which sleeps: Spark's callbacks to listeners, and the web server. What the browser itself takes is not the driver's.

    python benchmarks/spark/dashboard.py --seconds 60
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench import report

import streamjoin as sj
from streamjoin.report.dashboard import Dashboard

LIMITS = {"no dashboard": None, "without a viewer": 1.0, "with one viewer": 5.0}
"""Percent of a core that issue 23 allows."""


def read_source(spark: SparkSession, name: str, rate: int) -> DataFrame:
    rows = spark.readStream.format("rate").option("rowsPerSecond", rate).load()
    return rows.selectExpr("timestamp AS ts", f"int(value % 10000) AS {name}")


def start_query(spark: SparkSession, rate: int, trigger: str, home: str) -> StreamingQuery:
    left, right = read_source(spark, "x", rate), read_source(spark, "a", rate)
    joined = sj.join(left, right, on="abs(l.x - r.a) <= 2", window=sj.within("30 s"), time="ts", delay="2 s")
    writer = joined.writeStream.format("noop").option("checkpointLocation", home)
    return writer.trigger(processingTime=trigger).start()


@contextmanager
def open_viewer(url: str) -> Iterator[None]:
    """Headless Chromium with the page open."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("no Chromium on the PATH (Debian: apt install chromium)")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = ["--headless", "--no-sandbox", "--remote-debugging-port=0", f"--user-data-dir={profile}"]
        browser = subprocess.Popen([chromium, *options, url], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield
        finally:
            browser.terminate()
            browser.wait()


def count_requests(page: Dashboard) -> list[float]:
    """Note the time of every request for the page's state, in a list that grows."""
    asked: list[float] = []
    read = page.history.read

    def noting(since: int = 0) -> dict[str, object]:
        asked.append(time.monotonic())
        return read(since)

    page.history.read = noting  # type: ignore[method-assign]
    return asked


def measure_others(seconds: float) -> float:
    """Percent of a core that all threads but this one take."""
    begun, before = time.monotonic(), time.process_time() - time.thread_time()
    time.sleep(seconds)
    return 100 * (time.process_time() - time.thread_time() - before) / (time.monotonic() - begun)


def measure(spark: SparkSession, query: StreamingQuery, way: str, seconds: float) -> list[object]:
    """A row of the table."""
    with ExitStack() as stack:
        asked: list[float] = []
        if way != "no dashboard":
            page = stack.enter_context(sj.dashboard(spark))
            asked = count_requests(page)
        if way == "with one viewer":
            stack.enter_context(open_viewer(page.url))
        time.sleep(5)  # the page is loaded, its code compiled
        begun, first = time.monotonic(), query.lastProgress["batchId"]
        percent = measure_others(seconds)
        requests = sum(at >= begun for at in asked)
        if (way == "with one viewer") != (requests > 0):
            raise SystemExit(f"{way}: {requests} requests of a viewer")
        batches = query.lastProgress["batchId"] - first
        allowed = LIMITS[way]
        return [way, batches / seconds, requests / seconds, round(percent, 2), "" if allowed is None else allowed]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="for each of the three ways")
    parser.add_argument("--rate", type=int, default=500, help="rows per second and side")
    parser.add_argument("--trigger", default="1 second")
    given = parser.parse_args()
    spark = sj.session("dashboard", master="local[2]", partitions=2, conf={"spark.ui.enabled": "false"})
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        query = start_query(spark, given.rate, given.trigger, home)
        while not query.lastProgress or query.lastProgress["batchId"] < 5:
            time.sleep(1)
        rows = [measure(spark, query, way, given.seconds) for way in LIMITS]
        query.stop()
    spark.stop()
    report(
        "spark-dashboard",
        f"CPU of the driver's Python beside its main thread, {given.seconds:g} s each; one join of {given.rate} rows/s "
        f"a side, a trigger every {given.trigger}.",
        ["dashboard", "micro-batches/s", "requests/s", "% of a core", "at most"],
        rows,
    )


if __name__ == "__main__":
    main()
