"""Conditions on strings and arrays, many pairs at a time: a tree over key columns becomes an Arrow array.

The tree holds `Key` leaves, constants, and calls of what `functions` lists and of the operators below; `decide` builds
it. What a call means for one pair `evaluate` says; here it is computed for all.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
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
from streamjoin.operators.functions import ESCAPE, LONGEST, bad_pattern, found_in
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
        case Call(op="like" | "ilike" as op, args=(text, pattern, *escape)):
            columns = [_values(arg, keys, count) for arg in (text, pattern)]
            if op == "ilike":
                columns = [_lower(column) for column in columns]
            return _like(columns[0], columns[1], _constant(escape, ESCAPE))
        case Call(op="rlike", args=(text, pattern)):
            return _rlike(_values(text, keys, count), _values(pattern, keys, count))
    return Column(_values(tree, keys, count))


def _values(tree: Expr, keys: Mapping[str, pa.Array], count: int) -> pa.Array:
    match tree:
        case Key(name=name):
            return keys[name]
        case Literal(value=value, type=type):
            return pa.repeat(pa.scalar(value, _ARROW.get(type)), count)
        case Call(op="like" | "ilike" | "rlike"):
            column = evaluate_pairs(tree, keys, count)
            if column.errors is not None:
                raise EvaluationError(column.error)
            return column.values
        case Call(op="levenshtein", args=(a, b, *most)):
            limit = _constant(most, LONGEST)
            within = partial(distances, most=LONGEST if limit is None else limit)
            found = _measured(within, pa.int32())(_values(a, keys, count), _values(b, keys, count))
            return pc.if_else(pc.greater(found, limit), pa.scalar(-1, pa.int32()), found)
        case Call(op=op, args=args):
            return _OPERATORS[op](*(_values(arg, keys, count) for arg in args))
    raise TypeError(f"not to be evaluated on pairs: {tree!r}")


_ARROW = {STRING: pa.large_string(), BINARY: pa.large_binary(), INT: pa.int32(), BOOLEAN: pa.bool_(), VOID: pa.null()}


def _constant(args: Sequence[Expr], default: Any) -> Any:
    return args[0].value if args and isinstance(args[0], Literal) else default


def _nulls(*columns: pa.Array) -> Mask | None:
    """Where one of the columns is NULL."""
    missing = [column.is_null().to_numpy(zero_copy_only=False) for column in columns if column.null_count]
    return np.logical_or.reduce(missing) if missing else None


def _measured(kernel: Callable[..., Any], type: pa.DataType) -> Callable[..., pa.Array]:
    """A kernel on strings as a function of columns: NULL where one of them is."""

    def apply(*columns: pa.Array) -> pa.Array:
        return pa.array(kernel(*map(Strings.of, columns)), type, mask=_nulls(*columns))

    return apply


def _like(text: pa.Array, pattern: pa.Array, escape: str) -> Column:
    marks = strings.like(Strings.of(text), Strings.of(pattern), ord(escape))
    nulls = _nulls(text, pattern)
    errors = marks == strings.BAD_PATTERN
    errors = errors if nulls is None else errors & ~nulls
    return _marked(pa.array(marks == 1, mask=nulls), errors, lambda at: bad_pattern(pattern[at].as_py()))


def _rlike(text: pa.Array, pattern: pa.Array) -> Column:
    """One search for every pattern that occurs, in all the strings that it is to be found in."""
    nulls = _nulls(text, pattern)
    found, errors = np.zeros(len(text), np.bool_), np.zeros(len(text), np.bool_)
    refused: dict[int, str] = {}
    encoded = pattern.dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    for code, written in enumerate(encoded.dictionary.to_pylist()):
        at = np.flatnonzero(codes == code)
        try:
            matched = found_in(text.take(pa.array(at)), written)
        except EvaluationError as error:
            errors[at] = True
            refused[code] = str(error)
        else:
            found[at] = matched.fill_null(False).to_numpy(zero_copy_only=False)
    errors = errors if nulls is None else errors & ~nulls
    return _marked(pa.array(found, mask=nulls), errors, lambda at: refused[int(codes[at])])


def _marked(values: pa.Array, errors: Mask, message: Callable[[int], str]) -> Column:
    if not errors.any():
        return Column(values)
    return Column(values, errors, message(int(np.flatnonzero(errors)[0])))


def _lower(column: pa.Array) -> pa.Array:
    return _cased(column, pc.ascii_lower, str.lower)


def _upper(column: pa.Array) -> pa.Array:
    return _cased(column, pc.ascii_upper, str.upper)


def _cased(column: pa.Array, of_ascii: Callable[[pa.Array], pa.Array], of_any: Callable[[str], str]) -> pa.Array:
    """Letters beyond ASCII change by rules of their own (ß becomes SS, the last Σ of a word ς), which Python knows."""
    if pc.all(pc.string_is_ascii(column)).as_py() is not False:
        return of_ascii(column)
    encoded = column.dictionary_encode()
    changed = pa.array([of_any(text) for text in encoded.dictionary.to_pylist()], column.type)
    return changed.take(encoded.indices)


def _substring(text: pa.Array, first: pa.Array, count: pa.Array | None = None) -> pa.Array:
    columns = (text, first) if count is None else (text, first, count)
    wanted = [column.fill_null(0).cast(pa.int64()).to_numpy() for column in columns[1:]]
    if count is None:
        wanted.append(np.full(len(text), LONGEST))
    return strings.substrings(Strings.of(text), *wanted).column(_nulls(*columns))


def _left(text: pa.Array, count: pa.Array) -> pa.Array:
    return _substring(text, pa.repeat(pa.scalar(1, pa.int32()), len(text)), count)


def _right(text: pa.Array, count: pa.Array) -> pa.Array:
    first = pc.negate(pc.max_element_wise(count.cast(pa.int64()), 0, skip_nulls=False))
    return _substring(text, first, pc.if_else(pc.greater(count, 0), pa.scalar(LONGEST), pa.scalar(0)))


def _array_contains(arrays: pa.Array, wanted: pa.Array) -> pa.Array:
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


def _null_safe_equal(a: pa.Array, b: pa.Array) -> pa.Array:
    return pc.if_else(pc.or_(a.is_null(), b.is_null()), pc.and_(a.is_null(), b.is_null()), pc.equal(a, b))


def _in(wanted: pa.Array, *items: pa.Array) -> pa.Array:
    return reduce(pc.or_kleene, (pc.equal(wanted, item) for item in items))


def _case(*args: pa.Array) -> pa.Array:
    *pairs, otherwise = args
    for condition, value in reversed(list(zip(pairs[::2], pairs[1::2], strict=True))):
        otherwise = pc.if_else(condition.fill_null(False), value, otherwise)
    return otherwise


_OPERATORS: dict[str, Callable[..., pa.Array]] = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
    "<=>": _null_safe_equal,
    "AND": pc.and_kleene,
    "OR": pc.or_kleene,
    "NOT": pc.invert,
    "IN": _in,
    "CASE": _case,
    "IS NULL": pc.is_null,
    "IS TRUE": lambda column: column.fill_null(False),
    "IS FALSE": lambda column: pc.invert(column.fill_null(True)),
    "coalesce": pc.coalesce,
    "least": pc.min_element_wise,
    "greatest": pc.max_element_wise,
    "concat": lambda *parts: pc.binary_join_element_wise(*parts, pa.scalar("", pa.large_string())),
    "lower": _lower,
    "upper": _upper,
    "trim": lambda text: pc.utf8_trim(text, characters=" "),
    "ltrim": lambda text: pc.utf8_ltrim(text, characters=" "),
    "rtrim": lambda text: pc.utf8_rtrim(text, characters=" "),
    "length": lambda text: pc.utf8_length(text).cast(pa.int32()),
    "substring": _substring,
    "left": _left,
    "right": _right,
    "startswith": _measured(strings.starts_with, pa.bool_()),
    "endswith": _measured(strings.ends_with, pa.bool_()),
    "contains": _measured(strings.contains, pa.bool_()),
    "array_contains": _array_contains,
}
"""What each call computes of columns; LIKE, RLIKE and levenshtein, which take constants or mark errors, are above."""
