"""What reducing inside the cells saves: aggregate beside the join, asof and sliding windows beside Spark's own.

python benchmarks/spark/reduce.py                  all three
python benchmarks/spark/reduce.py --only asof sliding

Both of a pair replay rows of one kind into a noop sink. First the rate is found that the other sustains; then ours runs
at the multiple of it that is asked for. At a speed of 1 event second per second or more it sustains that; the ratio is
that of the rates, estimated by the root of the speed.
"""

import argparse
import sys
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench import report
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from replay import Contestant, Pace, Replay, ours, pace, session, state_store

import streamjoin as sj
from streamjoin.cli.workload import ON

SYMBOLS = 1000
SIZE, EVERY = "1 hour", "10 seconds"


def join(spark: SparkSession, replay: Replay, filled: float) -> DataFrame:
    """All matches."""
    return ours()(spark, replay, filled)


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


class Case(NamedTuple):
    """Ours beside another: the seconds that fill each one's windows, a rate the other sustains or nearly, a ratio."""

    mine: Contestant
    other: Contestant
    filled: tuple[float, float]
    rate: float
    stores: tuple[str, ...]
    """The state stores that the other is tried with; the faster one counts."""
    asked: float


CASES = {
    "aggregate": Case(aggregate, join, (600, 300), 28_000, ("rocksdb",), 2.5),
    "asof": Case(asof, native_asof, (60, 60), 2_000, ("rocksdb", "hdfs"), 10),
    "sliding": Case(sliding, native_sliding, (60, 60), 500, ("rocksdb", "hdfs"), 30),
}


def compare(spark: SparkSession, name: str) -> list[Any]:
    """The rate that the other sustains, and how fast ours is at the multiple of it that is asked for."""
    case = CASES[name]

    def try_other(rate: float) -> Pace:
        with state_store(spark, store):
            return pace(spark, case.other, rate, case.filled[1])

    def try_mine(rate: float) -> Pace:
        return pace(spark, case.mine, rate, case.filled[0])

    speeds = {}
    for store in case.stores:
        speeds[store] = try_other(case.rate).speed
        print(f"    {name}, the other with {store}: {speeds[store]:.2f} event s per s", flush=True)
    store, theirs = max(speeds, key=speeds.__getitem__), case.rate
    while not 0.8 < speeds[store] < 1.25:
        theirs = estimate(theirs, speeds[store])
        speeds[store] = try_other(theirs).speed
        print(f"    {name}, the other at {theirs:,.0f} rows/s: {speeds[store]:.2f} event s per s", flush=True)
    theirs = estimate(theirs, speeds[store])
    rate = theirs * case.asked
    speed = try_mine(rate).speed
    print(f"    {name}, ours at {rate:,.0f} rows/s: {speed:.2f} event s per s", flush=True)
    return [name, theirs, rate, speed, f"{estimate(case.asked, speed):.1f}x", f"{case.asked:g}x"]


def estimate(rate: float, speed: float) -> float:
    """The rate that is sustained where this one was processed at that speed: work grows with its square at most."""
    return rate * max(speed, 0.04) ** 0.5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=CASES, nargs="*", default=list(CASES))
    options = parser.parse_args()
    spark = session()
    rows = [compare(spark, name) for name in options.only]
    spark.stop()
    about = (
        "The rate (rows a second and stream) that the other sustains on local[2] into a noop sink, with micro-batches "
        "of 10 s, and ours at the multiple of it that is asked for; a speed of 1 or more is sustained. aggregate: "
        f"`{ON}` within 300 s, count, avg and max, beside the inner join; asof: {SYMBOLS} symbols, 60 s, beside "
        f"Spark's stream-stream join on the same equality and time; sliding: {SIZE} every {EVERY}, {SYMBOLS} groups, "
        "beside Spark's own. Spark's has the faster state store of the two."
    )
    heads = ["case", "the other's rate", "our rate", "our event s per s", "ratio, estimated", "asked for"]
    report("spark-reduce", about, heads, rows)


if __name__ == "__main__":
    main()
