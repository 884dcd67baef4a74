"""The segment cache makes a join cheap and never wrong, and goes when it is not needed."""

import fcntl
import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

from streamjoin.flow.cache import CacheSpec
from streamjoin.flow.cache.directory import ABANDONED_SECONDS, MARK
from streamjoin.spark.compat import STATE_VALUE_BYTES
from tests.spark.damage import DAMAGES, damage, segment_files
from tests.spark.live import live


def eventually(met: Callable[[], bool], seconds: float = 60.0) -> bool:
    until = time.monotonic() + seconds
    while not met() and time.monotonic() < until:
        time.sleep(0.05)
    return met()


@pytest.mark.guarantee
@pytest.mark.slow
def test_files_damaged_between_batches_are_read_from_state(spark: SparkSession, tmp_path: Path) -> None:
    with live(spark, tmp_path) as join:
        join.feed()
        for kind in DAMAGES:
            files = segment_files(join.job.cache)
            assert files
            damaged = [damage(path, kind, random.Random(kind)) for path in files]
            assert any(damaged), f"{kind}: nothing to damage"
            join.feed()
            assert join.is_exact, f"{kind}: the results are wrong"


@pytest.mark.slow
def test_a_cache_that_is_gone_or_cannot_be_written_is_done_without(spark: SparkSession, tmp_path: Path) -> None:
    with live(spark, tmp_path) as join:
        join.feed()
        join.job.cache.rename(tmp_path / "elsewhere")
        join.feed()
        assert segment_files(join.job.cache)
        join.job.cache.rename(tmp_path / "elsewhere too")
        join.job.cache.write_text("not a directory")
        join.feed()
        assert join.is_exact


@pytest.mark.every_spark
@pytest.mark.slow
def test_segments_of_several_chunks_are_read_from_state(spark: SparkSession, tmp_path: Path) -> None:
    with live(spark, tmp_path, rows=3000, conf={"spark.streamjoin.cache.maxBytes": "0"}) as join:
        for _ in range(3):
            join.feed()
        told = join.progress[-1]["observedMetrics"]["streamjoin"]
        assert told["state_bytes"] / told["segments"] > 2 * STATE_VALUE_BYTES or STATE_VALUE_BYTES > 1 << 20
        assert join.is_exact


@pytest.mark.slow
@pytest.mark.parametrize("most_bytes", [0, 30_000])
def test_files_stay_within_the_bound_and_results_stay_exact(
    spark: SparkSession, tmp_path: Path, most_bytes: int
) -> None:
    most = 0
    with live(spark, tmp_path, conf={"spark.streamjoin.cache.maxBytes": str(most_bytes)}) as join:
        for _ in range(5):
            join.feed()
            most = max(most, sum(path.stat().st_size for path in segment_files(join.job.cache)))
        assert join.is_exact
        uncached = [told["observedMetrics"]["streamjoin"]["uncached_segments"] for told in join.progress]
    assert most <= most_bytes
    assert most > 0 or not most_bytes
    assert uncached[-1] > 0, "nothing tells that the cache is too small"


def test_files_go_when_their_rows_expire_and_the_directory_goes_when_the_query_stops(
    spark: SparkSession, tmp_path: Path
) -> None:
    with live(spark, tmp_path) as join:
        for _ in range(3):
            join.feed()
        old = set(segment_files(join.job.cache))
        assert old
        for skip in (100, 0, 0):  # the watermark moves after a batch; a batch that may be tried again keeps its files
            join.feed(skip=skip)
        assert not old & set(segment_files(join.job.cache))
        assert join.is_exact
        assert {told["observedMetrics"]["streamjoin"]["uncached_segments"] for told in join.progress} == {0}
        directory = CacheSpec(str(join.job.cache), 0).root / join.query.id
        assert directory.exists()
        join.query.stop()
        assert eventually(lambda: not directory.exists()), "the query's directory is still there"


def test_what_a_crashed_query_left_behind_is_removed_and_what_is_in_use_is_not(
    spark: SparkSession, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    root = CacheSpec(str(cache), 0).root
    root.mkdir(mode=0o700, parents=True)
    abandoned, in_use, recent = (root / str(uuid4()) for _ in range(3))
    theirs = cache / "theirs"
    for directory in (abandoned, in_use, recent, theirs):
        segment = directory / "join" / "0" / "l1~0"
        segment.parent.mkdir(parents=True)
        segment.write_bytes(bytes(100))
        (directory / "lock").write_bytes(MARK)
        if directory != recent:
            old = time.time() - 2 * ABANDONED_SECONDS
            os.utime(directory / "lock", (old, old))
    with (in_use / "lock").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        with live(spark, tmp_path) as join:
            join.feed()
    assert not abandoned.exists()
    assert (theirs / "join" / "0" / "l1~0").exists(), "a directory beside ours was deleted"
    assert {in_use / "join" / "0" / "l1~0", recent / "join" / "0" / "l1~0"} <= set(segment_files(cache))


@pytest.mark.slow
def test_state_does_not_grow_once_the_window_is_full(spark: SparkSession, tmp_path: Path) -> None:
    with live(spark, tmp_path) as join:
        for _ in range(14):
            join.feed()
        assert join.is_exact
        progress = join.progress
        changelogs = sorted((join.job.checkpoint / "state").rglob("*.changelog"), key=lambda path: path.stat().st_mtime)
    keys = [told["stateOperators"][0]["numRowsTotal"] for told in progress]
    rows = [told["observedMetrics"]["streamjoin"]["state_rows"] for told in progress]
    assert max(keys[-4:]) <= max(keys[4:8]), f"keys in state: {keys}"
    assert max(rows[-4:]) <= 1.1 * max(rows[4:8]), f"rows in state: {rows}"
    # Each side: a window, and the files whose times the watermark has not yet passed.
    assert max(rows) <= 2 * 300 * 5, f"rows in state: {rows}"
    sizes = [path.stat().st_size for path in changelogs]
    early, late = sizes[: len(sizes) // 2], sizes[len(sizes) // 2 :]
    assert max(late) <= 1.5 * max(early), f"bytes written to state: {sizes}"
