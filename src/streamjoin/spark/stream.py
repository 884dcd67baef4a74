"""The streaming flow: emitters, cells, collector."""

from collections.abc import Callable, Mapping
from functools import reduce

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from streamjoin.flow.job import Job
from streamjoin.flow.metrics import FINGERPRINT, METRICS, NUMBERS, SECONDS, Together
from streamjoin.spark.collector import collect, order_batches, place, settle_batches
from streamjoin.spark.emitter import EMITTED, emit_batches
from streamjoin.spark.job import pack_job
from streamjoin.spark.processor import RESULTS, CellProcessor
from streamjoin.spark.remote import RemoteProcessor, remote
from streamjoin.spark.watch import mark_of, watch
from streamjoin.spec.side import Side


def stream(
    job: Job, sides: Mapping[Side, DataFrame], schema: StructType, arrow: pa.Schema, fingerprint: str
) -> DataFrame:
    """The results of a join of two streams, as rows of this schema; metrics carry the fingerprint."""
    packed = pack_job(job)
    emitted = [rows.mapInArrow(remote(emit_batches, packed, side), EMITTED) for side, rows in sides.items()]
    blocks = reduce(DataFrame.union, emitted)
    processor = RemoteProcessor(CellProcessor, packed)
    results = blocks.groupBy("cell").transformWithStateInPandas(processor, RESULTS, "append", "EventTime")
    watch(blocks.sparkSession, job)
    metrics = *list_metrics(), F.max(F.lit(fingerprint)).alias(FINGERPRINT)
    blocks = results.observe(job.name, *metrics).alias(mark_of(job)).where("block IS NOT NULL")
    if job.plan.ordered:
        together = blocks.repartition(1).select("cell", "stripe", "page", "block")
        return together.mapInArrow(remote(order_batches, packed, arrow), schema)
    if not job.plan.shared:
        return blocks.select("block").mapInArrow(remote(collect, arrow), schema)
    together = blocks.repartition(job.partitions, F.expr(place(job))).select("cell", "stripe", "page", "block")
    return together.mapInArrow(remote(settle_batches, packed, arrow, in_order=False), schema)


def list_metrics() -> list[Column]:
    """The metrics of all cells, put together as they are declared."""
    return [_PUT_TOGETHER[metric.together](_find_column(metric.of)).alias(metric.name) for metric in METRICS]


def _find_column(name: str) -> Column:
    numbers = NUMBERS if name in NUMBERS else SECONDS
    return F.col("numbers" if name in NUMBERS else "seconds")[numbers.index(name)]


def _list_by_cell(value: Column) -> Column:
    values = F.collect_list(F.when(value.isNotNull(), F.struct("cell", value.alias("value"))))
    return F.sort_array(values)["value"]


_PUT_TOGETHER: dict[Together, Callable[[Column], Column]] = {
    "sum": F.sum,
    "least": F.min,
    "most": F.max,
    "spread": lambda value: F.coalesce(100 * F.stddev_pop(value) / F.nullif(F.avg(value), F.lit(0)), F.lit(0.0)),
    "each": _list_by_cell,
}
