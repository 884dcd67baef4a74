"""Joins whose cost is predicted and measured: rows as files, replayed in micro-batches, and what Spark said of each.

Three sets: `BATCHES`, whose seconds are predicted, `LAYOUTS`, each of them run in several layouts, and `FITTED`: on
those, and on none of the others, the constants of the model are fitted (``fitting.py``).
"""

import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from replay import _cpu_seconds

import streamjoin as sj
from streamjoin.cli.layout import parse_layout
from streamjoin.cli.workload import EPOCH

FILL_SECONDS = 60
SKIPPED, MEASURED = 2, 5
"""Micro-batches with full windows that only warm up, and those that are measured."""
CONDITIONS = {
    "bands": "abs(l.x - r.a) <= 10 AND abs(l.y - r.b) <= 10",
    "equality": "l.k = r.k",
    "formula": "(l.x - r.a) * (l.x - r.a) + (l.y - r.b) * (l.y - r.b) <= 100",
}
SCHEMAS = {
    "left": "ts timestamp, x int, y float, k bigint, id bigint, pad string",
    "right": "ts timestamp, a int, b float, k bigint, id bigint, pad string",
}


@dataclass(frozen=True)
class Case:
    """A join: rows per second, seconds that rows of each side stay, and what the rows are like.

    Values of x, y, a, b are uniform from 1 to `values`; keys are uniform over `keys`, but for a share `hot` of the rows
    that all have the key 0; `pad` is the length of a column of text that results carry.
    """

    name: str
    left: float
    right: float
    window: tuple[float, float] = (30, 30)
    layout: str = "Grid(1, 2)"
    on: Literal["bands", "equality", "formula"] = "bands"
    values: int = 10_000
    keys: int = 100_000
    hot: float = 0.0
    pad: int = 0
    step: float = 5

    @property
    def spec(self) -> Any:
        return sj.within(left=f"{self.window[0]} seconds", right=f"{self.window[1]} seconds")

    @property
    def hit_rate(self) -> float:
        from streamjoin.model.selectivity import find_real_share, find_whole_share

        if self.on == "equality":
            return self.hot**2 + (1 - self.hot) ** 2 / self.keys
        if self.on == "bands":
            return find_whole_share(10, self.values) * find_real_share(10, self.values - 1)
        return np.pi * 100 / self.values**2

    def rows(self, side: str, number: int, start: float, length: float) -> pa.Table:
        """The rows of one file."""
        rng = np.random.default_rng([number, side == "left"])
        count = round((self.left if side == "left" else self.right) * length)
        times = EPOCH + np.sort((start + rng.random(count) * length) * 1e6).astype(np.int64)
        keys = np.where(rng.random(count) < self.hot, 0, rng.integers(1, self.keys + 1, count))
        names = ("x", "y") if side == "left" else ("a", "b")
        pad = np.frombuffer(rng.bytes(count * self.pad // 2), np.uint8)
        return pa.table(
            {
                "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
                names[0]: rng.integers(1, self.values + 1, count, np.int32),
                names[1]: rng.uniform(1, self.values, count).astype(np.float32),
                "k": keys.astype(np.int64),
                "id": np.arange(count, dtype=np.int64) + number * 10_000_000,
                "pad": _texts(pad, count, self.pad),
            }
        )


def _texts(noise: np.ndarray, count: int, length: int) -> pa.Array:
    """Texts of hexadecimal digits, which do not compress well."""
    digits = noise.tobytes().hex().ljust(count * length, "0").encode()
    offsets = np.arange(count + 1, dtype=np.int32) * length
    return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(digits))


def _case(name: str, left: float, right: float | None = None, window: Any = 30, **more: Any) -> Case:
    spans = window if isinstance(window, tuple) else (window, window)
    return Case(name, left, left if right is None else right, spans, **more)


BATCHES = [
    _case("8 k, 45 s", 8_000, window=45),
    _case("30 k, 20 s", 30_000, window=20),
    _case("200-byte rows", 14_000, pad=200),
    _case("30 matches a row", 9_000, values=2_800),
    _case("1 : 3, windows 20 and 40 s", 6_000, 18_000, window=(20, 40)),
    _case("Grid(3, 3)", 10_000, layout="Grid(3, 3)"),
    _case("Scale(8)", 10_000, layout="Scale(8)"),
    _case("Keyed(4)", 15_000, layout="Keyed(4)"),
    _case("120 s, 50-byte rows", 3_000, window=120, pad=50),
    _case("5 : 1, 100-byte rows, Grid(4, 2)", 20_000, 4_000, layout="Grid(4, 2)", pad=100),
    _case("equality, Keyed(8, spread=2)", 16_000, on="equality", keys=50_000, layout="Keyed(8, spread=2)"),
    _case("300-byte rows, 10 matches, Grid(2, 2)", 5_000, values=3_000, pad=300, layout="Grid(2, 2)"),
]

FITTED = [
    _case("fit: few rows", 200, window=10),
    _case("fit: few rows, Grid(4, 4)", 200, window=10, layout="Grid(4, 4)"),
    _case("fit: few rows, Scale(8)", 200, window=10, layout="Scale(8)"),
    _case("fit: 20 k, 15 s", 20_000, window=15),
    _case("fit: 6 k, 60 s", 6_000, window=60),
    _case("fit: 40 k, few results", 40_000, window=10, values=40_000),
    _case("fit: 120-byte rows", 12_000, window=20, pad=120),
    _case("fit: 500-byte rows", 4_000, pad=500, values=20_000),
    _case("fit: 60 matches a row", 8_000, values=2_000),
    _case("fit: 100-byte rows, 15 matches", 3_000, window=40, values=1_500, pad=100),
    _case("fit: Grid(2, 2)", 14_000, window=20, layout="Grid(2, 2)"),
    _case("fit: Scale(4)", 8_000, window=40, layout="Scale(4)"),
    _case("fit: Keyed(8)", 12_000, layout="Keyed(8)"),
    _case("fit: Grid(4, 4)", 12_000, window=20, layout="Grid(4, 4)"),
    _case("fit: 60-byte rows, Scale(12)", 6_000, window=20, layout="Scale(12)", pad=60),
    _case("fit: 6 : 1, 150-byte rows, Grid(2, 3)", 15_000, 2_500, window=20, layout="Grid(2, 3)", pad=150),
    _case("fit: 1 : 8, windows 30 and 10 s", 2_000, 16_000, window=(30, 10)),
    _case("fit: equality", 12_000, window=20, on="equality", keys=20_000),
    _case("fit: equality, 40-byte rows, Keyed(4)", 20_000, window=20, on="equality", layout="Keyed(4)", pad=40),
    _case("fit: 250-byte rows, Grid(3, 2)", 5_000, window=25, layout="Grid(3, 2)", pad=250),
    _case("fit: 90 s, 20-byte rows", 2_500, window=90, pad=20),
    _case("fit: formula", 3_000, window=20, on="formula"),
]

_DEALT = ("Grid(4, 4)", "Scale(16)", "Keyed(16)", "Keyed(16, spread=2)")
_OBLONG = ("Grid(4, 4)", "Grid(16, 1)", "Grid(1, 16)", "Scale(16)")

LAYOUTS = {
    _case("200-byte rows", 6_000, pad=200): _DEALT,
    _case("10 : 1, formula", 10_000, 1_000, on="formula"): _OBLONG,
    _case("10 : 1", 20_000, 2_000): ("Grid(16, 1)", *_DEALT),
    _case("hot key, 2 % of rows", 8_000, window=5, on="equality", hot=0.02): _DEALT,
    _case("equality", 10_000, on="equality"): _DEALT,
    _case("narrow rows", 10_000): _DEALT,
    _case("1 : 8, 400-byte rows", 1_500, 12_000, pad=400, values=20_000): _OBLONG,
    _case("formula, 300-byte rows", 2_000, on="formula", pad=300, values=20_000): _OBLONG,
    _case("60 s, 50-byte rows", 8_000, window=60, pad=50): _DEALT,
    _case("equality, 200-byte rows", 6_000, pad=200, on="equality"): _DEALT,
}
"""Joins, and the layouts of 16 cells that are compared, `auto` for 16 partitions among them; `Grid(1, 2)` runs too."""


def list_layout_cases() -> Iterator[Case]:
    for case, layouts in LAYOUTS.items():
        for layout in ["Grid(1, 2)", *layouts]:
            yield replace(case, name=f"layout: {case.name}", layout=layout)


class Replay:
    """A case as files, one a side and micro-batch: large ones that fill the windows, then those that are measured."""

    def __init__(self, case: Case, batches: int) -> None:
        self.home, self.case = Path(tempfile.mkdtemp(prefix="streamjoin-bench-")), case
        fill = max(case.window)
        self.fills = max(1, round(fill / FILL_SECONDS))
        lengths = [fill / self.fills] * self.fills + [case.step] * batches
        for side in ("left", "right"):
            (self.home / side).mkdir()
            for number, length in enumerate(lengths):
                draft = self.home / side / f".{number:04}"
                table = case.rows(side, number, sum(lengths[:number]), length)
                pq.write_table(table, draft, row_group_size=max(1, len(table) // 4))
                os.utime(draft, (number, 1_700_000_000 + number))  # Spark takes the oldest file first
                draft.rename(self.home / side / f"{number:04}.parquet")

    def join(self, spark: SparkSession) -> DataFrame:
        left, right = (
            spark.readStream.schema(SCHEMAS[side]).option("maxFilesPerTrigger", 1).parquet(str(self.home / side))
            for side in ("left", "right")
        )
        select = ["l.ts", "l.id", "r.id AS other"] + (["l.pad", "r.pad AS pad_r"] if self.case.pad else [])
        layout = "auto" if self.case.layout == "auto" else parse_layout(self.case.layout)
        on, spec = CONDITIONS[self.case.on], self.case.spec
        return sj.join(left, right, on=on, window=spec, time="ts", delay="0 seconds", layout=layout, select=select)


def warm(spark: SparkSession) -> None:
    """Half a minute of small micro-batches: until Java has compiled what it runs, they take up to twice as long."""
    for pad in (10, 0):
        case = Case("warm", 4_000, 4_000, (10, 10), values=1_000, pad=pad, layout="Grid(2, 2)", step=2)
        measure(spark, case, batches=25)


def measure(spark: SparkSession, case: Case, patience: float = 240, batches: int = MEASURED) -> dict[str, Any]:
    """Seconds and metrics of the measured micro-batches, and the CPU seconds of all processes meanwhile."""
    replay = Replay(case, SKIPPED + batches)
    before = replay.fills + SKIPPED
    checkpoint = str(replay.home / "checkpoint")
    query = replay.join(spark).writeStream.format("noop").option("checkpointLocation", checkpoint).start()
    began, cpu_then, counted_from, seen = time.monotonic(), 0.0, 0, None
    reports: list[dict[str, Any]] = []
    try:
        while query.isActive and len(reports) < before + batches and time.monotonic() - began < patience:
            time.sleep(0.05)
            if (last := query.lastProgress) is None or last["batchId"] == seen:
                continue  # all reports are read but once a micro-batch: reading takes CPU time too
            seen, reports = last["batchId"], [json.loads(p.json) for p in query.recentProgress if p["numInputRows"]]
            if len(reports) >= before and not counted_from:
                cpu_then, counted_from = sum(_cpu_seconds()), len(reports)
        spent = sum(_cpu_seconds()) - cpu_then
        if error := query.exception():
            raise error
    finally:
        query.stop()
        shutil.rmtree(replay.home, ignore_errors=True)
    measured = reports[before:]
    return {
        **asdict(case),
        "seconds": [p["durationMs"]["triggerExecution"] / 1000 for p in measured],
        "add_batch": [p["durationMs"]["addBatch"] / 1000 for p in measured],
        "rows": [p["numInputRows"] for p in measured],
        "metrics": [{k: v for k, v in p["observedMetrics"]["streamjoin"].items() if k != "loads"} for p in measured],
        "cpu": spent,
        "cpu_rows": sum(p["numInputRows"] for p in reports[counted_from:]),
        "busy": os.getloadavg()[0],
    }


def session() -> SparkSession:
    """Two cores; inputs are cut into as many partitions as there are cores, as those of a busy source are."""
    return sj.session(
        "benchmark",
        master="local[2]",
        partitions=2,
        conf={
            "spark.sql.session.timeZone": "UTC",
            "spark.driver.memory": "4g",
            "spark.sql.files.openCostInBytes": "1",
        },
    )
