"""Sorting by several columns of integers, and placing sorted rows among more of their kind.

A natural merge sort: what lies in order already is found and kept, so runs that were sorted elsewhere are only merged.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamjoin.compile.ondisk import kernel

Keys = NDArray[np.int64]
"""Columns to sort by, the first one first: ``keys[column, row]``."""


def argsort_keys(keys: Keys) -> NDArray[np.int64]:
    """The positions of rows in the order of their keys; equal rows stay as they are.

    >>> argsort_keys(np.array([[2, 1, 1], [0, 5, 3]])).tolist()
    [2, 1, 0]
    """
    order = np.arange(keys.shape[1])
    return _sort(keys, order, np.empty_like(order))  # type: ignore[no-any-return]


def find_ties(keys: Keys, order: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which rows, in their order, equal the one after them.

    >>> find_ties(np.array([[2, 1, 1], [0, 5, 5]]), np.array([1, 2, 0])).tolist()
    [True, False]
    """
    ties = np.empty(max(order.size - 1, 0), np.bool_)
    _find_ties(keys, order, ties)
    return ties


def find_places(keys: Keys, among: Keys) -> NDArray[np.int64]:
    """Where sorted rows are among more of them, sorted too; each of several equal ones has a place of its own.

    A row that is not among them is an error.
    """
    places = np.empty(keys.shape[1], np.int64)
    if _find_places(keys, among, places) < len(places):
        raise ValueError("a row is not among those that are counted")
    return places


@kernel
def _is_before(keys: Any, one: int, other: int) -> bool:
    """Whether a row comes before another, or is equal to it."""
    for column in range(keys.shape[0]):
        if keys[column, one] != keys[column, other]:
            return bool(keys[column, one] < keys[column, other])
    return True


@kernel
def _sort(keys: Any, order: Any, other: Any) -> Any:
    """Find runs that are in order, then merge neighbours until one is left."""
    rows = order.size
    starts = np.empty(rows + 1, np.int64)
    runs = 0
    for row in range(rows):
        if row == 0 or not _is_before(keys, row - 1, row):
            starts[runs] = row
            runs += 1
    starts[runs] = rows
    while runs > 1:
        merged = 0
        for run in range(0, runs, 2):
            begin, middle = starts[run], starts[run + 1]
            end = starts[min(run + 2, runs)]
            left, right = begin, middle
            for at in range(begin, end):
                if right >= end or (left < middle and _is_before(keys, order[left], order[right])):
                    other[at] = order[left]
                    left += 1
                else:
                    other[at] = order[right]
                    right += 1
            starts[merged] = begin
            merged += 1
        starts[merged] = rows
        runs = merged
        order, other = other, order
    return order


@kernel
def _find_ties(keys: Any, order: Any, ties: Any) -> None:
    for at in range(ties.size):
        one, other = order[at], order[at + 1]
        ties[at] = True
        for column in range(keys.shape[0]):
            if keys[column, one] != keys[column, other]:
                ties[at] = False
                break


@kernel
def _find_places(keys: Any, among: Any, places: Any) -> int:
    at = 0
    for row in range(places.size):
        while at < among.shape[1]:
            same = True
            for column in range(keys.shape[0]):
                same &= keys[column, row] == among[column, at]
            if same:
                break
            at += 1
        if at == among.shape[1]:
            return row
        places[row] = at
        at += 1
    return int(places.size)
