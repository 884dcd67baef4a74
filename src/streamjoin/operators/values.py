"""Expressions over both rows of a pair as machine code: a number for each pair, or NULL.

>>> from streamjoin.operators.expr import Call, Column, Key
>>> from streamjoin.operators.types import DOUBLE
>>> x, a = (Key(DOUBLE, Column(DOUBLE, side, (name,)), name=name) for side, name in (("l", "x"), ("r", "a")))
>>> difference = CompiledValues(Call(DOUBLE, "-", (x, a)))
>>> columns = [(np.array([2.0, 3.0]), None)], [(np.array([4.0, 5.0]), np.array([True, False]))]
>>> values, known = difference.pairs(*columns, np.array([0, 1]), np.array([0, 1]))
>>> values[0], known.tolist()
(np.float64(-2.0), [True, False])
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamjoin.compile.modules import load
from streamjoin.operators.arithmetic import EvaluationError
from streamjoin.operators.codegen import LEFT_TO_EVALUATE, Source, values_source
from streamjoin.operators.compiled import Indices, KeyColumn, Mask, index_type, list_arrays, over_columns, read_row
from streamjoin.operators.evaluate import evaluate
from streamjoin.operators.expr import Expr
from streamjoin.operators.statements import dtype_of


class CompiledValues:
    """An expression over `Key` columns and constants, all of machine types; `left` and `right` name the columns."""

    def __init__(self, expr: Expr) -> None:
        self.expr = expr
        self._sources: dict[tuple[bool, str], Source] = {}
        source = self._source(nullable=False, index="int64")
        self.left, self.right = source.keys["l"], source.keys["r"]
        self._constants = np.array(source.ints, np.int64), np.array(source.floats, np.float64)

    def __reduce__(self) -> tuple[Any, ...]:
        return CompiledValues, (self.expr,)

    def pairs(
        self, left: Sequence[KeyColumn], right: Sequence[KeyColumn], li: Indices, ri: Indices
    ) -> tuple[NDArray[Any], Mask]:
        """For each k the value of row ``li[k]`` of the left and row ``ri[k]`` of the right columns; which are known."""
        index = index_type(li, ri)
        nullable = any(valid is not None for _, valid in (*left, *right))
        source = self._source(nullable=nullable, index=index)
        arrays = [*list_arrays(left, self.left, nullable), *list_arrays(right, self.right, nullable)]
        out, marks = np.zeros(len(li), dtype_of(self.expr.type)), np.empty(len(li), np.uint8)
        rows = (np.ascontiguousarray(rows, index) for rows in (li, ri))
        with np.errstate(all="ignore"):  # for runs without the compiler
            some_left = load(source.text, source.entry)(*arrays, *rows, *self._constants, out, marks)
        if some_left:
            for k in np.flatnonzero(marks == LEFT_TO_EVALUATE):
                value = self._evaluate(left, right, int(li[k]), int(ri[k]))
                marks[k] = value is not None
                out[k] = 0 if value is None else value
        return out, marks.view(np.bool_)

    def _evaluate(self, left: Sequence[KeyColumn], right: Sequence[KeyColumn], i: int, j: int) -> Any:
        """What the compiled code leaves open, or the error that it found."""
        try:
            over = over_columns(self.expr, {"l": self.left, "r": self.right})
            return evaluate(over, read_row(left, i), read_row(right, j))
        except EvaluationError as error:
            raise EvaluationError(f"{self.expr}: {error}") from None

    def _source(self, *, nullable: bool, index: str) -> Source:
        if (nullable, index) not in self._sources:
            self._sources[nullable, index] = values_source(self.expr, nullable=nullable, index=index)
        return self._sources[nullable, index]
