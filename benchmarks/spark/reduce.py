"""What reducing inside the cells saves: aggregate beside the join, asof and sliding windows beside Spark's own.

python benchmarks/spark/reduce.py                  all three, each a ratio of two runs on the same rows
python benchmarks/spark/reduce.py --only asof

Both contestants of a pair replay the same files into a noop sink; the ratio is that of event seconds per wall second,
median over the measured micro-batches, at one rate.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench import report
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from replay import Contestant, Pace, Replay, ours, pace, session

import streamjoin as sj
from streamjoin.cli.workload import ON

SYMBOLS = 1000
SIZE, EVERY = "1 hour", "10 seconds"


def join(spark: SparkSession, replay: Replay, filled: float) -> DataFrame:
    """All matches."""
    return ours()(spark, replay, filled / 2)


def aggregate(spark: SparkSession, replay: Replay, filled: float) -> DataFrame:
    """Count, mean and greatest of what a row meets, in place of the matches; right rows stay twice as long."""
    return sj.aggregate(
        replay.stream(spark, "left"),
        replay.stream(spark, "right"),
        on=ON,
        window=sj.within(f"{filled / 2} seconds"),
        time="ts",
        delay="0 seconds",
        select=["l.id", "count(*) AS n", "avg(r.b) AS mean", "max(r.b) AS most"],
    )


def _by_symbol(spark: SparkSession, replay: Replay) -> tuple[DataFrame, DataFrame]:
    left = replay.stream(spark, "left").selectExpr("ts", f"x % {SYMBOLS} AS sym", "y AS price", "id")
    return left, replay.stream(spark, "right").selectExpr("ts", f"a % {SYMBOLS} AS sym", "b AS ask", "id")


def asof(spark: SparkSession, replay: Replay, window: float) -> DataFrame:
    """The last quote before each trade."""
    frames = _by_symbol(spark, replay)
    return sj.asof(*frames, by="sym", time="ts", delay="0 seconds", tolerance=f"{window} seconds")


def native_asof(spark: SparkSession, replay: Replay, window: float) -> DataFrame:
    """Spark's own join on the same equality and time: all quotes before each trade, of which one would be picked."""
    left, right = (frame.withWatermark("ts", "0 seconds") for frame in _by_symbol(spark, replay))
    near = f"l.sym = r.sym AND r.ts BETWEEN l.ts - INTERVAL {window:g} SECONDS AND l.ts"
    return left.alias("l").join(right.alias("r"), F.expr(near))


def sliding(spark: SparkSession, replay: Replay, window: float) -> DataFrame:
    """An hour that slides by ten seconds, by panes."""
    del window
    left, _ = _by_symbol(spark, replay)
    select = ["count(*) AS n", "avg(price) AS mean", "max(price) AS most"]
    return sj.sliding_aggregate(left, size=SIZE, every=EVERY, by="sym", time="ts", delay="0 seconds", select=select)


def native_sliding(spark: SparkSession, replay: Replay, window: float) -> DataFrame:
    """The same by Spark: every row in 360 windows."""
    del window
    left, _ = _by_symbol(spark, replay)
    grouped = left.withWatermark("ts", "0 seconds").groupBy(F.window("ts", SIZE, EVERY), "sym")
    return grouped.agg(F.count("*").alias("n"), F.avg("price").alias("mean"), F.max("price").alias("most"))


CASES: dict[str, tuple[Contestant, Contestant, float, float, float]] = {
    # name: ours, the other, seconds that are filled before, rate per stream, the ratio that is asked for
    "aggregate": (aggregate, join, 600, 10_000, 2.5),
    "asof": (asof, native_asof, 60, 2_000, 10),
    "sliding": (sliding, native_sliding, 20, 500, 30),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=CASES)
    parser.add_argument("--rate", type=float, help="rows per second and stream, in place of the case's own")
    options = parser.parse_args()
    spark = session()
    rows = []
    for name, (mine, other, filled, rate, asked) in CASES.items():
        if options.only not in (None, name):
            continue
        paces: list[Pace] = [pace(spark, each, options.rate or rate, filled) for each in (mine, other)]
        ratio = paces[0].speed / paces[1].speed
        rows.append([name, options.rate or rate, paces[0].speed, paces[1].speed, f"{ratio:.1f}x", f"{asked:g}x"])
        print(rows[-1], flush=True)
    spark.stop()
    about = (
        f"local[2], noop sink. aggregate: `{ON}` within 300 s, count, avg and max, beside the inner join; asof: "
        f"{SYMBOLS} symbols, 60 s, beside Spark's stream-stream join on the same equality and time; sliding: {SIZE} "
        f"every {EVERY}, {SYMBOLS} groups, beside Spark's own."
    )
    report("spark-reduce", about, ["case", "rate", "event s per s", "the other's", "ratio", "asked for"], rows)


if __name__ == "__main__":
    main()
