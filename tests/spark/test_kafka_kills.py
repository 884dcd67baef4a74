"""Topics in, a topic out, processes killed meanwhile: by their ids the results are exactly those that DuckDB finds."""

import random
import signal
import time
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.broker import measure_topic
from tests.spark.filejoin import expected, write_inputs
from tests.spark.processes import Program, driver, pause
from tests.spark.topicjoin import TopicJoin

pytestmark = pytest.mark.kafka

FILES = 6
CHATTY = {"spark.log.level": "WARN"}
"""The driver tells of every task that it loses."""


@pytest.fixture
def told(kafka: SparkSession, topic: str, tmp_path: Path) -> TopicJoin:
    """Inputs in topics, and a full join of them: about one row in seven meets nobody."""
    job = TopicJoin(str(tmp_path), "6 seconds", how="full", conf=CHATTY, url=topic)
    write_inputs(tmp_path, files=FILES, rows=job.rows)
    job.write_topics(kafka)
    return job


def must_hold_exactly(told: TopicJoin, spark: SparkSession) -> int:
    """Compare what a reader finds who drops the ids that it has seen; how many records it dropped."""
    records = told.read_results(spark)
    assert records.where("key IS NULL OR decode(key, 'utf-8') <> result_id").count() == 0
    rows = records.selectExpr("result_id", "l", "r", "unix_micros(join_time) AS t").toArrow().to_pylist()
    by_id = {row["result_id"]: (row["l"], row["r"], row["t"]) for row in rows}
    assert all(by_id[row["result_id"]] == (row["l"], row["r"], row["t"]) for row in rows), "one id, two results"
    wanted = expected(Path(told.home), told.how)
    assert any(None in row for row in wanted), "every row is matched"
    assert Counter(by_id.values()) == wanted
    return len(rows) - len(by_id)


def lost_tasks(program: Program) -> int:
    return program.said.count("Lost task")


def kill_before_commit(program: Program, told: TopicJoin, home: Path) -> bool:
    """Kill the driver when results of a micro-batch are in the topic that is not committed; whether that worked."""
    name = told.url.rpartition("/")[2] + "out"
    program.wait_for(lambda: told.batches_done >= 1)
    java = next(process for process in program.processes() if "SparkSubmit" in process.command)
    while program.is_running:
        done, size = told.batches_done, measure_topic(home, name)
        while program.is_running and told.batches_done == done and measure_topic(home, name) == size:
            time.sleep(0.002)
        java.send(signal.SIGSTOP)
        if told.batches_done == done and measure_topic(home, name) > size:
            program.kill()
            return True
        java.send(signal.SIGCONT)
    return False


def kill_workers(program: Program, told: TopicJoin) -> None:
    """Kill Python workers until a micro-batch has lost a task by it, twice; a task is given up after four failures."""
    chance = random.Random(told.url)
    for _ in range(2):
        batch, lost = told.batches_done, lost_tasks(program)
        while program.is_running and lost == lost_tasks(program):
            pause(chance, 0.3)
            if workers := program.python_workers():
                chance.choice(workers).kill()
        program.wait_for(lambda batch=batch: told.batches_done > batch)


def test_a_driver_killed_before_it_commits_and_workers_killed_afterwards_cost_no_result(
    told: TopicJoin, kafka: SparkSession, broker_home: Path
) -> None:
    with driver(told) as program:
        assert kill_before_commit(program, told, broker_home), program.said[-6000:]
    with driver(told) as program:
        kill_workers(program, told)
        program.finish()
        assert lost_tasks(program) > 0, "no worker was hit while it worked"
    assert must_hold_exactly(told, kafka) > 0, "nothing was written twice, so this shows too little"
