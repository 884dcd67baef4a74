"""What Spark SQL computes around a join: keys, one-sided filters, residual conditions, the hash for routing.

Evaluated by the operator registry, a row at a time; the hash is any of 64 bits. Values repeat, so answers are kept.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from hashlib import blake2b
from typing import Any

import pyarrow as pa

from streamjoin.flow.job import Job
from streamjoin.operators.evaluate import evaluate
from streamjoin.operators.expr import Expr
from streamjoin.spec.side import SIDES, Side
from tests.blocks import ARROW
from tests.simulation.history import Row
from tests.simulation.joins import COLUMNS, PAYLOADS, Join

Result = tuple[Any, ...]
"""The columns of a result, those of the left side first, and its join time."""


def hash_row(*values: object) -> int:
    return int.from_bytes(blake2b(repr(values).encode(), digest_size=8).digest(), "little", signed=True)


class Memo(dict[str, Any]):
    """The values of an expression, by the row (or pair of rows) it was evaluated on."""

    def __init__(self, expr: Expr, side: Side | None = None) -> None:
        self._expr, self._side = expr, side
        assert not {c.path[0] for c in expr.columns} & {"ts", "id"}, (
            "conditions look at neither time nor identity, which hardly ever repeat"
        )

    def of_row(self, row: Row) -> Any:
        key = repr([*row.values()][1:-1])
        if key not in self:
            self[key] = evaluate(self._expr, row, {}) if self._side == "l" else evaluate(self._expr, {}, row)
        return self[key]

    def of_pair(self, left: Row, right: Row) -> Any:
        key = repr((left["x"], left["y"], left["s"], right["a"], right["b"], right["u"]))
        if key not in self:
            self[key] = evaluate(self._expr, left, right)
        return self[key]


class Sql:
    """The expressions of one join."""

    def __init__(self, join: Join) -> None:
        planned = join.planned
        self.keys = {side: [Memo(key.arg, side) for key in planned.plan.keys[side]] for side in SIDES}
        self.filters = {side: [Memo(expr, side) for expr in planned.filters[side]] for side in SIDES}
        self.residual = [Memo(expr) for expr in planned.residual]
        self.columns = planned.columns

    def filter(self, side: Side, rows: Sequence[Row]) -> list[Row]:
        """Rows that the conditions on their side let through; those without a time are there to be counted."""
        return [row for row in rows if row["ts"] is None or all(memo.of_row(row) for memo in self.filters[side])]

    def to_batch(self, job: Job, side: Side, rows: Sequence[Row]) -> pa.RecordBatch:
        """Rows as an emitter is given them."""
        columns = [
            pa.array([row[name] for row in rows], type)
            for name, type in zip(COLUMNS[side], PAYLOADS[side].types, strict=True)
        ]
        for key, memo in zip(job.plan.keys[side], self.keys[side], strict=True):
            values = [memo.of_row(row) for row in rows]
            columns += [
                pa.array(values, ARROW[key.type.name]),
                pa.array([hash_row(value) for value in values], pa.int64()),
            ]
        columns += [
            columns[0],
            pa.array([hash_row(side, *row.values()) for row in rows], pa.int64()),
        ]
        return pa.RecordBatch.from_arrays(columns, names=[f"c{at}" for at in range(len(columns))])

    def to_results(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Result]:
        """Results that pass the residual conditions."""
        for batch in batches:
            for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                if not self.residual or self._passes(values):
                    yield values

    def _passes(self, values: Result) -> bool:
        width = len(COLUMNS["l"])
        left = dict(zip(COLUMNS["l"], values, strict=False))
        right = dict(zip(COLUMNS["r"], values[width:], strict=False))
        return all(memo.of_pair(left, right) for memo in self.residual)


def sql_of(join: Join) -> Sql:
    return _sql_of(replace(join, keeps_late=False))


@cache
def _sql_of(join: Join) -> Sql:
    return Sql(join)


def project(result: Result, side: Side) -> Row:
    """A result of the first join as a row of the second: what is there of either side, both identities as one."""
    width = len(COLUMNS["l"])
    left, right = result[:width], result[width:-1] or (None,) * width
    present = [l if left[0] is not None else r for l, r in zip(left, right, strict=True)]
    identity = (left[-1] or 0) * 1000 + (right[-1] or 0)
    return dict(zip(COLUMNS[side], (result[-1], *present[1:-1], identity), strict=True))
