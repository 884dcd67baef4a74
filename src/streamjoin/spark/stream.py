"""The streaming flow: emitters, cells, collector."""

from functools import partial
from typing import Any, ClassVar, cast
from weakref import WeakKeyDictionary

import pyarrow as pa
from pyspark import SparkContext
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.listener import StreamingQueryListener
from pyspark.sql.types import StructType

from streamjoin.spark.ahead import compile_ahead
from streamjoin.spark.cache import CacheSpec, remove
from streamjoin.spark.cell import COUNTS, RESULTS, SECONDS, CellProcessor
from streamjoin.spark.collector import collect, place, settle
from streamjoin.spark.emitter import EMITTED, emit
from streamjoin.spark.job import Job

_caches: WeakKeyDictionary[SparkSession, set[CacheSpec]] = WeakKeyDictionary()


def stream(job: Job, left: DataFrame, right: DataFrame, schema: StructType, arrow: pa.Schema) -> DataFrame:
    """The results of a join of two streams, as rows of this schema."""
    packed = job.packed()
    compile_ahead(left.sparkSession, job.plan)
    blocks = left.mapInArrow(partial(emit, packed, "l"), EMITTED).union(
        right.mapInArrow(partial(emit, packed, "r"), EMITTED)
    )
    results = blocks.groupBy("cell").transformWithStateInPandas(CellProcessor(packed), RESULTS, "append", "EventTime")
    _clean_up_after_queries(left.sparkSession, job.cache)
    blocks = results.observe(job.name, *_metrics()).where("block IS NOT NULL")
    if not job.plan.shared:
        return blocks.select("block").mapInArrow(partial(collect, arrow), schema)
    together = blocks.repartition(job.partitions, F.expr(place(job))).select("cell", "stripe", "page", "block")
    return together.mapInArrow(partial(settle, packed, arrow, in_order=False), schema)


def _metrics() -> list[Column]:
    """What the cells counted, put together; `loads` holds the comparisons of each cell."""
    load = F.col("counts")[COUNTS.index("comparisons")]
    in_order = F.sort_array(F.collect_list(F.when(load.isNotNull(), F.struct("cell", load.alias("load")))))
    return [
        *(F.sum(F.col("counts")[at]).alias(name) for at, name in enumerate(COUNTS)),
        *(F.sum(F.col("seconds")[at]).alias(name) for at, name in enumerate(SECONDS)),
        F.min(load).alias("load_min"),
        F.max(load).alias("load_max"),
        F.coalesce(100 * F.stddev_pop(load) / F.nullif(F.avg(load), F.lit(0)), F.lit(0.0)).alias("load_std_percent"),
        in_order["load"].alias("loads"),
    ]


def _clean_up_after_queries(spark: SparkSession, cache: CacheSpec) -> None:
    if spark not in _caches:
        _caches[spark] = set()
        spark.streams.addListener(cast("StreamingQueryListener", _Cleaner(_caches[spark])))
    _caches[spark].add(cache)


class _Cleaner:
    """Deletes the cached segments of a query that has ended; other hosts than the driver's find out for themselves.

    Spark's own base class for listeners fetches every part of every progress report from Java, value by value, some
    60 ms of a batch on two cores. This one takes the call and lets it go.
    """

    def __init__(self, caches: set[CacheSpec]) -> None:
        self._caches = caches

    def onQueryStarted(self, event: object) -> None:  # noqa: N802
        """Nothing to do."""

    def onQueryProgress(self, event: object) -> None:  # noqa: N802
        """Nothing to do."""

    def onQueryIdle(self, event: object) -> None:  # noqa: N802
        """Nothing to do."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        """Delete its files."""
        for cache in self._caches.copy():
            remove(cache, str(event.id().toString()))

    @property
    def _jlistener(self) -> Any:
        """What Spark registers."""
        jvm: Any = SparkContext._jvm
        return jvm.PythonStreamingQueryListenerWrapper(self)

    class Java:
        """What Java sees."""

        implements: ClassVar = ["org.apache.spark.sql.streaming.PythonStreamingQueryListener"]
