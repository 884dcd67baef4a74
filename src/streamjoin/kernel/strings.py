"""Strings side by side: for each k, what string k of one column has to do with string k of another.

A column is its offsets and its bytes, as Arrow lays them out: UTF-8, so that bytes compare as code points do. Whatever
lies under a NULL is looked at too; the caller knows what is valid.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.compile.ondisk import kernel
from streamjoin.kernel.codes import unlock

BAD_PATTERN = 2
"""The mark of a pattern whose escape character stands before nothing that can be escaped."""


class Strings(NamedTuple):
    """A column of strings: where each begins, and their bytes."""

    offsets: NDArray[np.int64]
    data: NDArray[np.uint8]

    @classmethod
    def of(cls, column: pa.Array) -> "Strings":
        """The strings of an Arrow column."""
        wide = column.cast(pa.large_binary())
        _, offsets, data = wide.buffers()
        starts = np.frombuffer(offsets or bytes(8), np.int64)[wide.offset : wide.offset + len(wide) + 1]
        return cls(starts, np.frombuffer(data or b"", np.uint8))

    def column(self, nulls: NDArray[np.bool_] | None = None) -> pa.Array:
        """The strings as an Arrow column."""
        size = len(self.offsets) - 1
        validity = None if nulls is None else pa.array(~nulls).buffers()[1]
        buffers = [validity, pa.py_buffer(self.offsets), pa.py_buffer(self.data)]
        return pa.Array.from_buffers(pa.large_string(), size, buffers)


def starts_with(a: Strings, b: Strings) -> NDArray[np.bool_]:
    """Whether a begins with b."""
    return _at_an_end(*arrays_of(a, b), True)  # type: ignore[no-any-return]


def ends_with(a: Strings, b: Strings) -> NDArray[np.bool_]:
    """Whether a ends with b."""
    return _at_an_end(*arrays_of(a, b), False)  # type: ignore[no-any-return]


def contains(a: Strings, b: Strings) -> NDArray[np.bool_]:
    """Whether b is somewhere in a."""
    return _contains(*arrays_of(a, b))  # type: ignore[no-any-return]


def like(a: Strings, patterns: Strings, escape: int) -> NDArray[np.uint8]:
    """Whether the whole of a is what a pattern of SQL's LIKE says, 0 or 1; or `BAD_PATTERN`.

    `escape` is an ASCII character.
    """
    return _like(*arrays_of(a, patterns), escape)  # type: ignore[no-any-return]


def substrings(a: Strings, first: NDArray[np.int64], count: NDArray[np.int64]) -> Strings:
    """So many characters from the `first` on: counted from 1, or from the end where it is negative; SQL's rules."""
    offsets, data = arrays_of(a)
    starts, stops = _spans(offsets, data, unlock(first), unlock(count))
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(stops - starts)))
    return Strings(offsets, _gather(data, starts, stops, int(offsets[-1])))


def arrays_of(*columns: Strings) -> list[NDArray[Any]]:
    """The arrays of columns, all of the one type that kernels are compiled for."""
    return [unlock(array) for column in columns for array in column]


@kernel
def _at_an_end(ao: Any, ad: Any, bo: Any, bd: Any, first: bool) -> Any:
    found = np.zeros(len(ao) - 1, np.bool_)
    for k in range(len(found)):
        length = bo[k + 1] - bo[k]
        if length <= ao[k + 1] - ao[k]:
            start = ao[k] if first else ao[k + 1] - length
            found[k] = _same(ad, start, bd, bo[k], length)
    return found


@kernel
def _contains(ao: Any, ad: Any, bo: Any, bd: Any) -> Any:
    found = np.zeros(len(ao) - 1, np.bool_)
    for k in range(len(found)):
        length = bo[k + 1] - bo[k]
        for start in range(ao[k], ao[k + 1] - length + 1):
            if _same(ad, start, bd, bo[k], length):
                found[k] = True
                break
    return found


@kernel
def _like(ao: Any, ad: Any, po: Any, pd: Any, escape: int) -> Any:
    marks = np.zeros(len(ao) - 1, np.uint8)
    for k in range(len(marks)):
        marks[k] = _matches(ad, ao[k], ao[k + 1], pd, po[k], po[k + 1], escape)
    return marks


@kernel
def _matches(ad: Any, a: int, a_end: int, pd: Any, p: int, p_end: int, escape: int) -> int:
    """One string, one pattern. After a failure only the last % is widened: what stood before it is settled."""
    at = p
    while at < p_end:
        if pd[at] == escape:
            at += 1
            if at == p_end or (pd[at] != 95 and pd[at] != 37 and pd[at] != escape):
                return BAD_PATTERN
        at += 1
    again_p, again_a = -1, -1
    while True:
        if p < p_end and pd[p] == 37 and escape != 37:
            p += 1
            again_p, again_a = p, a
            continue
        if p == p_end and a == a_end:
            return 1
        if p < p_end and a < a_end:
            width = min(width_of(ad[a]), a_end - a)
            if pd[p] == escape:
                if pd[p + 1] == ad[a]:
                    p, a = p + 2, a + 1
                    continue
            elif pd[p] == 95:
                p, a = p + 1, a + width
                continue
            elif width == min(width_of(pd[p]), p_end - p) and _same(ad, a, pd, p, width):
                p, a = p + width, a + width
                continue
        if again_p < 0 or again_a >= a_end:
            return 0
        again_a = min(again_a + width_of(ad[again_a]), a_end)
        p, a = again_p, again_a


@kernel
def _spans(ao: Any, ad: Any, first: Any, count: Any) -> Any:
    """The bytes of a substring; what begins before the string loses what lies there."""
    starts, stops = np.empty(len(first), np.int64), np.empty(len(first), np.int64)
    for k in range(len(first)):
        start = max(first[k] - 1, 0)
        if first[k] < 0:
            characters = 0
            for at in range(ao[k], ao[k + 1]):
                characters += ad[at] & 0xC0 != 0x80
            start = characters + first[k]
        stop = start + count[k]
        at, passed = ao[k], 0
        while at < ao[k + 1] and passed < start:
            at, passed = min(at + width_of(ad[at]), ao[k + 1]), passed + 1
        starts[k] = at
        while at < ao[k + 1] and passed < stop:
            at, passed = min(at + width_of(ad[at]), ao[k + 1]), passed + 1
        stops[k] = at
    return starts, stops


@kernel
def _gather(data: Any, starts: Any, stops: Any, size: int) -> Any:
    gathered = np.empty(size, np.uint8)
    at = 0
    for k in range(len(starts)):
        for j in range(starts[k], stops[k]):
            gathered[at] = data[j]
            at += 1
    return gathered


@kernel
def _same(ad: Any, a: int, bd: Any, b: int, length: int) -> bool:
    for j in range(length):  # noqa: SIM110
        if ad[a + j] != bd[b + j]:
            return False
    return True


@kernel
def width_of(byte: int) -> int:
    """How many bytes the character has that begins with this one; as in Spark, one where none begins so."""
    return 1 if byte < 0xC2 or byte > 0xF4 else 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
