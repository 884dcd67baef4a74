"""State keeps the hash that each stored row was routed by, so that a later version can route it anew."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from streamjoin import Grid, Scale, last, within
from streamjoin.flow.cache import CacheSpec
from streamjoin.flow.emit import PLAN_CELL
from streamjoin.layout import Layout, fit_plan
from streamjoin.pane import Rows, Segment
from streamjoin.reference import Batch, Row
from streamjoin.spec.how import How
from streamjoin.spec.side import SIDES, Side
from streamjoin.spec.window import Window
from tests.properties.test_worker import plan_of
from tests.strategies import us
from tests.unit.flow.runtime import Contents, Runtime, to_batch, to_job

TEN = within(us(10))


def draw_rows(batch: int, side: Side) -> list[Row]:
    """Five rows of five microseconds, two of them late from the third batch on."""
    rng = np.random.default_rng([batch, ord(side)])
    times = [0, 1, *rng.integers(5 * batch, 5 * batch + 5, 3).tolist()]
    names = ("x", "y") if side == "l" else ("a", "b")
    return [{"ts": t, names[0]: int(rng.integers(0, 3)), names[1]: float(t)} for t in times]


@pytest.mark.parametrize(
    ("layout", "window", "how"),
    [
        (Grid(1, 1), TEN, "inner"),
        (Grid(2, 2), TEN, "inner"),
        (Grid(2, 2), TEN, "left"),
        (Scale(2), TEN, "inner"),
        (Grid(1, 1), last(8), "full"),
    ],
    ids=str,
)
def test_every_stored_row_has_the_hash_that_the_emitter_was_given(
    tmp_path: Path, layout: Layout, window: Window, how: How
) -> None:
    plan = fit_plan(layout, plan_of("l.x = r.a", window, how))
    runtime = Runtime(to_job(plan, layout, CacheSpec(str(tmp_path), 1 << 30)))
    sent: dict[tuple[Side, str], int] = {}
    for batch in range(6):
        rows = {side: draw_rows(batch, side) for side in SIDES}
        for side in SIDES:
            table = to_batch(runtime.job, side, rows[side])
            payload = table.select(range(len(plan.payload(side)))).rename_columns(plan.payload(side).names)
            hashes = table.column(table.num_columns - 1).to_pylist()
            sent |= {(side, repr(row)): hash for row, hash in zip(payload.to_pylist(), hashes, strict=True)}
        runtime.run(Batch(rows["l"], rows["r"], max(0, batch - 1) * 5 or None), parts=2)
    stored = [found for cell, state in runtime.states.items() if cell != PLAN_CELL for found in stored_rows(state)]
    assert sum(len(rows) for _, rows in stored) > 10
    for side, rows in stored:
        assert rows.route is not None
        columns = len(plan.payload(side))  # rows that wait carry masks behind them
        told = [repr(row) for row in rows.payload.select(range(columns)).to_pylist()]
        assert rows.route.tolist() == [sent[side, row] for row in told]


def stored_rows(state: Contents) -> Iterator[tuple[Side, Rows]]:
    for name, content in state.values.items():
        if not name.startswith(("f", "t")):  # flags, tallies
            side: Side = "l" if "l" in name[:2] else "r"
            yield side, Segment.from_bytes(content, name).rows
