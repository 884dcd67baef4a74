"""``streamjoin run --late PATH``: results into one directory, rows that the join dropped into another.

Spark's own sink for files has one directory, so every micro-batch writes two: ``OUT/batch=7`` and ``PATH/batch=7``. One
that runs again after a failure replaces what it wrote.
"""

from collections.abc import Callable, Mapping

from pyspark.sql import DataFrame, SparkSession

from streamjoin.errors import StreamJoinError
from streamjoin.flow.late import COLUMNS, REASON
from streamjoin.paths import beneath
from streamjoin.spark.jvm import read_file, write_file

LATE_FILE = "streamjoin/late.txt"


def split_into(out: str, late: str, format: str, options: Mapping[str, str]) -> Callable[[DataFrame, int], None]:
    """What `foreachBatch` calls: the join runs once, and what it found is held while it is written."""

    def write(rows: DataFrame, number: int) -> None:
        rows.persist()
        try:
            kept, results = rows.where(f"{REASON} IS NOT NULL"), rows.where(f"{REASON} IS NULL").drop(*COLUMNS)
            for part, path in ((kept, late), (results, out)):
                writer = part.write.mode("overwrite").format(format).options(**options)
                writer.save(beneath(path, f"batch={number}"))
        finally:
            rows.unpersist()

    return write


def check_sink(spark: SparkSession, checkpoint: str, late: str | None, *, begins: bool) -> None:
    """Refuse to go on with another kind of sink: readers of one pass over the files of the other."""
    was = read_file(spark, checkpoint, LATE_FILE)
    if begins:
        if late or was:
            write_file(spark, checkpoint, LATE_FILE, late or "")
    elif bool(was) != bool(late):
        before = f"with --late {was}" if was else "without it"
        raise StreamJoinError(
            f"--late: got {late or 'none'}, but the run on this checkpoint began {before}, and its results lie in "
            "other files: go on as it began, or take another --out and --checkpoint"
        )
