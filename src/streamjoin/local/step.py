"""Steps: what was pushed, joined by the engine and, where asked for, put in order."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from streamjoin.local.engine import Engine
from streamjoin.local.gate import Gate
from streamjoin.pane import Rows
from streamjoin.spec.side import SIDES, Side
from streamjoin.worker.expiry import ENDED

GATE_OUT = ("results", "watermark")
"""The sources of the gate that puts results in order: the second brings none, and holds back what W has not passed."""


@dataclass(frozen=True)
class Step:
    """What one push brings: admitted rows of a side, the watermark they came under, and when they came."""

    side: Side | None
    rows: Rows | None
    watermark: int | None
    arrived: float

    @property
    def count(self) -> int:
        """How many rows."""
        return 0 if self.rows is None else len(self.rows)


def run_steps(engine: Engine, gate: Gate | None, steps: Sequence[Step]) -> list[pa.RecordBatch]:
    """Run steps as one: the results that are found, those of a join with a gate once the watermark has passed them."""
    rows: dict[Side, Rows] = {}
    for side in SIDES:
        parts = [step.rows for step in steps if step.side == side and step.rows is not None and len(step.rows)]
        if parts:
            rows[side] = Rows.concat(parts)
    watermark = steps[-1].watermark
    if watermark == ENDED:
        found = engine.run(rows, steps[-2].watermark) if len(steps) > 1 else []
        found += engine.finish()
    else:
        found = engine.run(rows, watermark)
    return found if gate is None else _put_in_order(gate, found, watermark)


def _put_in_order(gate: Gate, found: Sequence[pa.RecordBatch], watermark: int | None) -> list[pa.RecordBatch]:
    """What the watermark has passed, in order; the rest waits."""
    for batch in found:
        gate.add("results", batch)
    if watermark == ENDED:
        gate.close()
    elif watermark is not None:
        for source in GATE_OUT:
            gate.advance(source, watermark)
    ready = []
    while (batch := gate.ready(0)) is not None:
        ready.append(batch)
    return ready
