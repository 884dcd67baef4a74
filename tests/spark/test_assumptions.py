"""What tests/simulation/runtime.py assumes of Spark, by its numbers, checked on Spark itself in one query.

The query is no join but a probe: emitting tasks that say who they are, cells that say what they see, a sink that notes
each batch. It runs, stops, fails in a task, fails in the sink, and goes on each time from its checkpoint. That late
rows and rows that a condition excludes move the watermark too is shown in test_watermarks.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark import TaskContext
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from tests.simulation.runtime import Watermark
from tests.spark.harness import Feed

SCHEMA = "ts timestamp, x int"
MS = 1000
DELAYS = {"l": 500, "r": 0}
TIMER = 16_000
"""A watermark that a batch will run under, to the millisecond."""


def probe_task(side: str) -> Any:
    """An emitting task: a record for each row, and from the task of partition 0 one for each cell."""

    def emit(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        part = context.partitionId()
        cells = [x % 2 for batch in batches for x in batch.column(0).to_pylist()]
        names = [f"{side} row"] * len(cells)
        if part == 0:
            cells, names = [*cells, 0, 1], [*names, "header", "header"]
        yield pa.record_batch({"cell": pa.array(cells, pa.int32()), "what": pa.array(names, pa.string())})

    return emit


def probe_cells(flag: str) -> StatefulProcessor:
    """Cells that count their batches and say what they were given; one fails once if the flag is there."""

    class Probe(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self._handle = handle
            self._seen = handle.getValueState("seen", "count int")

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
            given = sorted(what for frame in rows for what in frame["what"])
            seen = self._count()
            if seen == 1:
                for at in (TIMER, TIMER + 1):
                    self._handle.registerTimer(at)
            yield self._say("rows", key[0], timerValues, seen, ", ".join(given))
            if Path(flag).exists():
                raise RuntimeError("told to fail")

        def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
            yield self._say("timer", key[0], timerValues, self._count(), str(expiredTimerInfo.getExpiryTimeInMs()))

        def _count(self) -> int:
            found = self._seen.get()
            seen = (found[0] if found else 0) + 1
            self._seen.update((seen,))
            return seen

        def _say(self, kind: str, cell: int, timers: Any, seen: int, got: str) -> pd.DataFrame:
            mark = timers.getCurrentWatermarkInMs()
            return pd.DataFrame({"kind": [kind], "cell": [cell], "mark": [mark], "seen": [seen], "got": [got]})

        def close(self) -> None:
            pass

    return Probe()


class ProbeQuery:
    """The query, its inputs and what its sink was given: by batch, the rows of each time that it ran."""

    def __init__(self, spark: SparkSession, directory: Path) -> None:
        self._spark, self._directory = spark, directory
        self.feeds = {side: Feed(directory / side, SCHEMA) for side in DELAYS}
        self.flag = directory / "fail"
        self.sunk: list[tuple[int, list[tuple[Any, ...]]]] = []
        self.sink_fails = False

    def add(self, l: int | None, r: int | None) -> None:
        """A file for each side: a row at these milliseconds and one without a time, or no row."""
        for side, at in (("l", l), ("r", r)):
            self.feeds[side].add([] if at is None else [{"ts": at * MS + 999, "x": 0}, {"ts": None, "x": 1}])

    def run(self) -> list[tuple[int, list[tuple[Any, ...]]]]:
        """Run all that there is: what the sink was given."""
        sides = []
        for side, delay in DELAYS.items():
            rows = self.feeds[side].stream(self._spark).withWatermark("ts", f"{delay} milliseconds")
            sides.append(rows.select("x").mapInArrow(probe_task(side), "cell int, what string"))
        cells, said = (
            sides[0].union(sides[1]).groupBy("cell"),
            "kind string, cell int, mark bigint, seen int, got string",
        )
        found = cells.transformWithStateInPandas(probe_cells(str(self.flag)), said, "append", "EventTime")
        before = len(self.sunk)

        def sink(frame: DataFrame, id: int) -> None:
            self.sunk.append((id, sorted(map(tuple, frame.collect()))))
            if self.sink_fails:
                raise RuntimeError("told to fail")

        writer = found.writeStream.foreachBatch(sink).option("checkpointLocation", str(self._directory / "checkpoint"))
        query = writer.trigger(availableNow=True).start()
        try:
            query.awaitTermination()
        finally:
            query.stop()
        return self.sunk[before:]


@pytest.mark.slow  # CI runs it beside the simulation
def test_what_the_simulation_assumes_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    query = ProbeQuery(spark, tmp_path)
    mark = Watermark(DELAYS)

    def reach(l: int | None, r: int | None) -> int:
        """What the simulation says of the watermark after such a batch."""
        mark.update({"l": [{"ts": l and l * MS + 999}], "r": [{"ts": r and r * MS + 999}]})
        return mark.current

    def rows(seen: int, under: int, *sides: str) -> list[tuple[Any, ...]]:
        """What both cells say of a batch with rows: cell 0 has those with a time, cell 1 those without."""
        got = ", ".join(["header", *(f"{side} row" for side in sides)])
        return [("rows", cell, under, seen, got) for cell in (0, 1)]

    # 1, 3, 7: all tasks have one numbering, so one header comes; the watermark does not move, so no batch follows
    query.add(10_000, 9_000)
    query.add(20_000, None)
    assert reach(10_000, 9_000) == 9_000
    assert reach(20_000, None) == 9_000
    assert query.run() == [(0, rows(1, 0, "l", "r")), (1, rows(2, 9_000, "l"))]

    # 2: after a restart the 20 s of the left side are forgotten, the watermark is not. 3, 6: the batch without rows
    # that follows has no emitting task, only timers that the watermark has reached; the other ones wait
    mark = Watermark(DELAYS, mark.current)
    query.add(None, 15_000)
    query.add(21_000, 16_000)
    assert reach(None, 15_000) == 9_000
    assert reach(21_000, 16_000) == TIMER
    ran = query.run()
    assert ran[:2] == [(2, rows(3, 9_000, "r")), (3, rows(4, 9_000, "l", "r"))]
    assert ran[2:] == [(4, [("timer", cell, TIMER, 5, str(TIMER)) for cell in (0, 1)])]

    # 5: a task fails after it has changed state. 4: the batch runs again, under its watermark, on the state before.
    mark = Watermark(DELAYS, mark.current)
    query.add(30_000, 30_000)
    query.flag.touch()
    with pytest.raises(StreamingQueryException, match="told to fail"):
        query.run()
    query.flag.unlink()
    assert reach(30_000, 30_000) == 29_500
    ran = query.run()
    assert ran[0] == (5, rows(6, TIMER, "l", "r"))
    assert ran[1:] == [(6, [("timer", cell, 29_500, 7, str(TIMER + 1)) for cell in (0, 1)])]

    # 4, 8: the sink has the batch, and so has the state store; it runs again all the same, to the same results
    mark = Watermark(DELAYS, mark.current)
    query.add(40_000, 40_000)
    query.sink_fails = True
    with pytest.raises(StreamingQueryException, match="told to fail"):
        query.run()
    query.sink_fails = False
    first = query.sunk[-1]
    assert first == (7, rows(8, 29_500, "l", "r"))
    assert query.run()[0] == first
    assert reach(40_000, 40_000) == 39_500
