"""Every result has an id that depends on its two rows alone."""

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import streamjoin as sj
from tests.spark.harness import run

ON = {"on": "abs(l.x - r.x) <= 1", "window": sj.within("3 seconds"), "time": "ts", "result_id": True}


def rows(spark: SparkSession, seed: int) -> DataFrame:
    return spark.range(40).selectExpr(
        "id", f"int(id * {seed} % 17) AS x", "timestamp'2026-01-05 09:30:00' + make_interval(0,0,0,0,0,0,id) AS ts"
    )


def stream(spark: SparkSession, home: Path, files: int, of: DataFrame) -> DataFrame:
    """The rows in so many files, each a micro-batch."""
    for number in range(files):
        part = of.where(f"id % {files} = {number}").coalesce(1)
        part.write.mode("append").parquet(str(home))
    return spark.readStream.schema(of.schema).option("maxFilesPerTrigger", 1).parquet(str(home))


def by_id(found: list[object]) -> dict[str, tuple[int | None, int | None]]:
    ids = {row.result_id: (row.id_l, row.id_r) for row in found}  # type: ignore[attr-defined]
    assert len(ids) == len(found), "two results have one id"
    return ids


@pytest.mark.parametrize("how", ["inner", pytest.param("full", marks=pytest.mark.every_spark)])
def test_ids_are_the_same_for_every_layout_cut_and_kind_of_input(spark: SparkSession, tmp_path: Path, how: str) -> None:
    left, right = rows(spark, 5), rows(spark, 7)
    wanted = by_id(sj.join(left, right, how=how, layout=sj.Grid(1, 1), **ON).collect())
    assert len(wanted) > 20
    assert by_id(sj.join(left, right, how=how, layout=sj.Grid(2, 2), **ON).collect()) == wanted
    inputs = stream(spark, tmp_path / "l", 2, left), stream(spark, tmp_path / "r", 1, right)
    found = by_id(run(sj.join(*inputs, how=how, delay="1 hour", layout=sj.Grid(1, 2), **ON)).rows)
    matched = {id: pair for id, pair in wanted.items() if None not in pair}  # others wait for the watermark
    assert found == matched
    assert all(len(id) == 32 for id in matched)
    assert all(id.startswith("-") == (pair[0] is None) for id, pair in wanted.items())


def test_rows_of_equal_content_have_equal_ids_and_others_have_not(spark: SparkSession) -> None:
    left, right = rows(spark, 5).where("id < 3"), rows(spark, 5).where("id = 1")
    twice = sj.join(left.union(left), right, **ON | {"on": "l.x = r.x"}).collect()
    assert Counter(row.result_id for row in twice).most_common(1)[0][1] == 2
    told = sj.join(left, right, select=["l.id"], how="left_anti", **ON).collect()
    assert all(len(row.result_id) == 16 for row in told)


def test_a_kept_row_has_its_own_hash_alone(spark: SparkSession) -> None:
    left = rows(spark, 5).selectExpr("id", "x", "IF(id = 7, NULL, ts) AS ts")
    found = sj.join(left, rows(spark, 7), how="full", late="keep", **ON).collect()
    (kept,) = (row.result_id for row in found if row.late_reason)
    assert kept.endswith("-")
    assert len(kept) == 17
    assert kept not in {row.result_id for row in found if not row.late_reason}


def test_a_wrong_argument_and_a_clash_are_refused(spark: SparkSession) -> None:
    left = rows(spark, 5)
    with pytest.raises(sj.StreamJoinError, match="result_id: got 1; expected True or False"):
        sj.join(left, left, **ON | {"result_id": 1})
    with pytest.raises(sj.StreamJoinError, match="two columns named 'result_id'"):
        sj.join(left, left, select=["l.id AS result_id"], **ON)
