from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from streamjoin.flow.emit import PLAN_CELL
from streamjoin.spark.placement import deal_keys, spark_hash


def test_the_hash_is_that_of_spark(spark: SparkSession) -> None:
    edges = [-(2**31), 2**31 - 1, *(sign * 2**power for power in range(31) for sign in (-1, 1))]
    rows = (
        spark.range(-5000, 5000)
        .selectExpr("CAST(id * 214748 AS INT) AS value")
        .union(spark.createDataFrame([(edge,) for edge in edges], "value INT"))
    )
    found = rows.selectExpr("value", "hash(value) AS hash").toArrow().to_pylist()
    assert [(row["value"], row["hash"]) for row in found] == [(r["value"], spark_hash(r["value"])) for r in found]


def test_spark_puts_the_keys_of_cells_into_partitions_in_turn(spark: SparkSession) -> None:
    keys = deal_keys(7, 3)
    rows = spark.createDataFrame([(key,) for key in keys], "cell INT").repartition(3, "cell")
    found = {row.cell: row.partition for row in rows.selectExpr("cell", "spark_partition_id() AS partition").collect()}
    assert [found[key] for key in keys] == [0, 1, 2, 0, 1, 2, 0]


@given(st.integers(1, 64), st.integers(1, 64))
def test_cells_are_spread_evenly_under_keys_that_all_differ(cells: int, partitions: int) -> None:
    keys = deal_keys(cells, partitions)
    assert len(set(keys)) == cells
    assert PLAN_CELL not in keys
    load = Counter(spark_hash(key) % partitions for key in keys)
    assert len(load) == min(cells, partitions)
    assert max(load.values()) - min(load.values()) <= 1


@pytest.mark.parametrize(("value", "hashed"), [(0, 933211791), (1, -559580957), (-1, -1604776387), (42, 29417773)])
def test_known_hashes(value: int, hashed: int) -> None:
    assert spark_hash(value) == hashed
