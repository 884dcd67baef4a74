"""Sliding windows by panes yield what a loop over all windows does, batch by batch, after restarts too."""

import math
from collections import Counter
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from streamjoin.plan import Plan
from streamjoin.plan.reduction import Aggregate, Sliding, Taken
from streamjoin.predicate import parse
from streamjoin.reference import Batch
from streamjoin.reference_reduce import fold, slide
from streamjoin.spec.window import Between
from streamjoin.worker import Worker
from streamjoin.worker import slide as round_module
from tests.blocks import StateStore, to_block
from tests.properties.test_reduce import COLUMNS, aggregate
from tests.properties.test_worker import ARRIVING, RIGHT

PAYLOAD = pa.schema([("a", pa.int32()), ("b", pa.float64()), ("ts", pa.int64()), ("d", pa.decimal128(14, 2))])
PLACES = {name: at for at, name in enumerate(PAYLOAD.names)}


def of(op: str, *names: str) -> Aggregate:
    made = aggregate(op, *names)
    return Aggregate(op, tuple(Taken("r", PLACES[name]) for name in names), made.type)


EVERY = (
    of("count"),
    of("count", "b"),
    of("sum", "ts"),
    of("sum", "b"),
    *(of(op, "ts") for op in ("avg", "var_pop", "var_samp", "stddev_pop", "stddev_samp", "min", "max")),
    *(of(op, "b") for op in ("avg", "min", "max", "var_pop")),
    *(
        Aggregate(op, (Taken("r", PLACES["d"]),), pa.decimal128(*size))
        for op, size in {"sum": (24, 2), "avg": (18, 6), "min": (14, 2)}.items()
    ),
)
assert COLUMNS  # the columns of the right rows of a history: ts, a, b


def plan_of(size: int, every: int, keys: int) -> Plan:
    on = parse("l.a <=> r.a", RIGHT, RIGHT)
    reduction = Sliding(size, every, keys, EVERY)
    return Plan(on, Between(1 - size, 0), PAYLOAD, PAYLOAD, reduction=reduction)


def add_decimal(batch: Batch) -> Batch:
    """Right rows with a quarter of `a` as a decimal."""
    rows = [{**row, "d": None if row["a"] is None else Decimal(row["a"]) / 4} for row in batch.right]
    return replace(batch, right=rows)


def show(value: Any) -> str:
    if isinstance(value, Decimal):
        return str(value.quantize(Decimal("0.000001"), ROUND_HALF_UP))
    if isinstance(value, float):
        return "nan" if math.isnan(value) else f"{round(value, 9) + 0.0}"
    return repr(value)


def expect(plan: Plan, batches: list[Batch], *, ended: bool) -> Counter[tuple[str, ...]]:
    sliding = plan.reduction
    assert isinstance(sliding, Sliding)
    found: Counter[tuple[str, ...]] = Counter()
    for start, key, rows in slide(batches, sliding.size, sliding.every, ["a", "b"][: sliding.keys], ended=ended):
        columns = [[[row[PAYLOAD.names[o.column]] for row in rows] for o in each.operands] for each in sliding.each]
        values = [fold(each.op, *of) if of else len(rows) for each, of in zip(sliding.each, columns, strict=True)]
        found[tuple(map(show, (start, *key, *values, start + sliding.size - 1)))] += 1
    return found


def read(results: list[pa.RecordBatch]) -> Counter[tuple[str, ...]]:
    rows = (row for batch in results for row in zip(*(column.to_pylist() for column in batch.columns), strict=True))
    return Counter(tuple(map(show, row)) for row in rows)


@given(
    batches=ARRIVING,
    size=st.integers(1, 9),
    every=st.integers(1, 9),
    keys=st.integers(0, 1),
    restarts=st.booleans(),
    few=st.booleans(),
)
def test_a_worker_slides_as_the_law_says(
    batches: list[Batch], size: int, every: int, keys: int, restarts: bool, few: bool
) -> None:
    plan = plan_of(max(size, every), min(size, every), keys)
    worker, state, found = Worker(plan), StateStore(), Counter[tuple[str, ...]]()
    batches = [add_decimal(batch) for batch in batches]
    most, round_module.MOST_WINDOWS = round_module.MOST_WINDOWS, 2 if few else 1 << 16
    try:
        for k, batch in enumerate(batches, 1):
            rows = [to_block(plan, "r", list(batch.right))]
            found += read(list(worker.process((), rows, batch.watermark)))
            assert found == expect(plan, batches[:k], ended=False), f"after batch {k}"
            state.save(worker)
            worker = state.restore(plan) if restarts else worker
        found += read(list(worker.finish()))
    finally:
        round_module.MOST_WINDOWS = most
    assert found == expect(plan, batches, ended=True)
    assert (worker.size.live_right, worker.size.segments) == (0, 0)
