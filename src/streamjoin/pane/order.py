"""The law's order: by time, among rows of one time by the hash of the whole row (the tie), then by content.

Content compares column by column, payload first, then keys: NULL first, NaN last and equal to itself, -0.0 before
0.0. Only rows that share time and tie are compared by content, and only types that Arrow cannot sort become Python
objects.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from streamjoin.pane.key import KeyColumn
from streamjoin.pane.rows import Rows


def is_ready(times: NDArray[np.int64], watermark: int) -> NDArray[np.bool_]:
    """Which rows the watermark has passed: nothing is to come that goes before them. A row at it is not ready.

    >>> is_ready(np.array([3, 4, 5]), watermark=4).tolist()
    [True, False, False]
    """
    return times < watermark


def argsort_rows(rows: Rows) -> NDArray[np.int64]:
    """The positions of the rows in ``(time, tie, content)`` order; rows that were not hashed have no ties."""
    columns = [rows.time] if rows.route is None else [rows.time, rows.route]

    def argsort_among(among: NDArray[np.int64]) -> NDArray[np.int64]:
        tied = rows.take(among)
        content = [*tied.payload.columns, *map(_to_arrow, tied.keys)]
        return argsort_content([column[among] for column in columns], content)

    order = argsort_columns(columns)
    return sort_ties(order, _find_ties(columns, order), argsort_among)


def argsort_columns(columns: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """The positions of rows in the order of these columns: the later ones decide where all before are equal."""
    first, *later = columns
    order = np.argsort(first, kind="stable")
    if not later:
        return order
    ties = _find_ties([first], order)
    return sort_ties(order, ties, lambda among: np.lexsort([column[among] for column in (*later[::-1], first)]))


def _find_ties(columns: Sequence[NDArray[np.int64]], order: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which rows, in their order, equal the one after them; in NumPy, since emitters do not load Numba."""
    same = np.ones(max(len(order) - 1, 0), np.bool_)
    for column in columns:
        same &= column[order[1:]] == column[order[:-1]]
    return same


def sort_ties(
    order: NDArray[np.int64], same: NDArray[np.bool_], argsort: Callable[[NDArray[np.int64]], NDArray[np.int64]]
) -> NDArray[np.int64]:
    """Sort what an order left undecided: `argsort` is given the rows that are the `same` as the next or the last."""
    if not same.any():
        return order
    tied = np.append(same, False) | np.append(False, same)
    among = order[tied]
    order[tied] = among[argsort(among)]  # ties fill the same places, one group after the other
    return order


def argsort_content(first: Sequence[NDArray[np.int64]], content: Sequence[pa.Array]) -> NDArray[np.int64]:
    """The positions of rows in the order of these numbers, where they are equal in that of the content.

    Rows that are equal in all stay as they are.
    """
    columns = list(map(pa.array, first))
    for column in content:
        columns += _to_sortable(column)
    table = pa.table(dict(zip(map(str, range(len(columns))), columns, strict=True)))
    order: NDArray[np.int64] = pc.sort_indices(table, [(name, "ascending") for name in table.column_names]).to_numpy()
    return order.astype(np.int64)


def _to_arrow(key: KeyColumn) -> pa.Array:
    if key.exact is not None:
        return key.exact
    return pa.array(key.values, mask=None if key.valid is None else ~key.valid)


def _to_sortable(column: pa.Array) -> list[pa.Array]:
    """Columns that sort as this one does; whether there is a value comes first, because NULL does."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_null(column.type):
        return []
    if pa.types.is_floating(column.type):
        column = _to_ordered_bits(column)
    elif not _arrow_sorts(column.type):
        return [_number_values(column)]
    return [column.is_valid(), column] if column.null_count else [column]


def _arrow_sorts(type: pa.DataType) -> bool:
    views = pa.types.is_string_view(type) or pa.types.is_binary_view(type)
    return not (views or pa.types.is_nested(type) or pa.types.is_interval(type))


def _to_ordered_bits(column: pa.Array) -> pa.Array:
    """Floats as whole numbers of the same order: the bits, with those of negative numbers turned round."""
    values = column.cast(pa.float64()).fill_null(0.0).to_numpy()
    values = np.where(np.isnan(values), np.nan, values)  # one NaN, a positive one: the greatest
    bits = values.view(np.int64)
    return pa.array(np.where(bits < 0, bits ^ np.int64(2**63 - 1), bits), mask=column.is_null().to_numpy(False))


def _number_values(column: pa.Array) -> pa.Array:
    """Nested values numbered in their order, which Python finds."""
    keys = [_to_sort_key(value, column.type) for value in column.to_pylist()]
    number = {key: n for n, key in enumerate(sorted(set(keys)))}
    return pa.array([number[key] for key in keys], pa.int64())


def _to_sort_key(value: Any, type: pa.DataType) -> tuple[Any, ...]:
    if value is None:
        return (0,)
    if pa.types.is_map(type):
        return (1, tuple(sorted((_to_sort_key(k, type.key_type), _to_sort_key(v, type.item_type)) for k, v in value)))
    if pa.types.is_struct(type):
        return (1, tuple(_to_sort_key(value[field.name], field.type) for field in sorted(type, key=lambda f: f.name)))
    if isinstance(value, list):
        return (1, tuple(_to_sort_key(item, type.value_type) for item in value))
    if isinstance(value, float):
        return (2,) if np.isnan(value) else (1, value, float(np.copysign(1, value)))
    return (1, value)
