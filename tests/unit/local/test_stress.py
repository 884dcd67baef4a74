"""A minute of each system under threads that push blocks and single rows at random: no deadlock, no pair lost."""

import random
import threading
import time
from datetime import timedelta

import numpy as np
import pyarrow as pa
import pytest

from streamjoin import Cell, Grid, Handshake, Keyed, LocalJoin, Scale, within
from streamjoin.layout import Layout

SYSTEMS = [Grid(1, 2), Grid(2, 3), Keyed(3), Scale(3), Cell(3), Handshake(3)]
ORDERED = [Grid(1, 2), Grid(2, 3), Keyed(3), Cell(3)]
"""Those whose results come in order where it is asked for; Scale's always do."""

ASKED = [*((layout, False) for layout in SYSTEMS), *((layout, True) for layout in ORDERED)]
SCHEMAS = {side: pa.schema([("ts", pa.int64()), (name, pa.int32())]) for side, name in (("l", "x"), ("r", "a"))}

KEYS = 50
ENOUGH = 3000
"""So many rows of a side are pushed at the least: their times are three windows long."""

JITTER = 50_000
"""No row lies further from where it would be in order: the latest one before it is at most twice as far ahead."""


class Results:
    """A callback that counts results, and those that come before an earlier one."""

    def __init__(self) -> None:
        self.found = self.backward = 0
        self.reached = -JITTER

    def __call__(self, batch: pa.RecordBatch) -> None:
        times = np.concatenate([[self.reached], batch["join_time"].to_numpy()])
        self.found += batch.num_rows
        self.backward += int(np.count_nonzero(np.diff(times) < 0))
        self.reached = int(times[-1])


def stress(layout: "Layout | Handshake", seconds: float, *, ordered: bool) -> None:
    """Push at random; count results, and check that rows expire and come out in order on the way."""
    pushed: dict[str, list[pa.RecordBatch]] = {"l": [], "r": []}
    results = Results()
    join = LocalJoin(
        on="l.x = r.a", window=within("1 second"), left=SCHEMAS["l"], right=SCHEMAS["r"], time="ts",
        delay=timedelta(microseconds=2 * JITTER), layout=layout, workers=3, ordered=ordered, callback=results,
    )  # fmt: skip

    def push(side: str) -> None:
        draw, at = random.Random(side), 0
        verb = join.push_left if side == "l" else join.push_right
        while time.monotonic() < until or at < ENOUGH:
            size = draw.choice([1, 1, 5, 200])
            times = at * 1000 + np.array([draw.randint(-JITTER, JITTER) for _ in range(size)])
            columns = [pa.array(times), pa.array(np.array([draw.randrange(KEYS) for _ in range(size)], np.int32))]
            batch = pa.RecordBatch.from_arrays(columns, schema=SCHEMAS[side])
            pushed[side].append(batch)
            verb(batch.to_pylist()[0] if size == 1 else batch)
            at += size
            time.sleep(draw.choice([0, 0, 0.001, 0.01]))

    until = time.monotonic() + seconds
    threads = [threading.Thread(target=push, args=(side,)) for side in ("l", "r")]
    with join:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(seconds + 60)
            assert not thread.is_alive(), "deadlock"
        join.read()
        stats = join.stats()
        join.flush()
    rows = {side: pa.Table.from_batches(batches, SCHEMAS[side]) for side, batches in pushed.items()}
    assert results.found == count_pairs(rows) > 0
    assert (stats.late_left, stats.late_right) == (0, 0)
    assert stats.results > 0
    assert stats.live_left + stats.waiting_left < len(rows["l"])
    assert stats.live_right + stats.waiting_right < len(rows["r"])
    if ordered or isinstance(layout, Scale):
        assert results.backward == 0


def count_pairs(rows: dict[str, pa.Table]) -> int:
    """How many results there should be: of each key the right rows within a second of each left one."""
    count, second = 0, 1_000_000
    (left, x), (right, a) = ([column.to_numpy() for column in rows[side].columns] for side in ("l", "r"))
    for key in range(KEYS):
        times, others = left[x == key], np.sort(right[a == key])
        count += int((np.searchsorted(others, times + second, "right") - np.searchsorted(others, times - second)).sum())
    return count


@pytest.mark.parametrize(("layout", "ordered"), ASKED, ids=str)
def test_a_second_of_stress(layout: "Layout | Handshake", ordered: bool) -> None:
    stress(layout, 0.5, ordered=ordered)


@pytest.mark.slow
@pytest.mark.parametrize(("layout", "ordered"), ASKED, ids=str)
def test_a_minute_of_stress(layout: "Layout | Handshake", ordered: bool) -> None:
    stress(layout, 60, ordered=ordered)


@pytest.mark.slow
def test_a_thousand_rounds_of_closing_while_busy_leave_no_thread() -> None:
    before = threading.active_count()
    block = pa.record_batch({"ts": np.arange(100), "x": np.arange(100, dtype=np.int32)})
    for number in range(1000):
        join = LocalJoin(
            on="l.x = r.x", window=within("1s"), left=block.schema, right=block.schema, time="ts", delay="0s",
            layout=SYSTEMS[number % len(SYSTEMS)], workers=3,
        )  # fmt: skip
        join.push_left(block)
        join.push_right(block)
        join.close()
    assert threading.active_count() == before
