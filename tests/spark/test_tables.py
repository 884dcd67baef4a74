"""``streamjoin run`` on tables of a catalog, here of Parquet, mixed with directories; Delta's are in test_delta.py."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from rich.console import Console

import streamjoin as sj
from streamjoin.cli.files import FileJoin

JOIN = {
    "on": "l.sym = r.sym AND abs(l.price - r.ask) <= 0.5",
    "window": sj.within("5 seconds"),
    "time": ("ts", "ts"),
    "delay": ("10 seconds", "10 seconds"),
    "how": "inner",
    "ordered": False,
    "select": ["l.sym", "r.ask"],
}


@pytest.fixture
def shop(spark: SparkSession, tmp_path: Path) -> Iterator[SparkSession]:
    (tmp_path / "quotes").mkdir()
    quote = {"ts": "2026-01-05T09:30:01Z", "sym": "ACME", "ask": 20.5}
    (tmp_path / "quotes" / "1.json").write_text(json.dumps(quote))
    spark.sql(f"CREATE DATABASE shop LOCATION '{tmp_path / 'shop'}'")
    spark.sql("CREATE TABLE shop.trades (ts TIMESTAMP, sym STRING, price DOUBLE) USING parquet")
    add(spark, 0, 20.1)
    yield spark
    spark.sql("DROP DATABASE shop CASCADE")


def add(spark: SparkSession, second: int, price: float) -> None:
    spark.sql(f"INSERT INTO shop.trades VALUES (timestamp'2026-01-05 09:30:0{second}', 'ACME', {price})")


def run(spark: SparkSession, home: Path, **given: Any) -> str:
    """Process what is there; what the command says."""
    console = Console(file=io.StringIO(), width=200)
    told = {"left": "table:shop.trades", "right": str(home / "quotes"), "out": "table:shop.near"} | given
    job = FileJoin(
        **told,
        formats=("table", "json"),
        checkpoint=str(home / "checkpoint"),
        schemas=(None, None),
        verb=sj.join,
        arguments=JOIN,
        once=True,
        flush=False,
        trigger="1 second",
    )
    job.run(spark, console, lambda: False)
    return str(console.file.getvalue())  # type: ignore[attr-defined]


@pytest.mark.every_spark
def test_a_table_and_a_directory_are_joined_into_a_table_which_is_made_and_then_added_to(
    shop: SparkSession, tmp_path: Path
) -> None:
    said = run(shop, tmp_path)
    assert "left  table:shop.trades: ts timestamp, sym string, price double" in said
    assert "1 match found; results in table:shop.near" in said
    add(shop, 2, 20.2)
    add(shop, 3, 25.0)
    assert "1 match found" in run(shop, tmp_path)
    found = shop.table("shop.near")
    assert found.columns[:2] == ["sym", "ask"]
    assert [tuple(row)[:2] for row in found.collect()] == [("ACME", 20.5)] * 2
    with pytest.raises(sj.StreamJoinError, match=r"was written by a join of table:shop.trades, and this is table:shop"):
        run(shop, tmp_path, left="table:shop.near")


def test_a_table_that_is_not_there_is_named(shop: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(sj.StreamJoinError, match=r"--left: cannot read table:shop.sales as table: .*cannot be found"):
        run(shop, tmp_path, left="table:shop.sales")
