"""Rows that several cells decide on: the right ones come out, and what waits for it is bounded."""

import random
import tracemalloc
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from streamjoin import Grid, within
from streamjoin.flow import answers
from streamjoin.flow import settle as settling
from streamjoin.flow.answers import Answers
from streamjoin.flow.settle import Answer, answer, pack_results, settle
from streamjoin.layout import fit_plan
from streamjoin.pane import KeyColumn, Rows
from streamjoin.plan import Block, Plan
from streamjoin.predicate import Schema, parse
from streamjoin.worker import Undecided, Worker

INT = Schema({"x": "int"})
GRID = Grid(2, 3)
LEFT, RIGHT = pa.schema([("l", pa.int64())]), pa.schema([("r", pa.int64())])
PLAN = fit_plan(GRID, Plan(parse("l.x = r.x", INT, INT), within("1 minute"), LEFT, RIGHT, "full"))
SCHEMA = PLAN.output


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settling, "PAGE", 100)


def part(side: str, ranks: np.ndarray) -> Undecided:
    """Rows of one side whose ids are their ranks."""
    own, nothing = pa.array(ranks), pa.nulls(len(ranks), pa.int64())
    columns = [own, nothing] if side == "l" else [nothing, own]
    return Undecided(side, ranks, pa.RecordBatch.from_arrays([*columns, own], schema=SCHEMA))


def ask(seed: int, rows: int) -> tuple[list[list[Answer]], list[tuple[int | None, int | None, int]]]:
    """What each cell says of rows that are unmatched there by chance, and which are unmatched in all of a stripe."""
    chance = np.random.default_rng(seed)
    said: list[list[Answer]] = [[] for _ in range(GRID.cells)]
    expected: list[tuple[int | None, int | None, int]] = []
    for side, count in (("l", GRID.m), ("r", GRID.n)):
        for stripe in range(count):
            unmatched = set(range(rows))
            for cell in GRID.stripe(side, stripe):
                own = np.flatnonzero(chance.random(rows) < 0.8)
                unmatched &= set(own.tolist())
                for piece in np.array_split(own, 7):
                    said[cell] += answer(GRID, cell, part(side, piece))
            expected += [(rank, None, rank) if side == "l" else (None, rank, rank) for rank in unmatched]
    return said, expected


def settle_all(records: Sequence[Answer], *, in_order: bool) -> list[tuple[int | None, int | None, int]]:
    found = settle(GRID, records, in_order=in_order)
    return [tuple(row.values()) for batch in found for row in batch.to_pylist()]


def by_text(rows: Sequence[tuple[int | None, int | None, int]]) -> list[str]:
    return sorted(map(repr, rows))


@pytest.mark.parametrize("most", [64 << 20, 5000, 0], ids=["in memory", "partly on disk", "on disk"])
@pytest.mark.parametrize("in_order", [True, False], ids=["sorted by Spark", "in any order"])
def test_rows_that_are_unmatched_in_all_cells_of_a_stripe_come_out(
    monkeypatch: pytest.MonkeyPatch, most: int, in_order: bool
) -> None:
    monkeypatch.setattr(answers, "MOST_BYTES", most)
    said, expected = ask(1, 1000)
    records = [record for of_cell in said for record in of_cell]
    random.Random(1).shuffle(records)
    if in_order:
        records.sort(key=lambda record: record[1:3])
    result = pa.RecordBatch.from_arrays([[7], [8], [9]], schema=SCHEMA)
    records.insert(len(records) // 2, Answer(0, -1, 0, pack_results(result)))
    assert by_text(settle_all(records, in_order=in_order)) == by_text([*expected, (7, 8, 9)])


def test_a_cell_in_which_every_row_is_matched_settles_its_stripe() -> None:
    said, _ = ask(1, 300)
    of_stripe = [record for of_cell in said for record in of_cell if record[1] == 1]
    assert settle_all(of_stripe, in_order=False)
    for silent in GRID.stripe("l", 1):
        assert not settle_all([record for record in of_stripe if record[0] != silent], in_order=False)


def test_rows_travel_once_and_the_other_cells_send_ranks() -> None:
    wide = pa.schema([("id", pa.string()), ("other", pa.int64()), ("join_time", pa.int64())])
    ranks = np.arange(50)
    rows = pa.RecordBatch.from_arrays([["x" * 1000] * 50, pa.nulls(50, pa.int64()), ranks], schema=wide)
    sizes = [
        sum(len(part.block) for part in answer(GRID, cell, Undecided("l", ranks, rows))) for cell in GRID.stripe("l", 0)
    ]
    assert sizes[0] > 50_000
    assert max(sizes[1:]) < 2_000


def test_what_is_held_does_not_grow_with_what_is_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "MOST_BYTES", 1 << 20)

    def peak(blocks: int) -> int:
        """The most bytes of Python's while so many blocks of 100 kB wait and are then read again."""
        held = Answers()
        tracemalloc.start()
        try:
            for number in range(blocks):
                held.add((0, number % 20), number % 3, pa.py_buffer(bytes(100_000)))
            assert (
                sum(block.size for _, cells in held.pages() for of in cells.values() for block in of) == blocks * 10**5
            )
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    few, many = peak(60), peak(600)
    assert many < 1.2 * few < 3 << 20


def test_the_file_bears_no_name_and_is_closed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(answers, "MOST_BYTES", 10)
    held = Answers(tmp_path)
    held.add((0, 0), 0, pa.py_buffer(bytes(100)))
    file = held._spill._file
    assert file is not None
    assert not list(tmp_path.iterdir())
    assert [page for page, _ in held.pages()] == [(0, 0)]
    assert file.closed
    assert (0, 0) not in held


def test_a_worker_hands_on_undecided_rows_block_by_block() -> None:
    rows = 1000
    plan = fit_plan(GRID, Plan(PLAN.predicate, PLAN.window, LEFT, RIGHT, "left", block_rows=100))
    worker = Worker(plan)
    keys = (KeyColumn(np.arange(rows, dtype=np.int32)),)
    block = Block(Rows(np.arange(rows), keys, pa.record_batch([np.arange(rows)], schema=LEFT)))
    assert not list(worker.process(block))
    found: Iterator[Undecided] = worker.process(watermark=10**9)
    ranks = [part.ranks for part in found]
    assert [len(some) for some in ranks] == [100] * 10
    assert all(before[-1] < after[0] for before, after in pairwise(ranks))
