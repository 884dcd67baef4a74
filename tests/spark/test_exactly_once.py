"""Whatever is killed or damaged, and whenever: the sink holds exactly the rows that DuckDB finds in all inputs."""

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.spark.damage import DAMAGES, damage, segment_files
from tests.spark.filejoin import (
    FileJoin,
    Pairs,
    expected,
    expected_counts,
    expected_nearest,
    expected_sequence,
    expected_windows,
    write_inputs,
    write_last,
)
from tests.spark.processes import Program, cluster, driver, pause

OTHERS = ["Grid(2, 2)", "Scale(3)", "Cell(4)", "Keyed(8, spread=2)"]
"""Layouts, beside the one that is chosen by rule."""

SHORT, LONG = "3 seconds", "10 minutes"
"""Delays under which state expires during the run, and under which it does not."""

GUARANTEE = (pytest.mark.guarantee, pytest.mark.slow)

CHATTY = {"spark.log.level": "WARN"}
"""The driver tells of every task that it loses."""


@pytest.fixture
def chance(request: pytest.FixtureRequest) -> random.Random:
    """Random moments; the seed is shown where a test fails."""
    seed = random.randrange(1 << 32)
    request.node.user_properties.append(("seed", seed))
    request.node.add_report_section("call", "random moments", f"seed {seed}")
    return random.Random(seed)


def job(home: Path, files: int, delay: str, **settings: object) -> FileJoin:
    """Inputs and what to do with them; in other than inner joins about one row in seven meets nobody."""
    inner = settings.get("how", "inner") == "inner"
    write_inputs(home, files=files, rows=300 if inner else 60)
    if not inner:
        write_last(home, files)
    return FileJoin(str(home), delay, **settings)  # type: ignore[arg-type]


def must_hold_exactly(found: Pairs, wanted: Pairs) -> None:
    missing, surplus = wanted - found, found - wanted
    assert not missing, f"{missing.total()} of {wanted.total()} results are missing: {list(missing)[:5]}"
    assert not surplus, f"{surplus.total()} results are wrong or double: {list(surplus)[:5]}"


def lost_tasks(program: Program) -> int:
    return program.said.count("Lost task")


@pytest.mark.parametrize(
    ("files", "kills", "delay", "layout", "how"),
    [
        pytest.param(6, 2, SHORT, "Keyed(4)", "inner", marks=pytest.mark.slow),
        pytest.param(8, 3, SHORT, "Grid(2, 2)", "full", marks=GUARANTEE),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in [
                *((6, 3, SHORT, layout, "inner") for layout in OTHERS),
                (8, 3, SHORT, "auto", "left"),
                (25, 12, SHORT, "auto", "inner"),
                (25, 12, LONG, "auto", "inner"),
            ]
        ),
    ],
)
def test_python_workers_killed_in_the_midst_of_batches_cost_no_result(
    spark: SparkSession,
    tmp_path: Path,
    chance: random.Random,
    files: int,
    kills: int,
    delay: str,
    layout: str,
    how: str,
) -> None:
    told = job(tmp_path, files, delay, conf=CHATTY, layout=layout, how=how)
    with driver(told) as program:
        # A task is given up after four failures, so a batch is struck until it has lost one task.
        for batch in range(files):
            program.wait_for(lambda at=batch: told.batches_done >= at)
            lost = lost_tasks(program)
            while lost < kills and program.is_running and lost == lost_tasks(program) and told.batches_done == batch:
                pause(chance, 0.3)
                if workers := program.python_workers():
                    chance.choice(workers).kill()
        program.finish()
        assert lost_tasks(program) > 0, "no worker was hit while it worked"
    must_hold_exactly(told.results(spark), expected(tmp_path, how))


@pytest.mark.parametrize(
    ("files", "kills", "delay", "layout", "how"),
    [
        pytest.param(5, 1, SHORT, "auto", "full", marks=GUARANTEE),
        pytest.param(7, 2, SHORT, "auto", "left", marks=GUARANTEE),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in [
                *((8, 3, SHORT, layout, "inner") for layout in OTHERS),
                (10, 4, SHORT, "auto", "left"),
                (20, 8, SHORT, "auto", "inner"),
                (20, 8, LONG, "auto", "inner"),
            ]
        ),
    ],
)
def test_a_driver_killed_at_random_moments_goes_on_from_its_checkpoint(
    spark: SparkSession,
    tmp_path: Path,
    chance: random.Random,
    files: int,
    kills: int,
    delay: str,
    layout: str,
    how: str,
) -> None:
    told = job(tmp_path, files, delay, layout=layout, how=how)
    for kill in range(kills):
        least = max(told.batches_done, (files - 2) * kill // kills) + chance.randrange(3)
        with driver(told) as program:
            if not program.wait_for(lambda least=least: told.batches_done >= least):
                break
            pause(chance, 2.0)
    with driver(told) as program:
        program.finish()
    must_hold_exactly(told.results(spark), expected(tmp_path, how))


@pytest.mark.parametrize(
    ("files", "kills", "layout", "how"),
    [
        pytest.param(6, 1, "Grid(2, 2)", "full", marks=pytest.mark.slow),
        pytest.param(20, 5, "auto", "left", marks=pytest.mark.slow),
    ],
)
def test_ordered_results_are_one_sequence_whatever_is_killed(
    tmp_path: Path, chance: random.Random, files: int, kills: int, layout: str, how: str
) -> None:
    told = job(tmp_path, files, SHORT, conf=CHATTY, layout=layout, how=how, ordered=True)
    run_under_kills(told, files, kills, chance)
    assert told.sequence() == expected_sequence(tmp_path, how)


REDUCED = {"aggregate": expected_counts, "asof": expected_nearest, "sliding_aggregate": expected_windows}


@pytest.mark.parametrize(
    ("verb", "files", "kills", "layout"),
    [
        *(pytest.param(verb, 6, 1, "Keyed(4)", marks=pytest.mark.slow) for verb in REDUCED),
        *(pytest.param(verb, 20, 5, "auto", marks=pytest.mark.slow) for verb in REDUCED),
    ],
)
def test_what_is_reduced_comes_out_once_whatever_is_killed(
    spark: SparkSession, tmp_path: Path, chance: random.Random, verb: str, files: int, kills: int, layout: str
) -> None:
    told = job(tmp_path, files, SHORT, conf=CHATTY, layout=layout, how="left", verb=verb)
    run_under_kills(told, files, kills, chance)
    must_hold_exactly(told.results(spark), REDUCED[verb](tmp_path))


def run_under_kills(told: FileJoin, files: int, kills: int, chance: random.Random) -> None:
    """A run in which, `kills` times, a Python worker and then the driver is killed in the midst of batches."""
    for kill in range(kills):
        least = (files - 2) * (kill + 1) // (kills + 1)
        with driver(told) as program:
            program.wait_for(lambda least=least: told.batches_done >= least)
            lost = lost_tasks(program)
            while program.is_running and lost == lost_tasks(program) and told.batches_done <= least + 1:
                pause(chance, 0.3)
                if workers := program.python_workers():
                    chance.choice(workers).kill()
            pause(chance, 1.0)
    with driver(told) as program:
        program.finish()


@pytest.mark.parametrize(
    ("files", "every_seconds"),
    [pytest.param(6, 0.5, marks=GUARANTEE), pytest.param(30, 0.2, marks=pytest.mark.slow)],
)
def test_a_cache_damaged_while_batches_run_costs_no_result(
    spark: SparkSession, tmp_path: Path, chance: random.Random, files: int, every_seconds: float
) -> None:
    # Every attempt of a task may meet a damaged file, so it is given many.
    told = job(tmp_path, files, SHORT, master="local[2,1000]")
    damaged = Counter[str]()
    with driver(told) as program:
        while program.is_running:
            pause(chance, 2 * every_seconds)
            kind = chance.choice(list(DAMAGES))
            if files_now := segment_files(told.cache):
                damaged[kind] += damage(chance.choice(files_now), kind, chance)
        program.finish()
    assert damaged.total() > 0, "there was nothing to damage"
    must_hold_exactly(told.results(spark), expected(tmp_path))


@pytest.mark.slow
def test_two_actions_on_the_rows_of_a_batch_see_the_same_rows(spark: SparkSession, tmp_path: Path) -> None:
    told = job(tmp_path, 5, SHORT)
    first, second = Counter[tuple[int, int, int]](), Counter[tuple[int, int, int]]()

    def twice(rows: DataFrame, _: int) -> None:
        for seen in (first, second):
            for row in rows.selectExpr("l", "r", "unix_micros(join_time) AS t").collect():
                seen[row.l, row.r, row.t] += 1

    writer = told.joined(spark).writeStream.foreachBatch(twice).option("checkpointLocation", str(told.checkpoint))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    must_hold_exactly(first, expected(tmp_path))
    must_hold_exactly(second, expected(tmp_path))


@pytest.fixture
def standalone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, list[Program]]]:
    with cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.mark.parametrize("kills", [pytest.param(1, marks=GUARANTEE), pytest.param(4, marks=pytest.mark.slow)])
def test_executors_killed_in_a_cluster_cost_no_result(
    spark: SparkSession,
    standalone: tuple[str, list[Program]],
    tmp_path: Path,
    chance: random.Random,
    kills: int,
) -> None:
    url, workers = standalone
    conf = CHATTY | {"spark.executor.memory": "512m", "spark.driver.host": "127.0.0.1"}
    told = job(tmp_path, 6 + 4 * kills, SHORT, master=url, conf=conf)
    with driver(told) as program:
        for kill in range(kills):
            assert program.wait_for(lambda at=4 * kill + 2: told.batches_done >= at), program.said
            pause(chance, 1.0)
            executors = [executor for worker in workers for executor in worker.executors()]
            chance.choice(executors).kill()
        program.finish()
        assert "Lost executor" in program.said
    must_hold_exactly(told.results(spark), expected(tmp_path))
