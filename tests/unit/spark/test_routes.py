"""State keeps the hash that each stored row was routed by, so that a later version can route it anew."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from streamjoin import Grid, Scale, last, within
from streamjoin.layout import Layout, bound
from streamjoin.pane import Segment
from streamjoin.plan import Plan
from streamjoin.predicate import Schema, parse
from streamjoin.spark.cache import CacheSpec
from streamjoin.spark.cell import CellBatch, CellState
from streamjoin.spark.emitter import emitted
from streamjoin.spark.job import Job, KeySource, Source
from streamjoin.spec.how import How
from streamjoin.spec.window import Window

INT = Schema({"x": "int"})
PAYLOAD = pa.schema([("id", pa.int64())])
SECOND = 1_000_000


class Handle:
    """State as Spark keeps it for one cell."""

    def __init__(self) -> None:
        self.value: Any = None
        self.entries: dict[Any, Any] = {}

    def getValueState(self, *_: str) -> Any:  # noqa: N802
        self.get, self.update = lambda: self.value, lambda value: setattr(self, "value", value)
        return self

    def getMapState(self, *_: str) -> Any:  # noqa: N802
        self.getValue, self.removeKey = self.entries.get, self.entries.pop
        self.updateValue = self.entries.__setitem__
        return self


def arriving(batch: int, side: str) -> pa.RecordBatch:
    """Rows of one second, two of them late from the third batch on; the hash is that of the number."""
    rng = np.random.default_rng([batch, ord(side)])
    ids = np.arange(1000 * batch, 1000 * batch + 50)
    times = batch * SECOND + rng.integers(0, SECOND, 50)
    times[:2] = 0
    return pa.record_batch({"c0": ids, "c1": rng.integers(0, 9, 50, np.int32), "c2": times, "c3": hashed(ids)})


def hashed(ids: Any) -> np.ndarray:
    return np.asarray(ids) * -7919 % 2**62


TWO = within("2 seconds")


@pytest.mark.parametrize(
    ("layout", "window", "how"),
    [
        (Grid(1, 1), TWO, "inner"),
        (Grid(2, 2), TWO, "inner"),
        (Grid(2, 2), TWO, "left"),
        (Scale(2), TWO, "inner"),
        (Grid(1, 1), last(30), "full"),
    ],
    ids=str,
)
def test_every_stored_row_has_the_hash_that_the_emitter_computed(
    tmp_path: Path, layout: Layout, window: Window, how: How
) -> None:
    plan = bound(layout, Plan(parse("l.x = r.x", INT, INT), window, PAYLOAD, PAYLOAD, how))
    source = Source((0,), (KeySource(plan.keys["l"][0].type, 1),), time=2, route=3)
    job = Job("join", "", plan, layout, layout.cells, {"l": source, "r": source}, CacheSpec(str(tmp_path), 1 << 30))
    handles = {cell: Handle() for cell in job.cells}
    for batch in range(6):
        sent = [pd.DataFrame(list(records(job, side, part, batch))) for side in ("l", "r") for part in (0, 1)]
        for cell, handle in handles.items():
            state = CellState(handle)  # type: ignore[arg-type]
            state.load(job)
            of_cell = (frame[frame["cell"] == cell] for frame in sent)
            done = CellBatch(job, cell, state, max(0, batch - 1) * SECOND or None)
            list(done.run(of_cell, 0.0))
            done.close()
    stored = [rows for handle in handles.values() for rows in stored_rows(handle)]
    assert sum(map(len, stored)) > 50
    for rows in stored:
        assert rows.route is not None
        assert rows.route.tolist() == hashed(rows.payload["id"]).tolist()


def records(job: Job, side: Any, part: int, batch: int) -> Iterator[dict[str, Any]]:
    """What one task of the emitter sends: the second half of the rows comes with the second."""
    rows = arriving(batch, side).slice(25 * part, 25)
    for sent in emitted(job, side, iter([rows]), part, 1 << 18):
        yield from sent.to_pylist()


def stored_rows(handle: Handle) -> Iterator[Any]:
    for (name,), (content,) in handle.entries.items():
        if not name.startswith("f"):
            yield Segment.from_bytes(content, name).rows
