"""The tables of `scenarios` on Spark: those of one window and condition in one query, far apart in time."""

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import streamjoin as sj
from streamjoin.spec.how import How
from tests.scenarios import DDL, SCENARIOS, Result, Scenario, Told, rows
from tests.spark.harness import feed, micros, run

APART, FAR = 10**6, 10**9
"""How far the tables are from each other, in time and in ids; and the rows that come last."""

GROUPS: dict[tuple[str, str], list[Scenario]] = {}
for scenario in SCENARIOS:
    GROUPS.setdefault((str(scenario.window), scenario.on), []).append(scenario)


@pytest.mark.parametrize(
    ("window", "on", "how"),
    [
        pytest.param(*group, how, marks=pytest.mark.slow)
        for group in GROUPS
        for how in ("full", "left", "left_semi", "left_anti")
    ],
)
def test_everybody_meets_whom_the_tables_say(
    spark: SparkSession, tmp_path: Path, window: str, on: str, how: How
) -> None:
    group = GROUPS[window, on]

    def batches(side: str) -> list[list[Told]]:
        """The rows of a side in two micro-batches, one row here and the next there; then the end, twice."""
        told = [
            (row[0] + APART * number, row[1] + APART * number, row[2], row[3])
            for number, scenario in enumerate(group, 1)
            for row in getattr(scenario, side)
        ]
        return [told[::2], told[1::2], *([(FAR + k, FAR + k, 1, "a")] for k in (0, 1000))]

    left, right = (feed(tmp_path, DDL, map(rows, batches(side))).stream(spark) for side in ("left", "right"))
    joined = sj.join(
        left, right, on=on, window=group[0].window, time="ts", delay="1 minute", how=how, select=_selected(how)
    )
    found: dict[int, Counter[Result]] = {number: Counter() for number in range(1, len(group) + 1)}
    for row in run(joined).rows:
        l, r, time = row[0], row[1] if len(row) == 3 else None, micros(row.join_time)
        number = (l if l is not None else r) // APART
        if number in found:
            back = APART * number
            found[number][None if l is None else l - back, None if r is None else r - back, time - back] += 1
    wrong = [s.name for number, s in enumerate(group, 1) if not s.agrees(how, found[number])]
    assert not wrong, found


def _selected(how: How) -> list[str]:
    return ["l.id"] if how in ("left_semi", "left_anti") else ["l.id", "r.id AS rid"]
