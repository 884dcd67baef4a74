"""What keeping late rows costs: `late="keep"` beside the same join without, where no row is late and where some are.

One sink is Spark's noop; two are `foreachBatch` with a noop each, as `streamjoin run --late` writes two directories.

python benchmarks/spark/late.py --rate 10000 --rounds 5
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench import Median, report
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter
from replay import Contestant, Replay, pace, session

import streamjoin as sj
from streamjoin.cli.workload import ON

LATE_SECONDS = 3600
CASES = {"none": 0, "1 in 100": 100}
"""Of which left rows every so many is late."""


def join(late: str, every: int) -> Contestant:
    """Our join; of the left rows, one in `every` is of an hour before."""

    def build(spark: SparkSession, replay: Replay, window: float) -> DataFrame:
        left = replay.stream(spark, "left")
        if every:
            late_if = f"CASE WHEN id % {every} = 0 THEN ts - INTERVAL {LATE_SECONDS} SECONDS ELSE ts END AS ts"
            left = left.selectExpr(late_if, "x", "y", "id")
        kept = sj.within(f"{window} seconds")
        right = replay.stream(spark, "right")
        return sj.join(left, right, on=ON, window=kept, time="ts", delay="0 seconds", late=late)

    return build


def into_one(rows: DataFrame) -> DataStreamWriter:
    """All rows into one sink."""
    return rows.writeStream.format("noop")


def into_two(rows: DataFrame) -> DataStreamWriter:
    """Results into one sink, kept rows into another: the micro-batch is held meanwhile."""

    def split(batch: DataFrame, number: int) -> None:
        del number
        batch.persist()
        for reason in ("IS NULL", "IS NOT NULL"):
            batch.where(f"late_reason {reason}").write.format("noop").mode("overwrite").save()
        batch.unpersist()

    return rows.writeStream.foreachBatch(split)


CONTESTANTS = [
    *((case, late, "one", into_one) for case in CASES for late in ("drop", "keep")),
    ("1 in 100", "keep", "two", into_two),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--window", type=int, default=60)
    parser.add_argument("--rate", type=float, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batches", type=int, default=4)
    options = parser.parse_args()
    spark = session()
    pace(spark, join("keep", 100), options.rate, options.window, batches=1)  # compiles and warms
    seconds: dict[tuple[str, str, str], list[float]] = {each[:3]: [] for each in CONTESTANTS}
    dropped = {}
    for _ in range(options.rounds):
        for case, late, sinks, into in CONTESTANTS:
            given = {"batches": options.batches, "into": into}
            found = pace(spark, join(late, CASES[case]), options.rate, options.window, **given)
            seconds[case, late, sinks].append(float(found.median(lambda p: p["durationMs"]["triggerExecution"] / 1000)))
            dropped[case] = int(found.median(lambda p: p["observedMetrics"]["streamjoin"]["late_left"]))
            print(case, late, sinks, seconds[case, late, sinks][-1], flush=True)
    spark.stop()
    medians = {key: Median.of(taken) for key, taken in seconds.items()}
    rows = [
        [case, dropped[case], late, sinks, median, median / medians[case, "drop", "one"]]
        for (case, late, sinks), median in medians.items()
    ]
    about = (
        f"The papers' benchmark on local[2], {options.window} s windows, {options.rate:,.0f} rows/s per stream, "
        "micro-batches of 10 s: seconds of a micro-batch, median of "
        f"{options.rounds} runs in turns. Late are left rows; sinks are noop, two of them by foreachBatch and persist."
    )
    report("spark-late", about, ["late rows", "in a micro-batch", "late=", "sinks", "seconds", "to drop"], rows)


if __name__ == "__main__":
    main()
