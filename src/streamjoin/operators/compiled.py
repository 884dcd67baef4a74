"""Conditions on numbers as machine code: compiled once for their structure, exact to the last pair.

>>> from streamjoin.predicate import Schema, parse
>>> predicate = parse("l.x * r.a <= 10", Schema({"x": "int"}), Schema({"a": "int"}))
>>> check = CompiledCheck([conjunct.exact for conjunct in predicate.conjuncts])
>>> [str(key) for key in (*check.left, *check.right)]
['l.x', 'r.a']
>>> x, a = np.array([2, 3], np.int32), np.array([4, 5], np.int32)
>>> check.pairs([(x, None)], [(a, None)], np.array([0, 0, 1]), np.array([0, 1, 1])).tolist()
[True, True, False]
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamjoin.compile.modules import load
from streamjoin.operators.arithmetic import EvaluationError
from streamjoin.operators.codegen import LEFT_TO_EVALUATE, Source, nested_source, pairs_source
from streamjoin.operators.evaluate import evaluate
from streamjoin.operators.expr import Column, Expr, Key, conjunction
from streamjoin.operators.statements import dtype_of
from streamjoin.spec.side import Side

Values = NDArray[Any]
Times = NDArray[np.int64]
Indices = NDArray[np.int32] | NDArray[np.int64]
Mask = NDArray[np.bool_]
KeyColumn = tuple[Values, Mask | None]
"""The values of a key column, and where they are valid: None if everywhere."""


def new_cursor() -> Times:
    """Where `CompiledCheck.nested` starts: the first row of the tile, probe, place in the tile; pairs examined.

    The first number is negative once there are no more matches.
    """
    return np.zeros(4, np.int64)


class CompiledCheck:
    """The AND of conditions over `Key` columns and constants, all of machine types; it decides pairs of rows.

    `left` and `right` name the key columns in the order in which it takes them. A condition that `evaluate` cannot
    judge either raises `NotEvaluable`. Machine code is made, or loaded from disk, when it is first needed.

    Where Spark would raise on a pair, an `EvaluationError` names the condition and the pair. Values are of the type
    that `statements.dtype_of` names; indices are trusted to be in range. `evaluated` counts the pairs that compiled
    code left to `evaluate`.
    """

    def __init__(self, conditions: Sequence[Expr]) -> None:
        if not conditions:
            raise ValueError("conditions: expected at least one")
        self.conditions = tuple(conditions)
        self._condition = conjunction(self.conditions)
        self.evaluated = 0
        self._sources: dict[tuple[str, bool, str], Source] = {}
        source = self._source("pairs", False, "int64")
        self.left, self.right = source.keys["l"], source.keys["r"]
        self._constants = np.array(source.ints, np.int64), np.array(source.floats, np.float64)
        self._over_columns = over_columns(self._condition, {"l": self.left, "r": self.right})

    @property
    def outline(self) -> str:
        """The same for all conditions that share machine code, whatever their constants."""
        return self._source("pairs", False, "int64").text

    def __reduce__(self) -> tuple[Any, ...]:
        return CompiledCheck, (self.conditions,)

    def __repr__(self) -> str:
        return f"CompiledCheck({self._condition})"

    def pairs(self, left: Sequence[KeyColumn], right: Sequence[KeyColumn], li: Indices, ri: Indices) -> Mask:
        """For each k, whether row ``li[k]`` of the left and row ``ri[k]`` of the right columns match."""
        if len(li) != len(ri):
            raise ValueError(f"li, ri: expected indices in pairs, not {len(li)} and {len(ri)}")
        index = index_type(li, ri)
        marks = np.empty(len(li), np.uint8)
        rows = (_array(rows, index, "li, ri") for rows in (li, ri))
        if self._call("pairs", index, (left, right), (*rows, *self._constants, marks)):
            for k in np.flatnonzero(marks == LEFT_TO_EVALUATE):
                marks[k] = self._evaluate_pair(left, right, int(li[k]), int(ri[k]))
        return marks.view(np.bool_)

    def nested(
        self,
        probe: Side,
        left: Sequence[KeyColumn],
        right: Sequence[KeyColumn],
        low: Times,
        high: Times,
        time: Times,
        probes: Indices,
        builds: Indices,
        cursor: Times,
    ) -> int:
        """Meet every row of the side `probe` with every row of the other side; the number of matches written.

        A probing row matches rows whose `time` lies between its `low` and `high`, ends included. Matches go to
        `probes` and `builds` until those are full; another call goes on from `cursor`, as long as
        ``cursor[0] >= 0``, and may find none. ``cursor[3]`` counts the pairs that were compared.
        """
        if not 0 < len(probes) == len(builds):
            raise ValueError(f"probes, builds: expected one length above 0, not {len(probes)} and {len(builds)}")
        columns = (left, right) if probe == "l" else (right, left)
        for name, given, side in (("low", low, 0), ("high", high, 0), ("time", time, 1)):
            rows = len(columns[side][0][0]) if columns[side] else len((low, time)[side])
            if len(given) != rows:
                raise ValueError(f"{name}: expected {rows} entries, one for each row, not {len(given)}")
        if cursor[0] < 0:
            return 0
        times = (_array(given, "int64", "low, high, time") for given in (low, high, time))
        rest = (*times, *self._constants, probes, builds, cursor)
        found = self._call(probe, index_type(probes, builds), columns, rest)
        kept = np.ones(found, np.bool_)
        for k in np.flatnonzero(builds[:found] < 0):
            builds[k] = ~builds[k]
            pair = (int(probes[k]), int(builds[k]))
            kept[k] = self._evaluate_pair(left, right, *(pair if probe == "l" else pair[::-1]))
        count = int(np.count_nonzero(kept))
        if count < found:
            for out in (probes, builds):
                out[:count] = out[:found][kept]
        return count

    def _source(self, entry: str, nullable: bool, index: str) -> Source:
        variant = (entry, nullable, index)
        if variant not in self._sources:
            self._sources[variant] = (
                pairs_source(self._condition, nullable=nullable, index=index)
                if entry == "pairs"
                else nested_source(self._condition, "l" if entry == "l" else "r", nullable=nullable, index=index)
            )
        return self._sources[variant]

    def _call(self, entry: str, index: str, sides: Sequence[Sequence[KeyColumn]], rest: Sequence[Values]) -> int:
        nullable = any(valid is not None for columns in sides for _, valid in columns)
        source = self._source(entry, nullable, index)
        keys = (self.left, self.right) if entry != "r" else (self.right, self.left)
        arrays = [array for side in zip(sides, keys, strict=True) for array in list_arrays(*side, nullable)]
        with np.errstate(all="ignore"):  # for runs without the compiler
            return int(load(source.text, source.entry)(*arrays, *rest))

    def _evaluate_pair(self, left: Sequence[KeyColumn], right: Sequence[KeyColumn], i: int, j: int) -> bool:
        """What the compiled code leaves open, or the error that it found."""
        self.evaluated += 1
        rows = read_row(left, i), read_row(right, j)
        try:
            return evaluate(self._over_columns, *rows) is True
        except EvaluationError as error:
            keys = [*zip(self.left, rows[0].values(), strict=True), *zip(self.right, rows[1].values(), strict=True)]
            values = [f"{key} = {'NULL' if value is None else value}" for key, value in keys]
            raise EvaluationError(f"{self._condition}: {error}; for {', '.join(values) or 'any rows'}") from None


def over_columns(expr: Expr, keys: dict[Side, tuple[Key, ...]]) -> Expr:
    """The condition over rows that hold a side's keys by position."""
    if isinstance(expr, Key):
        written = repr(expr)
        place = next(i for i, key in enumerate(keys[expr.side]) if repr(key) == written)
        return Column(expr.type, expr.side, (str(place),))
    return expr.rebuild(lambda child: over_columns(child, keys))


def read_row(columns: Sequence[KeyColumn], at: int) -> dict[str, Any]:
    """One row of key columns, by position."""
    return {
        str(i): values[at].item() if valid is None or valid[at] else None for i, (values, valid) in enumerate(columns)
    }


def list_arrays(columns: Sequence[KeyColumn], keys: tuple[Key, ...], nullable: bool) -> list[Values]:
    """The arrays of one side as compiled code takes them."""
    if len(columns) != len(keys):
        raise ValueError(f"expected the columns {', '.join(map(str, keys))}; got {len(columns)}")
    arrays = []
    for (values, valid), key in zip(columns, keys, strict=True):
        arrays.append(_array(values, dtype_of(key.type), key))
        if nullable:
            arrays.append(_all_valid(len(values)) if valid is None else _array(valid, "bool_", key))
        if len(arrays[-1]) != len(columns[0][0]) or len(values) != len(columns[0][0]):
            raise ValueError(f"{key}: expected {len(columns[0][0])} rows, got {len(values)} or {len(arrays[-1])}")
    return arrays


def _array(values: Values, dtype: str, what: object) -> Values:
    if values.dtype != getattr(np, dtype) or values.ndim != 1:
        raise TypeError(f"{what}: expected a one-dimensional {dtype} array, got {values.dtype}{values.shape}")
    usable = values.flags.c_contiguous and values.flags.aligned
    return values if usable else np.require(values, requirements=("C", "A"))


def index_type(a: Values, b: Values) -> str:
    """The type of indices that compiled code is given."""
    return "int32" if a.dtype == b.dtype == np.int32 else "int64"


_ALL = np.ones(0, np.bool_)


def _all_valid(rows: int) -> Mask:
    """A mask for a column without NULL beside one that has some; grown, never written."""
    global _ALL
    mask = _ALL
    if len(mask) < rows:
        mask = _ALL = np.ones(2 * rows, np.bool_)
    return mask[:rows]
