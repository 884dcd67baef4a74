"""What a session loads is known for each Spark, and put beside what the user gives."""

import pytest

from streamjoin.errors import StreamJoinError
from streamjoin.spark.packages import find_settings


def test_delta_is_loaded_for_the_spark_that_is_there() -> None:
    settings = find_settings(["delta", "delta"], "4.0.5")
    assert settings["spark.jars.packages"] == "io.delta:delta-spark_4.0_2.13:4.4.0"
    assert settings["spark.sql.catalog.spark_catalog"].endswith("DeltaCatalog")
    assert "org.apache.hadoop:*" in settings["spark.jars.excludes"].split(",")


def test_kafka_s_connector_is_that_of_the_release() -> None:
    settings = find_settings(["kafka"], "4.3.0")
    assert settings["spark.jars.packages"] == "org.apache.spark:spark-sql-kafka-0-10_2.13:4.3.0"


def test_what_the_user_gives_is_kept() -> None:
    given = {
        "spark.jars.packages": "a:b:1",
        "spark.sql.extensions": "mine.Extension",
        "spark.sql.catalog.spark_catalog": "mine.Catalog",
    }
    settings = find_settings(["delta"], "4.2.0", given)
    assert settings["spark.jars.packages"] == "a:b:1,io.delta:delta-spark_4.2_2.13:4.4.0"
    assert settings["spark.sql.extensions"] == "mine.Extension,io.delta.sql.DeltaSparkSessionExtension"
    assert settings["spark.sql.catalog.spark_catalog"] == "mine.Catalog"
    assert find_settings([], "4.2.0", given) == given


def test_an_unknown_package_and_a_spark_without_one_are_refused() -> None:
    with pytest.raises(StreamJoinError, match="packages: got 'delat'; expected names among 'kafka', 'delta'"):
        find_settings(["delat"], "4.2.0")
    with pytest.raises(StreamJoinError, match=r'packages: "delta" is for Spark 4.0 to 4.2, and this is Spark 4.3'):
        find_settings(["delta"], "4.3.0")
    with pytest.raises(StreamJoinError, match="packages: got 'kafka'; expected a list"):
        find_settings("kafka", "4.3.0")
