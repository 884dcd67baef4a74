"""A cell as Spark calls it, and its state in Spark's state store: notes, contents in chunks, one alarm."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from streamjoin import Grid, StreamJoinError, within
from streamjoin.flow.cache import CacheSpec
from streamjoin.flow.emit import PLAN_CELL
from streamjoin.flow.job import Job
from streamjoin.flow.metrics import NUMBERS
from streamjoin.flow.settle import unpack_results
from streamjoin.flow.state import Note
from streamjoin.spark import processor
from streamjoin.spark.emitter import emit_batches
from streamjoin.spark.job import pack_job
from streamjoin.spark.processor import CellProcessor, CellState
from tests.properties.test_worker import plan_of
from tests.strategies import us
from tests.unit.flow.runtime import to_batch, to_job


class Handle:
    """What Spark gives a processor, kept in dictionaries."""

    def __init__(self) -> None:
        self.note: Any = None
        self.contents: dict[str, bytes] = {}
        self.timers: list[int] = []

    def getValueState(self, *_: str) -> Any:  # noqa: N802
        handle = self

        class Value:
            def exists(self) -> bool:
                return handle.note is not None

            def get(self) -> Any:
                return handle.note

            def update(self, value: Any) -> None:
                handle.note = value

        return Value()

    def getMapState(self, *_: str) -> Any:  # noqa: N802
        contents = self.contents

        class Map:
            def getValue(self, key: tuple[str]) -> tuple[bytes] | None:  # noqa: N802
                return (contents[key[0]],) if key[0] in contents else None

            def updateValue(self, key: tuple[str], value: tuple[bytes]) -> None:  # noqa: N802
                contents[key[0]] = value[0]

            def removeKey(self, key: tuple[str]) -> None:  # noqa: N802
                del contents[key[0]]

        return Map()

    def registerTimer(self, time: int) -> None:  # noqa: N802
        self.timers.append(time)

    def deleteTimer(self, time: int) -> None:  # noqa: N802
        self.timers.remove(time)


NOTE = Note("a key", b"a manifest", {"l1": "digest"})


def test_a_note_is_read_as_it_was_written() -> None:
    handle = Handle()
    assert CellState(handle).read_note() is None
    CellState(handle).write_note(NOTE)
    assert CellState(handle).read_note() == NOTE


@pytest.mark.parametrize("size", [0, 9, 10, 11, 20, 25])
def test_contents_are_stored_in_chunks_of_bounded_size(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(processor, "CHUNK_BYTES", 10)
    handle, content = Handle(), bytes(range(size))
    state = CellState(handle)
    state.put("l1", content)
    state.write_note(NOTE)
    assert all(len(chunk) <= 10 for chunk in handle.contents.values())
    later = CellState(handle)
    later.read_note()
    assert later.get("l1") == content
    assert later.get("l2") is None
    later.remove("l1")
    assert not handle.contents


def test_a_new_alarm_replaces_the_old_one_and_spark_deletes_what_fired() -> None:
    handle = Handle()
    state = CellState(handle)
    for watermark, fired in ((1_000_000, None), (2_000_000, None), (3_000_000, 2_001)):
        state.read_note()
        state.fired = fired
        state.wake_after(watermark)
        state.write_note(NOTE)
        if fired is not None:
            handle.deleteTimer(fired)
        assert handle.timers == [watermark // 1000 + 1]


# A processor

ROWS = {"l": [{"ts": 1_000 * t, "x": t, "y": 0.0} for t in range(4)], "r": [{"ts": 0, "a": 3, "b": 0.0}]}
TIMERS = SimpleNamespace(getCurrentWatermarkInMs=lambda: 0)


def job(cache: Path, on: str = "l.x = r.a", how: Any = "left") -> Job:
    return to_job(plan_of(on, within(us(10_000)), how), Grid(1, 1), CacheSpec(str(cache), None), partitions=1)


def run(job: Job, handle: Handle, key: int) -> list[dict[str, Any]]:
    """The records of one cell in a batch with rows, through Arrow and pandas as Spark has them."""
    packed = pack_job(job)
    sent = [
        batch for side, rows in ROWS.items() for batch in emit_batches(packed, side, iter([to_batch(job, side, rows)]))
    ]
    frame = pa.Table.from_batches(sent).to_pandas()
    cell = CellProcessor(packed)
    cell.init(handle)
    found = list(cell.handleInputRows((key,), iter([frame[frame.cell == key]]), TIMERS))
    return pd.concat(found).to_dict("records") if found else []


def test_results_come_in_blocks_and_the_metrics_last(tmp_path: Path) -> None:
    handle = Handle()
    *answers, last = run(job(tmp_path), handle, 0)
    assert [row for a in answers for batch in unpack_results(a["block"]) for row in batch["x"].to_pylist()] == [3]
    metrics = dict(zip(NUMBERS, last["numbers"], strict=True))
    assert (metrics["rows_left"], metrics["rows_right"], metrics["matches"], metrics["waiting_rows"]) == (4, 1, 1, 3)
    assert last["block"] is None
    assert handle.timers == [1]


def test_the_plan_s_cell_keeps_the_key_and_joins_nothing(tmp_path: Path) -> None:
    handle = Handle()
    assert run(job(tmp_path), handle, PLAN_CELL) == []
    assert handle.note[0] == job(tmp_path).key.to_json()


@pytest.mark.parametrize("key", [0, PLAN_CELL, 99], ids=["a cell", "the plan's", "a cell of another layout"])
def test_another_join_is_refused_in_whatever_cell_it_looks(tmp_path: Path, key: int) -> None:
    handle = Handle()
    handle.note = (job(tmp_path).key.to_json(), b"", b"{}")
    with pytest.raises(StreamJoinError, match="another join"):
        run(job(tmp_path, on="l.x <=> r.a"), handle, key)


def test_a_note_from_before_format_1_is_refused(tmp_path: Path) -> None:
    handle = Handle()
    handle.note = ("on      l.x = r.a\nhow     left", b'{"format":2}', b'{"cached":{},"chunks":{},"tick":1}')
    with pytest.raises(StreamJoinError, match="an earlier release"):
        run(job(tmp_path), handle, 0)
