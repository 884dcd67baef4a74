"""Where Spark's own stream-stream join takes the condition and nothing is late, both joins give the same rows."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
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
EQUAL = "l.x = r.a"
MORE = "l.x = r.a AND l.s = r.s AND l.y < r.b"
SIDED = "l.x = r.a AND l.y > 0 AND r.s <> 'a' AND levenshtein(l.s, r.s) < 2"
FAR = 10**10
"""Two rows a side so far away that all others are decided by then."""


@pytest.mark.parametrize(
    ("how", "bounds", "on"),
    [
        ("inner", "after", MORE),
        ("full", "around", SIDED),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in [
                ("inner", "around", EQUAL),
                ("left", "around", SIDED),
                ("left", "after", MORE),
                ("right", "around", EQUAL),
                ("right", "after", SIDED),
                ("full", "after", EQUAL),
                ("left_semi", "around", SIDED),
                ("left_semi", "after", EQUAL),
            ]
        ),
    ],
)
def test_both_joins_of_two_streams_give_the_same_rows(
    spark: SparkSession, tmp_path: Path, how: str, bounds: str, on: str
) -> None:
    random = np.random.default_rng(len(on + bounds + how))

    def rows(names: str) -> list[list[dict[str, Any]]]:
        """Four batches of a row every half second or so, each up to 10 s behind the latest, and then the end."""
        key, number = names

        def row(batch: int) -> dict[str, Any]:
            return {
                "ts": int(random.integers(batch * 10_000_000, batch * 10_000_000 + 20_000_000)),
                key: None if random.random() < 0.1 else int(random.integers(0, 3)),
                number: float(random.choice([0.0, -0.0, 1.5, float("nan")])),
                "s": str(random.choice(["a", "b", ""])),
            }

        return [*([row(batch) for _ in range(40)] for batch in range(4)), [{"ts": FAR}], [{"ts": FAR + 1}]]

    schema = "ts timestamp, {} int, {} double, s string"
    left, right = (feed(tmp_path, schema.format(*names), rows(names)).stream(spark) for names in ("xy", "ab"))
    lower, upper, window = BOUNDS[bounds]
    ours = sj.join(left, right, on=on, window=window, time="ts", delay="20 seconds", how=how)
    near = f"r.ts BETWEEN l.ts + INTERVAL {lower} AND l.ts + INTERVAL {upper}"
    l, r = (side.withWatermark("ts", "20 seconds") for side in (left, right))
    theirs = l.alias("l").join(r.alias("r"), expr(f"{on} AND {near}"), how)
    found = run(ours)
    assert near_ones(row[:-1] for row in found.rows) == near_ones(run(theirs).rows)
    assert len(found.rows) > 20
    assert sum(found.metric("late_left") + found.metric("late_right")) == 0


def near_ones(rows: Iterable[Any]) -> Counter[str]:
    """Rows without those of the end."""
    end = datetime(1970, 1, 1) + timedelta(microseconds=FAR)
    return values(row for row in rows if all(t < end for t in row if isinstance(t, datetime)))
