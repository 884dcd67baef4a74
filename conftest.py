"""What all tests share: the one Spark session, for the examples in docstrings too."""

import logging
import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

import streamjoin as sj

# PySpark turns timestamps into naive datetimes in the process's own time zone.
os.environ["TZ"] = "UTC"
time.tzset()

# Sessions that a test starts for itself end soon: they do not gain by what Java would compile for a long job.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# PySpark logs every exception of Spark's a second time, with the Java stack.
for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
    PySparkLogger.getLogger(name).setLevel(logging.CRITICAL)

settings.register_profile("dev", max_examples=50, deadline=None)
settings.register_profile("ci", max_examples=60, deadline=None, print_blob=True, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "dev")


_STARTS_SPARK = Path(__file__).parent / "tests/spark"
"""Tests that start Spark, the session of the test run or one of their own."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        uses = "spark" in getattr(item, "fixturenames", ()) or _is_spark_example(item)
        if uses or _STARTS_SPARK in item.path.parents:
            item.add_marker("spark")


def _is_spark_example(item: pytest.Item) -> bool:
    return isinstance(item, pytest.DoctestItem) and any(
        re.search(r"\bspark\b", example.source) for example in item.dtest.examples
    )


@pytest.fixture(autouse=True)
def _spark_of_examples(request: pytest.FixtureRequest, doctest_namespace: dict[str, object]) -> None:
    """Examples in docstrings may name the session `spark`."""
    if _is_spark_example(request.node):
        doctest_namespace["spark"] = request.getfixturevalue("spark")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The one Spark session of the test run: two cores, UTC, nothing left in the working directory."""
    scratch = tmp_path_factory.mktemp("spark")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        with pytest.MonkeyPatch.context() as meanwhile:
            meanwhile.delenv("SPARK_SUBMIT_OPTS")
            session = sj.session(
                "streamjoin tests",
                master="local[2]",
                partitions=2,
                conf={
                    "spark.driver.extraJavaOptions": f"-Dderby.system.home={scratch}",
                    "spark.sql.session.timeZone": "UTC",
                    "spark.sql.warehouse.dir": str(scratch / "warehouse"),
                    "spark.streamjoin.cache.directory": str(scratch / "cache"),
                },
            )
        yield session
        session.stop()
