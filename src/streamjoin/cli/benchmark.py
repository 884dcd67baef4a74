"""``streamjoin demo``: the papers' benchmark on a local Spark, and what theory says of it."""

import statistics
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from pyspark.sql import DataFrame, SparkSession
from rich.console import Console
from rich.table import Table

from streamjoin.cli.display import Monitor
from streamjoin.cli.words import si, size
from streamjoin.cli.workload import ON, BenchmarkSource, Workload
from streamjoin.join import join
from streamjoin.model.outputs import count_outputs, find_output_rate
from streamjoin.model.pairs import count_pairs
from streamjoin.spark.compat import ENDS_BY_ITSELF
from streamjoin.spark.progress import Progress
from streamjoin.spec.window import Between, within


@dataclass(frozen=True)
class Demo:
    """A workload and the window it is joined in, in seconds."""

    workload: Workload
    window: float

    def frame(self, spark: SparkSession) -> DataFrame:
        """The join as a streaming DataFrame."""
        spark.dataSource.register(BenchmarkSource)
        left, right = (self._streams(spark, side) for side in ("left", "right"))
        return join(left, right, on=ON, window=self.spec, time="ts", delay=f"{self.workload.disorder} seconds")

    @property
    def spec(self) -> Between:
        """The window as the join is facts it."""
        return within(f"{round(self.window * 1e6)} microseconds")

    def _streams(self, spark: SparkSession, side: Literal["left", "right"]) -> list[DataFrame]:
        reader = spark.readStream.format(BenchmarkSource.name())
        return [reader.options(**self.workload.options(side, n)).load() for n in range(self.workload.streams)]

    def run(self, spark: SparkSession, console: Console, interrupted: Callable[[], bool]) -> None:
        """Run to the end, showing progress, then the summary."""
        load = self.workload
        title = f"{si(load.rate)} rows/s a stream, windows of {self.window:g} s, {load.seconds:g} s of event time"
        console.print(f"[bold]{title}[/]\n  {ON}", highlight=False)
        with tempfile.TemporaryDirectory(prefix="streamjoin-demo-", ignore_cleanup_errors=True) as scratch:
            writer = self.frame(spark).writeStream.format("noop").option("checkpointLocation", scratch)
            writer = writer.trigger(availableNow=True) if ENDS_BY_ITSELF else writer.trigger(processingTime="0 seconds")
            query = writer.start()
            try:
                monitor = Monitor(query, "streamjoin", console, title, load.steps)
                monitor.follow(lambda: interrupted() or len(monitor.seen) >= load.steps)
            finally:
                query.stop()
        if not interrupted():
            console.print(self.summary(monitor.seen))

    def summary(self, seen: list[Progress]) -> Table:
        """Predicted against measured."""
        load = self.workload
        facts = self.spec, load.rates, load.hit_rate
        full = [p for p in seen if p.batch * load.step >= self.window] or seen
        seconds = sorted(p.seconds for p in full)
        table = Table(title="the join, as predicted and as measured", title_justify="left")
        for column in ("", "predicted", "measured"):
            table.add_column(column, justify="right" if column else "left")
        matches = sum(p.matches for p in seen)
        predicted = count_outputs(*facts, load.steps * load.step)
        table.add_row("matches", f"{predicted:,.0f}", f"{matches:,} ({(matches / predicted - 1) * 100:+.2f} %)")
        rate = statistics.median(p.matches for p in full) / load.step
        table.add_row("matches per event second, full windows", f"{find_output_rate(*facts):,.0f}", f"{rate:,.0f}")
        pairs = count_pairs(self.spec, load.rates, load.steps * load.step)
        decided = sum(p.comparisons for p in seen)
        table.add_row("pairs in the windows", f"{pairs:,.0f}", f"{decided:,} decided")
        table.add_section()
        pace = load.step / statistics.median(seconds)
        table.add_row("event seconds per second", "", f"{pace:.2f}")
        table.add_row("sustained rate per stream", "", f"{si(load.rate * pace)} rows/s at this work per row")
        table.add_row("pairs decided per second", "", si(statistics.median(p.comparisons_per_second for p in full)))
        p50, p99 = (_quantile(seconds, share) for share in (0.5, 0.99))
        table.add_row("batch time, p50 and p99", "", f"{p50:.2f} s, {p99:.2f} s")
        spread = statistics.median(p.load_std_percent for p in full)
        table.add_row("load spread over cells", "", f"{spread:.2f} %")
        last = full[-1]
        held = f"{last.state_rows:,} copies of rows, {size(last.state_bytes)}"
        table.add_row("windows", f"{2 * load.rate * self.window:,.0f} rows", held)
        return table


def _quantile(ordered: list[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, round(share * (len(ordered) - 1)))]
