"""Strings in an inner join, decided by the worker or by Spark after the join: the same rows, in turns.

Names of ten letters, one of them mistyped, in 1,000 places: rows of one place match where their names differ by two
letters at most. Most pairs of a place fail. Where Spark decides, they cross to it first.

    python benchmarks/spark/strings.py --rate 2000 --window 30 --rounds 5
"""

import argparse
import sys
from pathlib import Path
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench import Median, report
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from replay import Contestant, Pace, Replay, pace, session

import streamjoin as sj
from streamjoin.predicate import Predicate

ON = "l.place = r.place AND levenshtein(l.name, r.name) <= 2"
NAME = (
    "overlay(substring(md5(CAST({first} % 1000 AS STRING)), 1, 10) "
    "PLACING substring(md5(CAST(id AS STRING)), 1, 1) FROM CAST(id % 10 + 1 AS INT))"
)
COLUMNS = {"left": ("x", "y"), "right": ("a", "b")}


def named(rows: DataFrame, side: str) -> DataFrame:
    """Rows of the papers' benchmark as names in places."""
    first, second = COLUMNS[side]
    return rows.selectExpr("ts", "id", f"CAST({second} % 1000 AS INT) AS place", f"{NAME.format(first=first)} AS name")


def join(left: DataFrame, right: DataFrame, window: float, *, in_worker: bool) -> DataFrame:
    """The join; with Spark deciding on names where the worker is not to."""
    within = sj.within(f"{window:g} seconds")
    with patch.object(Predicate, "prefer_worker", Predicate.prefer_worker if in_worker else lambda self: self):
        return sj.join(left, right, on=ON, window=within, time="ts", delay="0 seconds" if left.isStreaming else None)


def contestant(in_worker: bool) -> Contestant:
    def build(spark: SparkSession, replay: Replay, window: float) -> DataFrame:
        left, right = (named(replay.stream(spark, side), side) for side in COLUMNS)
        return join(left, right, window, in_worker=in_worker)

    return build


def check(spark: SparkSession) -> float:
    """Both ways give what Spark's own join gives; the share of candidates that match."""
    replay = Replay(200, 60, 10, 1)
    left, right = (named(spark.read.parquet(str(replay.home / side)), side).cache() for side in COLUMNS)
    nearby = "r.ts BETWEEN l.ts - INTERVAL 30 SECONDS AND l.ts + INTERVAL 30 SECONDS"
    pairs = left.alias("l").join(right.alias("r"), F.expr(f"l.place = r.place AND {nearby}"))
    wanted = sorted(pairs.where(ON).select("l.id", "r.id").collect())
    for in_worker in (True, False):
        assert sorted(join(left, right, 30, in_worker=in_worker).select("id_l", "id_r").collect()) == wanted
    return len(wanted) / pairs.count()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=2000)
    parser.add_argument("--window", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    spark = session()
    share = check(spark)
    ways = {"Spark, after the join": contestant(False), "the worker": contestant(True)}
    found: dict[str, list[Pace]] = {way: [] for way in ways}
    for _ in range(options.rounds):
        for way, build in ways.items():
            found[way].append(pace(spark, build, options.rate, options.window))
            print(f"    {way}: {found[way][-1].speed:.2f} event s per s", flush=True)
    spark.stop()
    speeds = {way: Median.of(each.speed for each in paces) for way, paces in found.items()}
    costs = {way: Median.of(each.cpu_per_million for each in paces) for way, paces in found.items()}
    rows = [[way, speed, speed / speeds["Spark, after the join"], costs[way]] for way, speed in speeds.items()]
    about = (
        f"`{ON}` as an inner join of streams on local[2], {options.rate:,.0f} rows/s per stream, {options.window} s "
        f"windows on either side, micro-batches of 10 s; {share:.2%} of the pairs that have one place match. Event "
        f"seconds per second and CPU seconds per million rows, median and spread of {options.rounds} runs in turns. "
        "Both ways give the rows that Spark's own join gives."
    )
    header = ["decides on names", "event s per s", "ratio", "CPU s per M rows"]
    report("spark-strings", about, header, rows)


if __name__ == "__main__":
    main()
