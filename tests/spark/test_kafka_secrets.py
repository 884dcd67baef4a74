"""Credentials come from a file, and are seen nowhere else: the broker asks for a password."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import streamjoin as sj
from streamjoin.spark.kafka import CONFIG
from tests.spark.broker import LOGIN_MODULE, PASSWORD, STORE_PASSWORD, USER, Places
from tests.spark.filejoin import expected, write_inputs
from tests.spark.processes import running
from tests.spark.topicjoin import TopicJoin

pytestmark = pytest.mark.kafka


def write_credentials(path: Path, password: str, *, trusts: Path | None = None) -> Path:
    login = f'{LOGIN_MODULE} required username="{USER}" password="{password}";'
    protocol = "SASL_SSL" if trusts else "SASL_PLAINTEXT"
    path.write_text(f"security.protocol={protocol}\nsasl.mechanism=PLAIN\nsasl.jaas.config={login}\n")
    if trusts:
        with path.open("a") as more:
            more.write(f"ssl.truststore.location={trusts}\nssl.truststore.password={STORE_PASSWORD}\n")
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


def test_over_tls_nothing_secret_is_in_plans_and_progress(
    kafka: SparkSession, places: Places, topic: str, tmp_path: Path
) -> None:
    url = topic.replace(places.plain, places.tls)
    credentials = write_credentials(tmp_path / "kafka.properties", PASSWORD, trusts=places.certificate)
    sj.kafka.write(kafka.range(9).selectExpr("id AS x"), url, config=credentials).save()
    rows = sj.kafka.read(kafka, url, schema="x INT", config=credentials)
    query = rows.writeStream.format("noop").trigger(availableNow=True).start()
    query.awaitTermination()
    assert sum(report["numInputRows"] for report in query.recentProgress) == 9
    said = f"{query.recentProgress} {query._jsq.explainInternal(True)} {rows._jdf.queryExecution()}"
    assert "${file:" in said
    assert not any(secret in said for secret in (PASSWORD, STORE_PASSWORD))


def test_the_command_takes_the_file_and_shows_nothing_of_it(
    kafka: SparkSession, places: Places, topic: str, tmp_path: Path
) -> None:
    values = kafka.sql("""SELECT timestamp'2026-01-05 09:30:00' AS ts, id FROM range(9)""")
    sj.kafka.write(values, topic).save()
    url = topic.replace(places.plain, places.sasl)
    credentials = write_credentials(tmp_path / "kafka.properties", PASSWORD)
    inputs = [f"={url}", "-schema=ts TIMESTAMP, id INT"]
    line = ["run", "--verbose", "--once", *(f"--{side}{given}" for side in ("left", "right") for given in inputs)]
    line += ["--on=l.id = r.id", "--within=1 second", "--time=ts", "--delay=1 minute"]
    line += [f"--out={url}out", f"--checkpoint={tmp_path / 'checkpoint'}", f"--kafka-config={credentials}"]
    done = subprocess.run([sys.executable, "-m", "streamjoin", *line], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "9 matches found" in done.stdout
    assert PASSWORD not in done.stdout + done.stderr
    assert find_files_with(PASSWORD, tmp_path) == [credentials.name]
    assert sj.kafka.read(kafka, topic + "out", schema="id_l INT", streaming=False).count() == 9
