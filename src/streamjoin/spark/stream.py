"""The streaming flow: emitters, cells, collector."""

from weakref import WeakKeyDictionary

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from streamjoin.flow.cache import CacheSpec
from streamjoin.flow.cache.directory import remove
from streamjoin.spark.cell import COUNTS, RESULTS, SECONDS, CellProcessor
from streamjoin.spark.collector import collect, place, settle
from streamjoin.spark.compat import when_queries_end
from streamjoin.spark.emitter import EMITTED, emit
from streamjoin.spark.job import Job
from streamjoin.spark.remote import RemoteProcessor, remote

_caches: WeakKeyDictionary[SparkSession, set[CacheSpec]] = WeakKeyDictionary()


def stream(job: Job, left: DataFrame, right: DataFrame, schema: StructType, arrow: pa.Schema) -> DataFrame:
    """The results of a join of two streams, as rows of this schema."""
    packed = job.packed()
    blocks = left.mapInArrow(remote(emit, packed, "l"), EMITTED).union(
        right.mapInArrow(remote(emit, packed, "r"), EMITTED)
    )
    processor = RemoteProcessor(CellProcessor, packed)
    results = blocks.groupBy("cell").transformWithStateInPandas(processor, RESULTS, "append", "EventTime")
    _clean_up_after_queries(left.sparkSession, job.cache)
    blocks = results.observe(job.name, *_metrics()).where("block IS NOT NULL")
    if not job.plan.shared:
        return blocks.select("block").mapInArrow(remote(collect, arrow), schema)
    together = blocks.repartition(job.partitions, F.expr(place(job))).select("cell", "stripe", "page", "block")
    return together.mapInArrow(remote(settle, packed, arrow, in_order=False), schema)


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
    """Delete the cached segments of a query that has ended; other hosts than the driver's find out for themselves."""
    if spark not in _caches:
        caches = _caches[spark] = set()

        def clean_up(query: str) -> None:
            for cache in caches.copy():
                remove(cache.root, query)

        when_queries_end(spark, clean_up)
    _caches[spark].add(cache)
