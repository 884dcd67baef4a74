"""Conditions on more than numbers, decided for candidate pairs: pair columns first, then the compiled rest."""

from collections.abc import Mapping
from itertools import product

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.operators.arithmetic import EvaluationError
from streamjoin.operators.compiled import CompiledCheck
from streamjoin.operators.expr import Key
from streamjoin.operators.types import DATE, Type
from streamjoin.operators.vector import Column, evaluate_pairs
from streamjoin.pane import KeyColumn, Rows
from streamjoin.predicate.conjunct import Evaluated, PairColumn
from streamjoin.spec.side import SIDES, Side

AT_A_TIME = 1 << 13
"""Pairs that are looked at together: the strings of so many fit into memory, however long they are."""

_FEW = 4
"""Values that could not be had, of which all combinations are tried."""

Mask = NDArray[np.bool_]
Indices = NDArray[np.int32]
Numbers = tuple[NDArray[np.generic], Mask | None]
"""Values, and where they are valid: None for everywhere."""


class PairCheck:
    """Decides one condition; `position` says where the keys stand in `Rows.keys`."""

    def __init__(self, conjunct: Evaluated, position: Mapping[str, int]) -> None:
        self.conjunct, self._position = conjunct, position
        self.check = CompiledCheck([conjunct.check])
        self._read = {key.name: key for pair in conjunct.pairs for key in pair.tree.walk() if isinstance(key, Key)}

    def mask(self, left: Rows, right: Rows, li: Indices, ri: Indices) -> Mask:
        """For each k, whether row ``li[k]`` of left and row ``ri[k]`` of right satisfy the condition."""
        masks = [
            self._mask({"l": (left, li[at : at + AT_A_TIME]), "r": (right, ri[at : at + AT_A_TIME])})
            for at in range(0, len(li), AT_A_TIME)
        ]
        return np.concatenate(masks)

    def _mask(self, sides: Mapping[Side, tuple[Rows, Indices]]) -> Mask:
        def take(key: Key) -> KeyColumn:
            rows, at = sides[key.side]
            return rows.keys[self._position[key.name]].take(at)

        count = len(sides["l"][1])
        texts = {name: _arrow(take(key), key.type) for name, key in self._read.items()}
        columns = {pair.key.name: evaluate_pairs(pair.tree, texts, count) for pair in self.conjunct.pairs}
        computed = {name: _numbers(column.values) for name, column in columns.items()}
        numbers = {
            side: [computed.get(key.name) or _plain(take(key)) for key in keys]
            for side, keys in zip(SIDES, (self.check.left, self.check.right), strict=True)
        }
        failed = [pair for pair in self.conjunct.pairs if columns[pair.key.name].errors is not None]
        if failed:
            return self._decide_despite(failed, columns, numbers)
        return self._decide(numbers, count)

    def _decide(self, numbers: Mapping[Side, list[Numbers]], count: int) -> Mask:
        every = np.arange(count)
        return self.check.pairs(numbers["l"], numbers["r"], every, every)

    def _decide_despite(
        self, failed: list[PairColumn], columns: Mapping[str, Column], numbers: Mapping[Side, list[Numbers]]
    ) -> Mask:
        """Some operands failed. Try TRUE, FALSE and NULL in their place; raise only if the answer changes."""
        answers = []
        for values_tried in product(((True, True), (False, True), (False, False)), repeat=min(len(failed), _FEW)):
            tried = list(numbers["l"])
            for pair, (value, known) in zip(failed, values_tried, strict=False):
                place = [key.name for key in self.check.left].index(pair.key.name)
                errors = columns[pair.key.name].errors
                assert errors is not None
                values, valid = tried[place]
                valid = np.ones(len(values), np.bool_) if valid is None else valid
                tried[place] = np.where(errors, value, values), np.where(errors, known, valid)
            answers.append(self._decide({"l": tried, "r": numbers["r"]}, len(tried[0][0])))
        if len(failed) > _FEW or not all(np.array_equal(answers[0], answer) for answer in answers):
            raise EvaluationError(f"{self.conjunct}: {columns[failed[0].key.name].error}")
        return answers[0]


def _plain(column: KeyColumn) -> Numbers:
    return column.values, column.valid


def _numbers(values: pa.Array) -> Numbers:
    if not values.null_count:
        return values.to_numpy(zero_copy_only=False), None
    filled = values.fill_null(False if pa.types.is_boolean(values.type) else 0)
    return filled.to_numpy(zero_copy_only=False), values.is_valid().to_numpy(zero_copy_only=False)


def _arrow(column: KeyColumn, type: Type) -> pa.Array:
    """A key column as `vector` takes it."""
    if column.exact is None:
        values = pa.array(column.values, mask=None if column.valid is None else ~column.valid)
        return values.cast(pa.date32()) if type == DATE else values
    if pa.types.is_string(column.exact.type) or pa.types.is_string_view(column.exact.type):
        return column.exact.cast(pa.large_string())
    if pa.types.is_binary(column.exact.type):
        return column.exact.cast(pa.large_binary())
    return column.exact
