"""Topics of a real broker as inputs and sink of a join, in a session that fetched Spark's connector by its name."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import streamjoin as sj
from tests.spark.broker import broker
from tests.spark.test_docs import blocks

pytestmark = pytest.mark.kafka

SCHEMA = "ts TIMESTAMP, id BIGINT, x INT"
JOIN: dict[str, Any] = {"on": "abs(l.x - r.x) <= 1", "window": sj.within("5 seconds"), "time": "ts"}


def send(spark: SparkSession, url: str, values: list[str], partition: int = 0) -> None:
    place, name = url.removeprefix("kafka://").split("/")
    rows = spark.createDataFrame(
        [("k", value, partition) for value in values], "key string, value string, partition int"
    )
    rows.coalesce(1).write.format("kafka").option("kafka.bootstrap.servers", place).option("topic", name).save()


def to_json(second: int, id: int, x: int | None) -> str:
    return json.dumps({"ts": f"2026-01-05T09:30:{second:02}.000001Z", "id": id, "x": x})


def drain(writer: Any, checkpoint: Path) -> None:
    writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start().awaitTermination()


def pairs(rows: DataFrame) -> set[tuple[int, int]]:
    return {(row.id_l, row.id_r) for row in rows.collect()}


RESULTS = (
    "ts_l TIMESTAMP, id_l BIGINT, x_l INT, ts_r TIMESTAMP, id_r BIGINT, x_r INT, join_time TIMESTAMP, result_id STRING"
)


def test_a_join_of_two_topics_goes_into_a_third_and_on_from_its_offsets(
    kafka: SparkSession, topic: str, tmp_path: Path
) -> None:
    left, right, out = topic + "l", topic + "r", topic + "o"
    rows = {url: [(n % 50, n, n * step % 13) for n in range(60)] for url, step in ((left, 5), (right, 7))}
    wanted = {(l[1], r[1]) for l in rows[left] for r in rows[right] if abs(l[2] - r[2]) <= 1 and abs(l[0] - r[0]) <= 5}
    for start in (0, 30):  # a second run goes on from the offsets of the first
        for url in (left, right):
            send(kafka, url, [to_json(*row) for row in rows[url][start : start + 30]])
        sides = [sj.kafka.read(kafka, url, schema=SCHEMA) for url in (left, right)]
        drain(sj.kafka.write(sj.join(*sides, delay="1 hour", result_id=True, **JOIN), out), tmp_path)
    found = sj.kafka.read(kafka, out, schema=RESULTS, keep=["key"], streaming=False)
    assert found.where("decode(key, 'utf-8') <> result_id OR key IS NULL").count() == 0
    assert found.count() == found.select("result_id").distinct().count() == len(wanted)
    assert pairs(found) == wanted
    assert found.where("join_time = greatest(ts_l, ts_r)").count() == len(wanted), "microseconds are lost"


def test_a_bad_value_is_shown_with_its_place_or_kept(kafka: SparkSession, topic: str, tmp_path: Path) -> None:
    send(kafka, topic, [to_json(1, 1, 1), '{"ts": "2026-01-05T09:30:00Z", "x": "many"}', "no json", to_json(2, 2, 2)])
    rows = sj.kafka.read(kafka, topic, schema=SCHEMA)
    with pytest.raises(StreamingQueryException, match=r'partition 0, offset 1: .*"x": "many"'):
        drain(rows.writeStream.format("noop"), tmp_path)
    kept = sj.kafka.read(kafka, topic, schema=SCHEMA, bad="keep", keep=["offset"], streaming=False)
    found = [(row.offset, row.id, row.bad_value) for row in kept.orderBy("offset").collect()]
    assert [(offset, id) for offset, id, _ in found] == [(0, 1), (1, None), (2, None), (3, 2)]
    assert [value is None for *_, value in found] == [True, False, False, True]
    assert kept.where("bad_value IS NOT NULL AND ts IS NOT NULL").count() == 0


def test_secrets_are_not_in_plans(kafka: SparkSession, topic: str, tmp_path: Path) -> None:
    send(kafka, topic, [to_json(1, 1, 1)])
    secrets = tmp_path / "kafka.properties"
    secrets.write_text("# ours\nsasl.jaas.config=Module required \\\n  password=hunter2;\nssl.key.password=hunter2\n")
    with secrets.open("a") as more:
        more.write("sasl.login.connect.timeout.ms=5000\nclient.id=me\n")  # a number, which Kafka must look up
    rows = sj.kafka.read(kafka, topic, schema=SCHEMA, config=secrets)
    assert "${file:" in rows._jdf.queryExecution().toString()
    assert "hunter2" not in rows._jdf.queryExecution().toString()
    batch = sj.kafka.read(kafka, topic, schema=SCHEMA, config=secrets, streaming=False)
    assert "hunter2" not in batch._jdf.queryExecution().toString()
    assert [row.id for row in batch.collect()] == [1]
    secrets.write_text("hunter2")
    with pytest.raises(sj.StreamJoinError, match="not name=value") as unread:
        sj.kafka.read(kafka, topic, schema=SCHEMA, config=secrets)
    assert "hunter2" not in str(unread.value)
    with pytest.raises(sj.StreamJoinError, match=r"options: kafka\.sasl\.jaas\.config would be shown") as shown:
        sj.kafka.read(kafka, topic, schema=SCHEMA, options={"kafka.sasl.jaas.config": "hunter2"})
    assert "hunter2" not in str(shown.value)
    with pytest.raises(sj.StreamJoinError) as refused:
        sj.kafka.read(kafka, "kafka://me:hunter2@host/topic", schema=SCHEMA)
    assert "hunter2" not in str(refused.value)


def test_keys_headers_and_places_are_kept_if_they_are_wanted(kafka: SparkSession, servers: str, topic: str) -> None:
    header = "array(named_struct('key', 'from', 'value', CAST('here' AS BINARY)))"
    records = kafka.sql(f"SELECT 'k' AS key, '{to_json(1, 1, 1)}' AS value, {header} AS headers")
    name = topic.rpartition("/")[2]
    records.write.format("kafka").option("kafka.bootstrap.servers", servers).option("topic", name).save()
    kept = ["key", "headers", "partition", "offset"]
    rows = sj.kafka.read(kafka, topic, schema=SCHEMA, keep=kept, streaming=False)
    assert rows.columns == ["ts", "id", "x", *kept]
    (row,) = rows.collect()
    assert (row.id, bytes(row.key), row.offset) == (1, b"k", 0)
    assert [(each.key, bytes(each.value)) for each in row.headers] == [("from", b"here")]


def run_twice(kafka: SparkSession, url: str, home: Path, partitions: list[int | None]) -> set[tuple[int, int]]:
    """The pairs of a topic whose second partition comes 40 seconds behind the first, read as these partitions."""
    left, right = url + "l", url + "r"
    send(kafka, left, [to_json(50, 50, 0)], partition=0)
    send(kafka, right, [to_json(10, 10, 0), to_json(50, 50, 0)])
    for lagging in ([], [to_json(10, 10, 0)]):
        if lagging:
            send(kafka, left, lagging, partition=1)
        sides = [sj.kafka.read(kafka, left, schema=SCHEMA, partition=n) for n in partitions]
        joined = sj.join(sides, sj.kafka.read(kafka, right, schema=SCHEMA), delay="5 seconds", **JOIN)
        drain(joined.writeStream.format("parquet").option("path", str(home / "out")), home / "checkpoint")
    return pairs(kafka.read.parquet(str(home / "out")))


def test_a_lagging_partition_loses_rows_unless_it_is_a_stream_of_its_own(
    kafka: SparkSession, topic: str, tmp_path: Path
) -> None:
    assert run_twice(kafka, topic + "one", tmp_path / "one", [None]) == {(50, 50)}
    assert run_twice(kafka, topic + "each", tmp_path / "each", [0, 1]) == {(10, 10), (50, 50)}


def test_the_command_joins_a_topic_with_files_into_a_topic(kafka: SparkSession, topic: str, tmp_path: Path) -> None:
    left, out, right = topic + "l", topic + "o", tmp_path / "right"
    right.mkdir()
    (right / "1.json").write_text("\n".join([to_json(1, 1, 5), to_json(2, 2, 9)]))
    send(kafka, left, [to_json(3, 10, 5), to_json(3, 11, 9), to_json(3, 12, 7)])
    line = ["run", "--left", left, "--left-schema", SCHEMA, "--right", str(right), "--right-schema", SCHEMA]
    line += ["--on", "abs(l.x - r.x) <= 1", "--within", "5 seconds", "--time", "ts", "--delay", "1 minute", "--once"]
    line += ["--out", out, "--checkpoint", str(tmp_path / "checkpoint")]
    done = subprocess.run([sys.executable, "-m", "streamjoin", *line], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "2 matches found" in done.stdout
    found = sj.kafka.read(kafka, out, schema=RESULTS, keep=["key"], streaming=False)
    assert pairs(found) == {(10, 1), (11, 2)}
    assert found.where("decode(key, 'utf-8') = result_id").count() == 2


def test_the_guide_does_what_it_says(kafka: SparkSession, servers: str, tmp_path: Path) -> None:
    for name, column in (("trades", "price"), ("quotes", "ask")):
        send(kafka, f"kafka://{servers}/{name}", [json.dumps({"ts": "2026-01-05T09:30:00Z", "sym": "A", column: 20.1})])
    (program,) = (content for language, content in blocks("docs/guides/kafka.md") if language == "python")
    exec(program.replace("broker:9092", servers).replace('"checkpoint"', repr(str(tmp_path / "checkpoint"))), {})
    for query in kafka.streams.active:
        query.processAllAvailable()
        query.stop()
    found = sj.kafka.read(kafka, f"kafka://{servers}/near", schema="price DOUBLE, ask DOUBLE", streaming=False)
    assert [tuple(row) for row in found.collect()] == [(20.1, 20.1)]


def test_without_java_s_tools_there_is_no_broker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(pytest.skip.Exception, match="keytool is not on the PATH"), broker(tmp_path):
        pass
