"""A minute of each system under threads that push blocks and single rows at random: no deadlock, no pair lost."""

import random
import threading
import time

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from streamjoin import Cell, Grid, Handshake, Keyed, LocalJoin, Scale, within
from streamjoin.layout import Layout

SYSTEMS = [Grid(1, 2), Grid(2, 3), Keyed(3), Scale(3), Cell(3), Handshake(3)]
SCHEMAS = {side: pa.schema([("ts", pa.int64()), (name, pa.int32())]) for side, name in (("l", "x"), ("r", "a"))}


def stress(layout: "Layout | Handshake", seconds: float) -> tuple[int, int]:
    """How many results there were, and how many there should have been."""
    pushed: dict[str, list[pa.RecordBatch]] = {"l": [], "r": []}
    found = [0]

    def count(batch: pa.RecordBatch) -> None:
        found[0] += batch.num_rows

    join = LocalJoin(
        on="l.x = r.a", window=within("1 second"), left=SCHEMAS["l"], right=SCHEMAS["r"], time="ts",
        delay="1 day", layout=layout, workers=3, callback=count,
    )  # fmt: skip

    def push(side: str) -> None:
        draw, at = random.Random(side), 0
        verb = join.push_left if side == "l" else join.push_right
        while time.monotonic() < until:
            size = draw.choice([1, 1, 5, 200])
            times = at * 1000 + np.array([draw.randint(-50_000, 50_000) for _ in range(size)])
            columns = [pa.array(times), pa.array(np.array([draw.randrange(50) for _ in range(size)], np.int32))]
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
        join.flush()
    whole = duckdb.connect()
    for side, batches in pushed.items():
        whole.register(side, pa.Table.from_batches(batches, SCHEMAS[side]))
    law = "SELECT count(*) FROM l JOIN r ON l.x = r.a AND abs(l.ts - r.ts) <= 1000000"
    return found[0], whole.sql(law).fetchall()[0][0]


@pytest.mark.parametrize("layout", SYSTEMS, ids=str)
def test_a_second_of_stress(layout: Layout) -> None:
    found, expected = stress(layout, 0.5)
    assert found == expected > 0


@pytest.mark.slow
@pytest.mark.parametrize("layout", SYSTEMS, ids=str)
def test_a_minute_of_stress(layout: Layout) -> None:
    found, expected = stress(layout, 60)
    assert found == expected > 0


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
