"""The index of a segment: built as `choose` says, kept as named arrays, asked for candidates."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamjoin.kernel.buckets import Asked, Axis, Buckets
from streamjoin.kernel.codes import encode, unlock, widths
from streamjoin.kernel.costs import KERNELS
from streamjoin.kernel.nested import nested
from streamjoin.kernel.ordered import Ordered
from streamjoin.kernel.pairs import Chunk
from streamjoin.match.choose import Choice, sample_values
from streamjoin.match.dimension import Dimension
from streamjoin.match.intervals import Array, Intervals

Indices = NDArray[np.int32]
Candidates = tuple[Indices, Indices, int]
"""Probe rows, build rows, and how many pairs were looked at."""

_BUCKETS = 1.0  # a row: more are mostly empty; a quarter built faster, but took a fifth longer at 10 M rows
_CANDIDATES = 32  # a probe: wider buckets must not bring more
_SAMPLE = 64


def build(choice: Choice, dimensions: Sequence[Dimension], columns: Sequence[Array], row: Indices) -> dict[str, Array]:
    """The index of the rows numbered `row`, whose columns these are."""
    chosen = choice.x, choice.y
    axes = np.array([-1 if k is None else k for k in chosen], np.int64)
    index: dict[str, Array] = {"kernel": np.array([KERNELS.index(choice.kernel)]), "axes": axes}
    if choice.kernel == "buckets":
        widths_of = choose_widths(chosen, dimensions, columns)
        x, y = (Axis() if k is None else Axis(columns[k], width) for k, width in zip(chosen, widths_of, strict=True))
        return index | Buckets.build(x, y, row).arrays()
    x_codes, y_codes = (np.zeros(len(row), np.int32) if k is None else encode(columns[k]) for k in chosen)
    if choice.kernel == "ordered":
        return index | Ordered.build(x_codes, row).arrays()
    return index | {"x": x_codes, "y": y_codes, "row": row}


class Index:
    """An index in hand, from the arrays that `build` gave."""

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        self._arrays = {name: unlock(array) for name, array in arrays.items()}
        self._held = arrays  # what the arrays are views of
        self.kernel = KERNELS[int(arrays["kernel"][0])]
        self.axes = [int(k) for k in arrays["axes"]]
        self._buckets = Buckets.from_arrays(self._arrays) if self.kernel == "buckets" else None

    def candidates(self, asked: Sequence[Intervals], chunk: Chunk) -> Iterator[Candidates]:
        """The pairs inside the intervals of the index's dimensions; `chunk` holds them until the next are asked for."""
        axes = [None if k < 0 else asked[k] for k in self.axes]
        probes = len(asked[0].lower)
        if self._buckets is not None:
            yield from _probe_buckets(self._buckets, _ends(axes[0], probes), _ends(axes[1], probes), chunk)
        elif self.kernel == "ordered":
            assert axes[0] is not None
            ordered, cursor = Ordered.from_arrays(self._arrays), np.zeros(2, np.int64)
            start, end = ordered.ranges(axes[0].lower, axes[0].upper)
            while cursor[0] < probes:
                count = ordered.probe(start, end, chunk, cursor)
                yield chunk.probe[:count], chunk.build[:count], count
        else:
            ends = [end for axis in axes for end in _ends(axis, probes)[:2]]
            x, y, row = (self._arrays[name] for name in ("x", "y", "row"))
            yield from _probe_nested((x, y), row, ends, np.arange(probes), chunk)


def choose_widths(
    axes: Sequence[int | None], dimensions: Sequence[Dimension], columns: Sequence[Array]
) -> tuple[float, ...]:
    """About as wide as the bands, wider where that leaves most buckets empty; 0 for an equality.

    A run of y buckets is one read however many they are, so they are half as wide: fewer candidates.
    """
    size, buckets = len(columns[0]), 1.0
    wide, bands = [0.0, 0.0], [0.0, 0.0]
    for i, (k, part) in enumerate(zip(axes, (1.0, 0.5), strict=True)):
        if k is None or dimensions[k].is_equality:
            continue
        band, exact, sample = dimensions[k].width, columns[k].dtype.kind != "f", sample_values(columns[k])
        assert band is not None
        bands[i] = float(band)
        spread = float(sample[-1] - sample[0]) if len(sample) else 0.0
        wide[i] = max((band + exact) * part, 1.0 if exact else spread / (size + 1), 1e-300)
        buckets *= max(spread / wide[i], 1.0)
    banded = [i for i in (0, 1) if wide[i]]
    factor = (buckets / (_BUCKETS * size + 1)) ** (1 / max(len(banded), 1))
    if factor > 1.0 and not any(k is not None and dimensions[k].is_equality for k in axes):
        factor = min(factor, _limit_widening([(columns[axes[i] or 0], bands[i], wide[i]) for i in banded], size))
        wide = [width * max(factor, 1.0) for width in wide]
    return tuple(wide)


def _limit_widening(axes: Sequence[tuple[Array, float, float]], size: int) -> float:
    """How many times as wide buckets may be without more than `_CANDIDATES` in those that a probe touches.

    Found in the pairs of a sample of rows: clusters lie together on all axes at once.
    """
    needed: Any = 0.0
    for column, band, width in axes:
        sample = column[:: max(1, size // _SAMPLE)][:_SAMPLE].astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            needed = np.maximum(needed, (2 * np.abs(sample - sample[:, None]) - band) / width)
    pairs = np.sort(needed, axis=None)[len(needed) :]  # without those of rows with themselves; NaN last
    few = min(int(_CANDIDATES * len(pairs) / size), len(pairs) - 1)
    return float(pairs[few]) if few >= 0 and not np.isnan(pairs[few]) else 1.0


def _ends(axis: Intervals | None, probes: int) -> Asked:
    any_code = np.zeros(probes if axis is None else 0, np.int32)
    return (any_code,) * 4 if axis is None else (axis.lower, axis.upper, axis.low, axis.high)


def _probe_buckets(buckets: Buckets, x: Asked, y: Asked, chunk: Chunk) -> Iterator[Candidates]:
    visits, wide = buckets.visits(x, y)
    cursor = np.zeros(4, np.int64)
    while cursor[0] < len(visits):
        count, examined = buckets.probe(visits, chunk, cursor)
        yield chunk.probe[:count], chunk.build[:count], examined
    if len(wide):
        columns = [np.ascontiguousarray(column) for column in buckets.rows.T[:3]]
        ends = [end.astype(buckets.rows.dtype, copy=False) for end in (*x[:2], *y[:2])]
        yield from _probe_nested((columns[0], columns[1]), columns[2], ends, wide, chunk)


def _probe_nested(
    columns: tuple[Array, Array], row: Array, ends: Sequence[Array], probes: NDArray[np.int64], chunk: Chunk
) -> Iterator[Candidates]:
    """Every row of the segment against some of the probes."""
    x_lower, x_upper, y_lower, y_upper = (end[probes] for end in ends)
    hot = x_lower, widths(x_lower, x_upper), y_lower, widths(y_lower, y_upper)
    cursor = np.zeros(3, np.int64)
    while cursor[0] < len(row):
        done = int(cursor[0])
        count = nested(*columns, *hot, chunk, cursor)
        examined = (min(int(cursor[0]), len(row)) - done) * len(probes)  # to the tile
        yield probes[chunk.probe[:count]].astype(np.int32), row[chunk.build[:count]].astype(np.int32), examined
