"""Where Spark's own stream-stream join takes the condition and nothing is late, both joins give the same rows."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import expr

import streamjoin as sj
from tests.spark.harness import feed, run, values

BOUNDS = {
    "around": ("-3 seconds", "2 seconds", sj.between("-3 seconds", "2 seconds")),
    "after": ("0 seconds", "4 seconds", sj.within(left="4 seconds", right="0 seconds")),
}


@pytest.mark.parametrize(
    ("bounds", "on"),
    [
        pytest.param("around", "l.x = r.a", marks=pytest.mark.slow),
        ("after", "l.x = r.a AND l.s = r.s AND l.y < r.b"),
    ],
    ids=str,
)
def test_both_joins_of_two_streams_give_the_same_rows(
    spark: SparkSession, tmp_path: Path, bounds: str, on: str
) -> None:
    random = np.random.default_rng(len(on + bounds))

    def rows(names: str) -> list[list[dict[str, Any]]]:
        """Four batches of a row every half second or so, each up to 10 s behind the latest."""
        key, number = names

        def row(batch: int) -> dict[str, Any]:
            return {
                "ts": int(random.integers(batch * 10_000_000, batch * 10_000_000 + 20_000_000)),
                key: None if random.random() < 0.1 else int(random.integers(0, 3)),
                number: float(random.choice([0.0, -0.0, 1.5, float("nan")])),
                "s": str(random.choice(["a", "b", ""])),
            }

        return [[row(batch) for _ in range(40)] for batch in range(4)]

    schema = "ts timestamp, {} int, {} double, s string"
    left, right = (feed(tmp_path, schema.format(*names), rows(names)).stream(spark) for names in ("xy", "ab"))
    lower, upper, window = BOUNDS[bounds]
    ours = sj.join(left, right, on=on, window=window, time="ts", delay="20 seconds")
    near = f"r.ts BETWEEN l.ts + INTERVAL {lower} AND l.ts + INTERVAL {upper}"
    l, r = (side.withWatermark("ts", "20 seconds") for side in (left, right))
    theirs = l.alias("l").join(r.alias("r"), expr(f"{on} AND {near}"))
    found = run(ours)
    assert values(row[:-1] for row in found.rows) == values(run(theirs).rows)
    assert len(found.rows) > 50
    assert sum(found.metric("late_left") + found.metric("late_right")) == 0
