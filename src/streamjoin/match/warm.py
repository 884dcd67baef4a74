"""Kernels compiled before they are needed: for one join, or all of them.

What a join needs depends on its rows too: how many there are, how they are spread, whether some are NULL. So pairs are
looked for among made-up rows of several kinds, and whatever the matcher chooses for them is compiled on the way.
"""

import contextlib
import itertools
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin import kernel
from streamjoin.compile.ondisk import read_sources
from streamjoin.kernel.buckets import Axis, Buckets
from streamjoin.kernel.codes import encode, widths
from streamjoin.kernel.intervals import outward, whole, widen
from streamjoin.kernel.levenshtein import distances
from streamjoin.kernel.nested import nested
from streamjoin.kernel.ordered import Ordered
from streamjoin.kernel.pairs import Chunk, refine
from streamjoin.kernel.ruler import Ruler
from streamjoin.kernel.sort import argsort_keys, find_places, find_ties
from streamjoin.kernel.strings import Strings, contains, ends_with, like, starts_with, substrings
from streamjoin.match.dimension import Dimension, TimeBand
from streamjoin.match.matcher import Matcher
from streamjoin.match.pairs import Pairs
from streamjoin.operators.expr import Key
from streamjoin.operators.statements import dtype_of, limit_of
from streamjoin.operators.types import BINARY, BOOLEAN, STRING, Type
from streamjoin.pane import KeyColumn, Rows, Segment, no_columns
from streamjoin.predicate import Predicate
from streamjoin.spec.side import OTHER, SIDES, Side
from streamjoin.spec.window import Window

_LOWEST_PRIORITY = 19
_PAUSE = 5.0  # seconds, in which Spark starts the Python workers of the first micro-batch


@dataclass(frozen=True)
class Kind:
    """So many made-up rows; `crowd` is the share of them that has the same keys, the others lie apart.

    With `ages`, they span a little more than the time window, which then must be compared. With `nulls`, some keys are
    NULL.
    """

    size: int
    crowd: float = 0.0
    ages: bool = False
    nulls: bool = False


_FIRST = Kind(10_000)
_LATER = (
    Kind(10_000, ages=True),
    Kind(16, ages=True),
    Kind(16, crowd=1.0, ages=True),  # time narrows more than any key
    Kind(10_000, crowd=0.4),  # most buckets are empty
    Kind(1_000, nulls=True),
)


def outline(predicate: Predicate, window: Window) -> str:
    """What compiled code depends on: joins of one outline need the same."""
    matcher = Matcher(predicate, window)
    dimensions = [f"{type(d).__name__} {d.width is None}" for d in matcher.dimensions]
    keys = [f"{side} {key.type}" for side in SIDES for key in predicate.keys(side)]
    texts = [check.outline for check in (matcher.check, *(each.check for each in matcher.evaluated)) if check]
    trees = [str(pair.tree) for each in matcher.evaluated for pair in each.conjunct.pairs]
    return "\n".join((*dimensions, *keys, *texts, *trees, read_sources(kernel.__name__)))


def warm_join(predicate: Predicate, window: Window) -> None:
    """Compile what a join may need: first what its first rows do, then what later ones may."""
    for kind in (_FIRST, *_LATER):
        _meet(predicate, window, kind)
    _compile_sort()


def warm_in_background(predicate: Predicate, window: Window) -> None:
    """The same in a process of its own, which makes way for others once the first rows have what they need."""
    _meet(predicate, window, _FIRST)
    os.nice(_LOWEST_PRIORITY)
    time.sleep(_PAUSE)
    warm_join(predicate, window)


def _meet(predicate: Predicate, window: Window, kind: Kind) -> None:
    """Look for pairs among made-up rows, both ways."""
    matcher = Matcher(predicate, window)
    rows = {side: make_up(matcher, predicate, side, kind) for side in SIDES}
    for probe in SIDES:
        build = OTHER[probe]
        with contextlib.suppress(Exception):  # a condition may fail on made-up values: it is compiled by then
            segment = matcher.prepare(build, Segment("warm", rows[build]))
            next(matcher.pairs(probe, rows[probe], segment), None)
        first = np.zeros(1, np.int32)
        with contextlib.suppress(Exception):
            matcher.check_pairs(probe, rows[probe], rows[build], Pairs(first, first, 0))


def make_up(matcher: Matcher, predicate: Predicate, side: Side, kind: Kind) -> Rows:
    """Rows of one side, with keys and without payload."""
    number = np.arange(kind.size)
    time = np.zeros(kind.size, np.int64)
    if kind.ages:
        span = max((d.width for d in matcher.dimensions if isinstance(d, TimeBand)), default=0)
        time = number * (span + span // 8) // kind.size
    steps = dict.fromkeys(predicate.keys(side), 1.0)
    for dimension in matcher.dimensions:
        _space(dimension, side, predicate.keys(side), steps)
    keys = tuple(_column(key.type, steps[key], kind) for key in predicate.keys(side))
    return Rows(time, keys, no_columns(kind.size))


def _space(dimension: Dimension, side: Side, keys: list[Key], steps: dict[Key, float]) -> None:
    """Put values so far apart that a band holds few."""
    positions = getattr(dimension, "keys", None)
    if positions is not None and dimension.width:
        key = keys[positions[side]]
        steps[key] = max(steps[key], 2.0 * dimension.width + 2)


def _column(type: Type, step: float, kind: Kind) -> KeyColumn:
    number = np.arange(kind.size)
    if kind.crowd:
        number = np.where(number < kind.crowd * kind.size, 0, number * 64)
    valid = number > 0 if kind.nulls else None
    if type == BOOLEAN:
        return KeyColumn(number % 2 == 1, valid)
    dtype = np.dtype(dtype_of(type))
    most = float(limit_of(type)) if dtype.kind == "i" else 1e30
    values: NDArray[Any] = (number * min(step, 0.9 * most / (64 * kind.size))).astype(dtype)
    values.flags.writeable = False  # as all that comes from Arrow
    if type.is_machine:
        return KeyColumn(values, valid)
    return KeyColumn(values, valid, _exact(type, number))


def _exact(type: Type, number: NDArray[Any]) -> pa.Array:
    if type in (STRING, BINARY):
        return pa.array([f"text {n}" for n in number]).cast(pa.string() if type == STRING else pa.binary())
    if type.is_decimal:
        return pa.array(number).cast(pa.decimal128(38, 0)).cast(pa.decimal128(type.precision, type.scale), safe=False)
    return pa.nulls(len(number))


def everything() -> list[Callable[[], object]]:
    """Every kernel for every type, in steps."""
    steps: list[Callable[[], object]] = [partial(_compile_values, name) for name in ("i4", "f4", "i8", "f8")]
    codes = itertools.product((np.int32, np.int64), repeat=2)
    steps += [
        partial(step, np.zeros(2, x), np.zeros(2, y)) for x, y in codes for step in (_compile_buckets, _compile_loops)
    ]
    return [*steps, *_string_steps(), _compile_sort]


def _compile_values(name: str) -> None:
    """The kernels that see values, for values of this type."""
    values = np.zeros(1, name)
    for dtype in (np.int32, np.int64):
        Ruler.over(values, 1.0).buckets(values, dtype)
        if values.dtype.kind != "f":
            whole(values, 0, 0, np.dtype(dtype))
    widen(values, True, 0.0, True, 0.0, 0.0, 0.0, 0.0)
    if values.dtype.kind == "f":
        encode(values)
        outward(np.zeros(1), np.zeros(1), values.dtype)


def _compile_buckets(x: Any, y: Any) -> None:
    """The buckets, for codes of these types."""
    row = np.zeros(2, np.int32)
    for far in (0, 1 << 30):  # dense, hashed
        spread = x + np.array([0, far], x.dtype)
        buckets = Buckets.build(Axis(spread), Axis(y, 1.0), row)
        visits, _ = buckets.visits((x, x, x, x), (y, y, y, y))
        buckets.probe(visits, Chunk(4), np.zeros(4, np.int64))


def _compile_loops(x: Any, y: Any) -> None:
    """The nested loop and the sorted index, for codes of these types."""
    row, hot_x, hot_y = np.zeros(2, np.int32), (x, widths(x, x)), (y, widths(y, y))
    nested(x, y, *hot_x, *hot_y, Chunk(1), np.zeros(3, np.int64))
    ordered, chunk = Ordered.build(x, row), Chunk(4)
    count = ordered.probe(*ordered.ranges(x, x), chunk, np.zeros(2, np.int64))
    refine(chunk.probe, chunk.build, count, *(x, *hot_x))


def _compile_sort() -> None:
    """What count windows and ordered results need."""
    keys = np.zeros((2, 2), np.int64)
    find_ties(keys, argsort_keys(keys))
    find_places(keys, keys)


def _string_steps() -> Iterator[Callable[[], object]]:
    text, zero = Strings(np.zeros(2, np.int64), np.zeros(0, np.uint8)), np.zeros(1, np.int64)
    for compare in (starts_with, ends_with, contains, distances):
        yield partial(compare, text, text)
    yield partial(like, text, text, ord("\\"))
    yield partial(substrings, text, zero, zero)
