"""Where nothing is late, a join of streams gives the rows that Spark's own joins give."""

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
ONE_SIDED = "l.x = r.a AND l.y > 0 AND r.s <> 'a'"
MORE = "l.x = r.a AND l.s = r.s AND l.y < r.b"
TEXTS = f"{ONE_SIDED} AND levenshtein(l.s, r.s) < 2"
FAR = 10**10
"""Two rows a side so far away that all others are decided by then."""


@pytest.mark.parametrize(
    ("how", "bounds", "on"),
    [
        ("full", "around", TEXTS),
        pytest.param("inner", "after", MORE, marks=pytest.mark.slow),
        *(
            pytest.param(how, bounds, on, marks=pytest.mark.slow)
            for number, how in enumerate(("left", "right", "full", "left_semi"))
            for bounds, on in [
                (("around", "after")[number % 2], EQUAL),
                (("after", "around")[number % 2], ONE_SIDED),
                ("around", MORE),
                ("after", TEXTS),
            ]
        ),
        pytest.param("left_anti", "around", TEXTS, marks=pytest.mark.slow),
    ],
)
def test_streams_give_the_rows_that_spark_s_joins_give(
    spark: SparkSession, tmp_path: Path, how: str, bounds: str, on: str
) -> None:
    """Spark's join of the whole inputs is the judge, and its join of two streams where that agrees with it.

    In its outer joins of streams (4.3) NULL keys meet, and where the condition is more than an equality, rows without
    partner may be missing.
    """
    native = how == "inner" or (how != "left_anti" and on == EQUAL)
    random = np.random.default_rng(len(on + bounds + how))

    def rows(names: str) -> list[list[dict[str, Any]]]:
        """Four batches of a row every half second or so, each up to 10 s behind the latest, and then the end."""
        key, number = names

        def row(batch: int) -> dict[str, Any]:
            without_key = random.random() < 0.1 and not (native and how != "inner")
            return {
                "ts": int(random.integers(batch * 10_000_000, batch * 10_000_000 + 20_000_000)),
                key: None if without_key else int(random.integers(0, 3)),
                number: float(random.choice([0.0, -0.0, 1.5, float("nan")])),
                "s": str(random.choice(["a", "b", ""])),
            }

        return [*([row(batch) for _ in range(40)] for batch in range(4)), [{"ts": FAR}], [{"ts": FAR + 1}]]

    schema = "ts timestamp, {} int, {} double, s string"
    feeds = [feed(tmp_path, schema.format(*names), rows(names)) for names in ("xy", "ab")]
    left, right = (each.stream(spark) for each in feeds)
    lower, upper, window = BOUNDS[bounds]
    ours = run(sj.join(left, right, on=on, window=window, time="ts", delay="20 seconds", how=how))
    near = expr(f"{on} AND r.ts BETWEEN l.ts + INTERVAL {lower} AND l.ts + INTERVAL {upper}")
    whole = feeds[0].table(spark).alias("l").join(feeds[1].table(spark).alias("r"), near, how).collect()
    assert near_ones(row[:-1] for row in ours.rows) == near_ones(whole)
    if native:
        l, r = (side.withWatermark("ts", "20 seconds") for side in (left, right))
        assert near_ones(run(l.alias("l").join(r.alias("r"), near, how)).rows) == near_ones(whole)
    assert len(ours.rows) > 20
    assert sum(ours.metric("late_left") + ours.metric("late_right")) == 0


def near_ones(rows: Iterable[Any]) -> Counter[str]:
    """Rows without those of the end."""
    end = datetime(1970, 1, 1) + timedelta(microseconds=FAR)
    return values(row for row in rows if all(t < end for t in row if isinstance(t, datetime)))
