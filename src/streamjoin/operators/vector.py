"""Conditions on strings and arrays, many pairs at a time: a tree over key columns becomes an Arrow array.

The tree holds `Key` leaves, constants and calls of operators that have an Arrow form; `predicate.for_worker` builds it.
The forms that need kernels are below; the entries in `text` name them.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from streamjoin.kernel import strings
from streamjoin.kernel.levenshtein import distances
from streamjoin.kernel.strings import Strings
from streamjoin.operators.arithmetic import EvaluationError
from streamjoin.operators.expr import Call, Expr, Key, Literal
from streamjoin.operators.registry import OPERATORS
from streamjoin.operators.text import ESCAPE, LONGEST, explain_bad_pattern, find_in
from streamjoin.operators.types import BINARY, BOOLEAN, INT, STRING, VOID

Mask = NDArray[np.bool_]


class Column(NamedTuple):
    """The values of a tree, one for each pair, and where Spark would raise instead."""

    values: pa.Array
    errors: Mask | None = None
    error: str = ""


def evaluate_pairs(tree: Expr, keys: Mapping[str, pa.Array], count: int) -> Column:
    """The values of a tree for so many pairs; `keys` holds the key columns by name, a value for each pair.

    An error inside of the tree raises; one of the tree itself is only marked, because its pair may not need it.
    """
    match tree:
        case Key(name=name):
            return Column(keys[name])
        case Literal(value=value, type=type):
            return Column(pa.repeat(pa.scalar(value, _ARROW.get(type)), count))
        case Call(op=op, args=args, type=type):
            operator = OPERATORS[op]
            given = [
                arg.value if i in operator.constants and isinstance(arg, Literal) else _values(arg, keys, count)
                for i, arg in enumerate(args)
            ]
            if operator.arrow is None:
                return Column(_evaluate_each(operator.value, given, _ARROW[type]))
            made = operator.arrow(*given)
            return made if isinstance(made, Column) else Column(made)
    raise TypeError(f"not to be evaluated on pairs: {tree!r}")


def _values(tree: Expr, keys: Mapping[str, pa.Array], count: int) -> pa.Array:
    column = evaluate_pairs(tree, keys, count)
    if column.errors is not None:
        raise EvaluationError(column.error)
    return column.values


def _evaluate_each(value: Callable[..., Any], given: Sequence[Any], type: pa.DataType) -> pa.Array:
    """A function without an Arrow form, value by value."""
    count = next(len(column) for column in given if isinstance(column, pa.Array))
    columns = [_to_values(arg) if isinstance(arg, pa.Array) else [arg] * count for arg in given]
    return pa.array([None if None in row else value(*row) for row in zip(*columns, strict=True)], type)


def _to_values(column: pa.Array) -> list[Any]:
    """Plain values; bytes that are no UTF-8, which Spark does not refuse, are replaced as in Java."""
    try:
        return column.to_pylist()  # type: ignore[no-any-return]
    except UnicodeDecodeError:
        values = column.view(pa.large_binary()).to_pylist()
        return [None if value is None else value.decode(errors="replace") for value in values]


_ARROW = {STRING: pa.large_string(), BINARY: pa.large_binary(), INT: pa.int32(), BOOLEAN: pa.bool_(), VOID: pa.null()}


def _nulls(*columns: pa.Array) -> Mask | None:
    """Where one of the columns is NULL."""
    missing = [column.is_null().to_numpy(zero_copy_only=False) for column in columns if column.null_count]
    return np.logical_or.reduce(missing) if missing else None


def _on_strings(kernel: Callable[..., Any], type: pa.DataType) -> Callable[..., pa.Array]:
    """A kernel on strings as a function of columns: NULL where one of them is."""

    def apply(*columns: pa.Array) -> pa.Array:
        return pa.array(kernel(*map(Strings.of, columns)), type, mask=_nulls(*columns))

    return apply


def like(text: pa.Array, pattern: pa.Array, escape: str = ESCAPE) -> Column:
    """Whether strings are what patterns say."""
    marks = strings.like(Strings.of(text), Strings.of(pattern), ord(escape))
    nulls = _nulls(text, pattern)
    errors = marks == strings.BAD_PATTERN
    errors = errors if nulls is None else errors & ~nulls
    return _mark(pa.array(marks == 1, mask=nulls), errors, lambda at: explain_bad_pattern(pattern[at].as_py()))


def ilike(text: pa.Array, pattern: pa.Array, escape: str = ESCAPE) -> Column:
    """`like` without regard to case."""
    return like(lower(text), lower(pattern), escape)


def rlike(text: pa.Array, pattern: pa.Array) -> Column:
    """One search for every pattern that occurs, in all the strings that it is to be found in."""
    nulls = _nulls(text, pattern)
    found, errors = np.zeros(len(text), np.bool_), np.zeros(len(text), np.bool_)
    refused: dict[int, str] = {}
    encoded = pattern.dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    for code, written in enumerate(encoded.dictionary.to_pylist()):
        at = np.flatnonzero(codes == code)
        try:
            matched = find_in(text.take(pa.array(at)), written)
        except EvaluationError as error:
            errors[at] = True
            refused[code] = str(error)
        else:
            found[at] = matched.fill_null(False).to_numpy(zero_copy_only=False)
    errors = errors if nulls is None else errors & ~nulls
    return _mark(pa.array(found, mask=nulls), errors, lambda at: refused[int(codes[at])])


def _mark(values: pa.Array, errors: Mask, message: Callable[[int], str]) -> Column:
    if not errors.any():
        return Column(values)
    return Column(values, errors, message(int(np.flatnonzero(errors)[0])))


def length(text: pa.Array) -> pa.Array:
    """How many characters."""
    return pc.utf8_length(text).cast(pa.int32())


def lower(column: pa.Array) -> pa.Array:
    return _change_case(column, pc.ascii_lower, str.lower)


def upper(column: pa.Array) -> pa.Array:
    return _change_case(column, pc.ascii_upper, str.upper)


def _change_case(column: pa.Array, of_ascii: Callable[[pa.Array], pa.Array], of_any: Callable[[str], str]) -> pa.Array:
    """Letters beyond ASCII change by rules of their own (ß becomes SS, the last Σ of a word ς), which Python knows."""
    if pc.all(pc.string_is_ascii(column)).as_py() is not False:
        return of_ascii(column)
    encoded = column.dictionary_encode()
    changed = pa.array([of_any(text) for text in encoded.dictionary.to_pylist()], column.type)
    return changed.take(encoded.indices)


def take_substring(text: pa.Array, first: pa.Array, count: pa.Array | None = None) -> pa.Array:
    columns = (text, first) if count is None else (text, first, count)
    wanted = [column.fill_null(0).cast(pa.int64()).to_numpy() for column in columns[1:]]
    if count is None:
        wanted.append(np.full(len(text), LONGEST))
    return strings.substrings(Strings.of(text), *wanted).column(_nulls(*columns))


def take_left(text: pa.Array, count: pa.Array) -> pa.Array:
    return take_substring(text, pa.repeat(pa.scalar(1, pa.int32()), len(text)), count)


def take_right(text: pa.Array, count: pa.Array) -> pa.Array:
    first = pc.negate(pc.max_element_wise(count.cast(pa.int64()), 0, skip_nulls=False))
    return take_substring(text, first, pc.if_else(pc.greater(count, 0), pa.scalar(LONGEST), pa.scalar(0)))


starts_with = _on_strings(strings.starts_with, pa.bool_())
ends_with = _on_strings(strings.ends_with, pa.bool_())
contains = _on_strings(strings.contains, pa.bool_())


def measure_distance(a: pa.Array, b: pa.Array, most: int | None = LONGEST) -> pa.Array:
    """Levenshtein's distance; -1 for more than `most`."""
    within = partial(distances, most=LONGEST if most is None else most)
    found = _on_strings(within, pa.int32())(a, b)
    return pc.if_else(pc.greater(found, most), pa.scalar(-1, pa.int32()), found)


def array_contains(arrays: pa.Array, wanted: pa.Array) -> pa.Array:
    elements, parents = pc.list_flatten(arrays), pc.list_parent_indices(arrays)
    same = _equal(elements, wanted.take(parents))
    count = len(arrays)
    found, unknown = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    at = parents.to_numpy()
    found[at[same.fill_null(False).to_numpy(zero_copy_only=False)]] = True
    unknown[at[same.is_null().to_numpy(zero_copy_only=False)]] = True
    nulls = unknown & ~found
    missing = _nulls(arrays, wanted)
    return pa.array(found, mask=nulls if missing is None else nulls | missing)


def _equal(a: pa.Array, b: pa.Array) -> pa.Array:
    same = pc.equal(a, b)
    return pc.or_kleene(same, pc.and_(pc.is_nan(a), pc.is_nan(b))) if pa.types.is_floating(a.type) else same
