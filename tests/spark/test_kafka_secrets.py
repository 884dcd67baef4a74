"""Credentials come from a file, and are seen nowhere else: the broker asks for a password."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import streamjoin as sj
from streamjoin.spark.kafka import CONFIG
from tests.spark.broker import LOGIN_MODULE, PASSWORD, USER, Places
from tests.spark.filejoin import expected, write_inputs
from tests.spark.processes import running
from tests.spark.topicjoin import TopicJoin

pytestmark = pytest.mark.kafka


def write_credentials(path: Path, password: str) -> Path:
    login = f'{LOGIN_MODULE} required username="{USER}" password="{password}";'
    path.write_text(f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config={login}\n")
    return path


def find_files_with(text: str, home: Path) -> list[str]:
    files = (path for path in home.rglob("*") if path.is_file())
    return [str(path.relative_to(home)) for path in files if text.encode() in path.read_bytes()]


def test_a_join_by_password_works_and_leaves_it_in_no_log_and_no_checkpoint(
    kafka: SparkSession, places: Places, topic: str, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    plain = TopicJoin(str(home), "6 seconds", url=topic)
    write_inputs(home, files=2, rows=plain.rows)
    plain.write_topics(kafka)
    told = replace(plain, url=topic.replace(places.plain, places.sasl))
    credentials = write_credentials(tmp_path / "kafka.properties", PASSWORD)
    command, log = [sys.executable, *told.arguments()], home / "driver.log"
    with running(command, log, **{CONFIG: str(credentials)}) as program:
        program.finish()
    assert find_files_with(PASSWORD, tmp_path) == [credentials.name]
    found = {(row.l, row.r) for row in plain.read_results(kafka).collect()}
    assert found == {(left, right) for left, right, _ in expected(home)}


def test_a_wrong_password_is_refused_and_not_shown(
    kafka: SparkSession, places: Places, topic: str, tmp_path: Path
) -> None:
    credentials = write_credentials(tmp_path / "kafka.properties", "swordfish")
    url = topic.replace(places.plain, places.sasl)
    rows = sj.kafka.read(kafka, url, schema="x INT", config=credentials, streaming=False)
    with pytest.raises((PySparkException, Py4JJavaError)) as refused:
        rows.collect()
    said = f"{refused.value} {refused.value.__cause__} {rows._jdf.queryExecution().logical()}"
    assert "Authentication failed" in said
    assert "swordfish" not in said
