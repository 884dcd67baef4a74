"""What a checkpoint holds, read by Spark's own source for state, while no query runs on it."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from streamjoin.errors import StreamJoinError
from streamjoin.flow.checkpoint import CheckpointKey
from streamjoin.flow.emit import PLAN_CELL
from streamjoin.flow.job import Job
from streamjoin.flow.planfile import PLAN_FILE, check_joins, read_plan
from streamjoin.flow.settle import answer
from streamjoin.spark.backfill import to_batch
from streamjoin.spark.collector import ANSWERS, collect, place, settle_batches
from streamjoin.spark.compat import READS_STATE, RELEASE
from streamjoin.spark.job import pack_job, unpack_job
from streamjoin.spark.jvm import may_have_commits, read_file
from streamjoin.spark.placement import find_cell
from streamjoin.spark.processor import list_chunks, read_cell_note
from streamjoin.spark.remote import remote

_INSTEAD_OF_FLUSH = "Waiting rows come out of the query itself, once rows of a later time move its watermark"
_INSTEAD_OF_CHECK = (
    "There is no plan file yet, because the query died soon after its first commit. Start the query as it was, without "
    "asking: its tasks compare it with the state, and its next micro-batch leaves the plan file"
)


def check_checkpoint(spark: SparkSession, checkpoint: str, key: CheckpointKey) -> str:
    """Refuse a checkpoint of other joins; else say whether this one goes on from it."""
    stored = list(_read_keys(spark, checkpoint).values())
    if not stored:
        return f"begins: no join has committed to {checkpoint} yet"
    check_joins([key], stored)
    return f"goes on: {checkpoint} was written by this join"


def read_waiting(spark: SparkSession, checkpoint: str, job: Job, schema: StructType, arrow: pa.Schema) -> DataFrame:
    """The rows of a preserved side that are unmatched in a checkpoint, as rows of this schema."""
    stored = _read_keys(spark, checkpoint, from_state=True)
    if not stored:
        raise StreamJoinError(f"checkpoint: no join has committed to {checkpoint} yet, so no rows wait")
    check_joins([job.key], list(stored.values()))
    operator = next(number for number, text in stored.items() if CheckpointKey.from_json(text).digest == job.key.digest)
    notes = _read_state(spark, checkpoint, operator, "note").selectExpr(
        "key.cell AS key", "value.*", "CAST(NULL AS STRING) AS name", "CAST(NULL AS BINARY) AS content"
    )
    contents = _read_state(spark, checkpoint, operator, "contents").selectExpr(
        "key.cell AS key", "CAST(NULL AS STRING) AS plan", "CAST(NULL AS BINARY) AS worker",
        "CAST(NULL AS BINARY) AS cell", "user_map_key.name AS name", "user_map_value.content AS content",
    )  # fmt: skip
    cells = notes.unionAll(contents).where(f"key <> {PLAN_CELL}").repartition(job.partitions, "key")
    packed = pack_job(job)
    answers = cells.sortWithinPartitions("key", "name").mapInArrow(remote(finish_cells, packed), ANSWERS)
    if not job.plan.shared:
        return answers.select("block").mapInArrow(remote(collect, arrow), schema)
    together = answers.repartition(job.partitions, F.expr(place(job)))
    return together.mapInArrow(remote(settle_batches, packed, arrow, in_order=False), schema)


def finish_cells(packed: bytes, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The function of `mapInArrow` that ends the workers of cells: what they emit when no row comes any more."""
    job = unpack_job(packed, "streamjoin.worker")
    from streamjoin.worker import Worker

    cells: dict[int, _Cell] = {}
    for batch in batches:
        for key, _, worker, noted, name, content in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            cell = cells.setdefault(key, _Cell())
            if name is None:
                cell.manifest, cell.chunks = worker, read_cell_note(noted).get("chunks", {})
            else:
                cell.contents[name] = content
    for key, cell in cells.items():
        number = find_cell(key, job.layout.cells, job.partitions)
        for found in Worker.restore(job.plan, cell.manifest, cell.get, journal=False).finish():
            if answers := list(answer(job.layout, number, found)):
                yield to_batch(answers)


@dataclass
class _Cell:
    """The state of a cell."""

    manifest: bytes = b""
    chunks: dict[str, int] = field(default_factory=dict)
    contents: dict[str, bytes] = field(default_factory=dict)

    def get(self, name: str) -> bytes | None:
        """The content of this name."""
        keys = list_chunks(name, self.chunks)
        return b"".join(self.contents[key] for key in keys) if name in self.contents else None


def _read_keys(spark: SparkSession, checkpoint: str, *, from_state: bool = False) -> dict[int, str]:
    """The keys of the joins that wrote a checkpoint, by operator; of the plan file, if there is one, in its order."""
    if not from_state and (text := read_file(spark, checkpoint, PLAN_FILE)) and (keys := read_plan(text)):
        return dict(enumerate(keys))
    if not may_have_commits(spark, checkpoint):
        return {}
    if not READS_STATE:
        raise StreamJoinError(
            f"checkpoint: Spark {RELEASE} cannot read the state in {checkpoint}; from 4.1 on it can. "
            f"{_INSTEAD_OF_FLUSH if from_state else _INSTEAD_OF_CHECK}"
        )
    try:
        operators = spark.read.format("state-metadata").load(checkpoint)
        ours = operators.where("operatorProperties LIKE '%\"note\"%' AND operatorProperties LIKE '%\"contents\"%'")
        numbers = sorted({int(row[0]) for row in ours.select("operatorId").collect()})
    except PySparkException:  # there is no checkpoint, or none of a query with state
        return {}
    found = {}
    for number in numbers:
        plan = _read_state(spark, checkpoint, number, "note").where(f"key.cell = {PLAN_CELL}").select("value.plan")
        if row := plan.first():
            found[number] = str(row[0])
    return found


def _read_state(spark: SparkSession, checkpoint: str, operator: int, name: str) -> DataFrame:
    state = spark.read.format("statestore").option("operatorId", operator).option("stateVarName", name)
    return state.load(checkpoint)
