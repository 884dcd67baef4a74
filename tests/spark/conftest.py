"""What all tests with Kafka share: one broker, and one session with Spark's connector."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

import streamjoin as sj
from streamjoin.spark.compat import RELEASE
from streamjoin.spark.packages import PACKAGES
from tests.spark.broker import Places, broker, create_topics
from tests.spark.maven import fetch


@pytest.fixture(scope="session")
def broker_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("broker")


@pytest.fixture(scope="session")
def places(broker_home: Path) -> Iterator[Places]:
    with broker(broker_home) as found:
        yield found


@pytest.fixture(scope="session")
def servers(places: Places) -> str:
    return places.plain


@pytest.fixture(scope="session")
def kafka(servers: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session with the connector; one that cannot be had is a reason to skip."""
    fetch(PACKAGES["kafka"](RELEASE).coordinates, tmp_path_factory.mktemp("connector"))
    conf = {"spark.sql.session.timeZone": "UTC"}
    spark = sj.session("kafka tests", master="local[2]", partitions=2, conf=conf, packages=["kafka"])
    yield spark
    spark.stop()


@pytest.fixture
def topic(kafka: SparkSession, servers: str) -> str:
    """The URL of an empty topic; there are others with these ends, so that no first write has to wait for them."""
    name = f"t{uuid4().hex}"
    create_topics(kafka, servers, [name + end for end in ("", "l", "r", "o", "out")])
    return f"kafka://{servers}/{name}"
