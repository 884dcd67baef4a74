"""The papers' benchmark as a streaming source that can be replayed.

R(x int, y float) and S(a int, b float), values from 1 to 10,000, a band of 10 on both: about one pair in 250,000
matches (CellJoin 8.2, Handshake join 5.1, ScaleJoin VI). The rows of a step are a pure function of the seed, the stream
and the step's number, so a micro-batch that is tried again reads the same rows.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from streamjoin.model.pairs import Sides
from streamjoin.model.selectivity import find_listed_share, find_real_share, find_whole_share, list_zipf_shares
from streamjoin.spark.compat import TriggerAvailableNow

ON = "abs(l.x - r.a) <= 10 AND abs(l.y - r.b) <= 10"
BAND = 10
VALUES = 10_000
EPOCH = 1_767_225_600_000_000
"""2026-01-01, in microseconds."""

_COLUMNS = {"left": ("x", "y"), "right": ("a", "b")}


@dataclass(frozen=True)
class Workload:
    """Two streams of `rate` rows per second of event time each, for so many seconds, `step` seconds a micro-batch.

    `skew` is the exponent of a Zipf distribution of the values (0: uniform); a row comes up to `disorder` seconds late;
    each side is made up of so many physical `streams`. `paced` streams keep to the clock, others go as fast as they
    can.
    """

    rate: float = 4000
    seconds: float = 240
    step: float = 6
    seed: int = 1
    skew: float = 0.0
    disorder: float = 0.0
    streams: int = 1
    paced: bool = False

    @property
    def steps(self) -> int:
        """The number of micro-batches."""
        return max(1, round(self.seconds / self.step))

    def options(self, side: Literal["left", "right"], stream: int) -> dict[str, str]:
        """The options of the source for one physical stream."""
        return {f.name: str(getattr(self, f.name)) for f in fields(self)} | {"side": side, "stream": str(stream)}

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> "Workload":
        """The workload that `options` was made of."""
        kinds: dict[str, Callable[[str], Any]] = {"seed": int, "streams": int, "paced": lambda said: said == "True"}
        return cls(**{f.name: kinds.get(f.name, float)(options[f.name]) for f in fields(cls) if f.name in options})

    def rows(self, side: str, stream: int, step: int) -> pa.RecordBatch:
        """The rows of a physical stream in one step."""
        number = ("left", "right").index(side)
        rng = np.random.default_rng([self.seed, number, stream, step])
        span = self.step * 1e6
        count = round(self.rate * self.step / self.streams)
        at = step * span + (np.arange(count) + rng.random(count)) * (span / max(count, 1))
        late = rng.random(count) * self.disorder * 1e6
        first, second = _COLUMNS[side]
        return pa.record_batch(
            {
                "ts": pa.array(EPOCH + (at - late).astype(np.int64), pa.timestamp("us", tz="UTC")),
                first: pa.array(self._draw_whole(rng, count)),
                second: pa.array(self._draw_floating(rng, count)),
            }
        )

    def _draw_whole(self, rng: np.random.Generator, count: int) -> NDArray[np.int32]:
        if not self.skew:
            return rng.integers(1, VALUES + 1, count, np.int32)
        bounds = np.cumsum(list_zipf_shares(self.skew, VALUES))
        return (np.searchsorted(bounds, rng.random(count)) + 1).clip(1, VALUES).astype(np.int32)

    def _draw_floating(self, rng: np.random.Generator, count: int) -> NDArray[np.float32]:
        if not self.skew:
            return rng.uniform(1, VALUES, count).astype(np.float32)
        return self._draw_whole(rng, count).astype(np.float32)

    @property
    def rates(self) -> Sides:
        """Rows per second of event time."""
        return Sides.equal(self.rate)

    @property
    def hit_rate(self) -> float:
        """The probability that two rows match."""
        if not self.skew:
            return find_whole_share(BAND, VALUES) * find_real_share(BAND, VALUES - 1)
        return find_listed_share(BAND, list_zipf_shares(self.skew, VALUES)) ** 2


class BenchmarkSource(DataSource):
    """``spark.readStream.format("streamjoin-benchmark")``; options are the fields of `Workload`, side and stream."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "streamjoin-benchmark"

    def schema(self) -> str:
        """The columns of one side."""
        first, second = _COLUMNS[self.options["side"]]
        return f"ts TIMESTAMP, {first} INT, {second} FLOAT"

    def streamReader(self, schema: Any) -> "BenchmarkReader":  # noqa: ARG002, N802
        """What Spark reads with."""
        return BenchmarkReader(
            Workload.from_options(self.options), self.options["side"], int(self.options.get("stream", 0))
        )


@dataclass
class _Step(InputPartition):
    number: int


class BenchmarkReader(DataSourceStreamReader, TriggerAvailableNow):  # type: ignore[misc]
    """One physical stream; an offset is the number of steps that were read."""

    def __init__(self, workload: Workload, side: str, stream: int) -> None:
        self._workload, self._side, self._stream = workload, side, stream
        self._started, self._reached = time.monotonic(), 0

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """Before the first step."""
        return {"steps": 0}

    def latestOffset(self, start: dict[str, int] | None = None, limit: Any = None) -> dict[str, int]:  # noqa: ARG002, N802
        """One step a micro-batch, once its time has come; Spark says where it stands from 4.2 on."""
        due = self._workload.steps
        if self._workload.paced:
            due = min(due, int((time.monotonic() - self._started) / self._workload.step))
        reached = start["steps"] if start else self._reached
        self._reached = min(reached + 1, max(due, reached))
        return {"steps": self._reached}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """All steps are there from the beginning."""

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        """A partition for each step."""
        return [_Step(number) for number in range(start["steps"], end["steps"])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a step."""
        assert isinstance(partition, _Step)
        yield self._workload.rows(self._side, self._stream, partition.number)

    def commit(self, end: dict[str, int]) -> None:
        """Nothing is kept."""
