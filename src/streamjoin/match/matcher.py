"""The matcher: which rows of a segment match the rows of a block, exactly.

1. Conditions become dimensions (`dimension`); a row with NULL in a strict key, or that fails a one-sided condition, can
   match nobody and is left out of everything below.
2. A segment is indexed once, on the one or two dimensions that narrow most (`choose`).
3. A block's intervals go through the kernel; candidates are refined by the remaining dimensions.
4. What an index cannot decide is checked on the candidates: hashed keys by their values, floating bands and all other
   conditions by compiled code.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from streamjoin.kernel.codes import cells, encode, unlocked, widths
from streamjoin.kernel.grid import Grid
from streamjoin.kernel.nested import nested
from streamjoin.kernel.ordered import Ordered
from streamjoin.kernel.pairs import Chunk, refine
from streamjoin.match.choose import KERNELS, choose, sampled, selectivity
from streamjoin.match.dimension import (
    INT64_MAX,
    INT64_MIN,
    Array,
    Dimension,
    Equality,
    FloatBand,
    Intervals,
    KeyPositions,
    RankBand,
    TimeBand,
    Validity,
    WholeBand,
)
from streamjoin.match.warm import warm
from streamjoin.pane import Rows, Segment
from streamjoin.predicate import Predicate
from streamjoin.predicate.compiled import compile_check, new_cursor
from streamjoin.predicate.conjunct import Band, Compiled, Conjunct, Equi, OneSided, Residual
from streamjoin.predicate.expr import OTHER, Key, Side
from streamjoin.window import Between, Both, Last, Tumbling, Window

_CANDIDATES = 32  # a probe: wider cells must not bring more
_WIDEST = 8  # cells along one axis; a probe that touches more goes to the nested loop


_Candidates = tuple[NDArray[np.int32], NDArray[np.int32], int]
"""Probe rows, build rows, and how many pairs were looked at."""


@dataclass(frozen=True)
class Pairs:
    """Matches: rows of the block, rows of the segment; and how many pairs were looked at to find them."""

    probe: NDArray[np.int32]
    build: NDArray[np.int32]
    examined: int


class Matcher:
    """Finds the pairs of rows that satisfy a predicate within a time window.

    `residual` lists the conjuncts that only Spark can decide: pairs are found without them.
    """

    def __init__(self, predicate: Predicate, window: Window, *, kernel: str = "auto") -> None:
        warm()
        self.kernel = kernel
        self.keys: dict[Side, list[Key]] = {"l": predicate.keys("l"), "r": predicate.keys("r")}
        self._position = {key.name: i for side in self.keys.values() for i, key in enumerate(side)}
        self.dimensions = [d for c in predicate.conjuncts for d in self._dimensions(c)]
        if (time := _time_window(window)) is not None:
            self.dimensions.append(TimeBand(time))
        self._filters = [c.key for c in predicate.conjuncts if isinstance(c, OneSided)]
        self._strict = [key for c in predicate.conjuncts for key in _strict_keys(c)]
        self._hashed = [c for c in predicate.conjuncts if isinstance(c, Equi) and not c.left.type.is_machine]
        self.residual: list[Conjunct] = []
        checks = []
        for conjunct in predicate.conjuncts:
            if isinstance(conjunct, Compiled):
                checks.append(conjunct.exact)
            elif isinstance(conjunct, Band) and not conjunct.decides and conjunct.check is not None:
                checks.append(conjunct.check)
            elif isinstance(conjunct, Residual) or not getattr(conjunct, "decides", True):
                self.residual.append(conjunct)
        self.check = compile_check(checks) if checks else None
        self._last: tuple[Rows, Side, list[Intervals], NDArray[np.bool_]] | None = None

    def _dimensions(self, conjunct: Conjunct) -> Iterator[Dimension]:
        if isinstance(conjunct, Equi | Band):
            keys = KeyPositions(self._position[conjunct.left.name], self._position[conjunct.right.name])
            if isinstance(conjunct, Equi):
                yield Equality(conjunct, keys)
                if conjunct.null_safe:
                    yield Validity(keys)
            elif conjunct.margin.relative or conjunct.left.type.is_floating or conjunct.right.type.is_floating:
                yield FloatBand(conjunct, keys)
            else:
                yield WholeBand(conjunct, keys)

    def prepare(self, side: Side, segment: Segment) -> Segment:
        """The segment with its index."""
        rows = segment.rows
        able = np.flatnonzero(self._able(side, rows)).astype(np.int32)
        columns = [dimension.values(side, rows) for dimension in self.dimensions]
        if len(able) < len(rows):
            columns = [column[able] for column in columns]
        choice = choose(self.dimensions, columns, checked=self.check is not None, kernel=self.kernel)
        x, y = (None if k is None else encode(columns[k]) for k in (choice.x, choice.y))
        any_code = np.zeros(len(able), np.int32)
        axes = np.array([-1 if k is None else k for k in (choice.x, choice.y)], np.int64)
        index: dict[str, Array] = {"kernel": np.array([KERNELS.index(choice.kernel)]), "axes": axes}
        if choice.kernel == "grid":
            cell_widths = self._cell_widths((choice.x, choice.y), columns)
            x_cells, y_cells = (
                np.zeros(len(able), np.int64) if k is None else self._cells(k, columns[k], width)
                for k, width in zip((choice.x, choice.y), cell_widths, strict=True)
            )
            grid = Grid.build(any_code if x is None else x, any_code if y is None else y, x_cells, y_cells, able)
            index |= {**grid.arrays(), "x_cell": np.array([cell_widths[0]]), "y_cell": np.array([cell_widths[1]])}
        elif choice.kernel == "ordered":
            assert x is not None
            index |= Ordered.build(x, able).arrays()
        else:
            index |= {"x": any_code if x is None else x, "y": any_code if y is None else y, "row": able}
        for k, column in enumerate(columns):
            if column.dtype.kind == "f" and k not in axes:
                index[f"codes{k}"] = encode(self.dimensions[k].values(side, rows))
        return segment.with_index(index)

    def pairs(
        self,
        probe_side: Side,
        probe: Rows,
        segment: Segment,
        ranks: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None,
        chunk: int = 1 << 16,
    ) -> Iterator[Pairs]:
        """The matches of a block's rows with a prepared segment's, in bounded pieces."""
        build_side = OTHER[probe_side]
        dimensions = [*self.dimensions, RankBand(*ranks)] if ranks is not None else self.dimensions
        columns = [dimension.values(build_side, segment.rows) for dimension in dimensions]
        asked, able = self._asked(probe_side, probe, columns)
        if ranks is not None:
            asked = [*asked, dimensions[-1].intervals(probe_side, probe, columns[-1])]
            able = able & asked[-1].asks
        able = able.copy()
        zones = [dimension.zone(build_side, segment) for dimension in dimensions]
        for intervals, zone in zip(asked, zones, strict=True):
            if zone is not None:
                able &= (intervals.lower <= zone[1]) & (intervals.upper >= zone[0])
        indices = np.flatnonzero(able).astype(np.int32)
        if len(indices) == 0 or len(segment.rows) == 0:
            return
        asked = [_taken(intervals, indices) for intervals in asked]
        axes = [int(k) for k in segment.index["axes"]]
        others = [
            (_codes(k, columns[k], segment), asked[k].lower, widths(asked[k].lower, asked[k].upper))
            for k in range(len(dimensions))
            if k not in axes and not _covered(zones[k], asked[k])
        ]
        compiled = KERNELS[int(segment.index["kernel"][0])] == "compiled"
        candidates = (
            self._compiled_candidates(probe_side, probe, segment, indices, asked, chunk)
            if compiled
            else self._candidates(
                {name: unlocked(array) for name, array in segment.index.items()},
                *(axes, asked, len(indices), Chunk(chunk)),
            )
        )
        for probes, builds, examined in candidates:
            count = len(probes)
            for codes, lower, width in others:
                count = refine(probes, builds, count, codes, lower, width)
            found = Pairs(indices[probes[:count]], builds[:count].copy(), examined)
            yield found if compiled else self._checked(probe_side, probe, segment.rows, found)

    def _asked(self, side: Side, probe: Rows, columns: Sequence[Array]) -> tuple[list[Intervals], NDArray[np.bool_]]:
        """What a block asks, and which of its rows ask at all: worked out once for all segments that it meets."""
        if self._last is None or self._last[0] is not probe or self._last[1] != side:
            asked = [d.intervals(side, probe, column) for d, column in zip(self.dimensions, columns, strict=False)]
            able = self._able(side, probe)
            for intervals in asked:
                able &= intervals.asks
            self._last = probe, side, asked, able
        return self._last[2], self._last[3]

    def _able(self, side: Side, rows: Rows) -> NDArray[np.bool_]:
        """The rows that can match anybody: no NULL in a strict key, every one-sided condition true."""
        able = np.ones(len(rows), np.bool_)
        for key in (*self._strict, *self._filters):
            column = rows.keys[self._position[key.name]] if key.side == side else None
            if column is not None and column.valid is not None:
                able &= column.valid
        for key in self._filters:
            if key.side == side:
                able &= rows.keys[self._position[key.name]].values.astype(np.bool_)
        return able

    def _compiled_candidates(
        self,
        probe_side: Side,
        probe: Rows,
        segment: Segment,
        indices: NDArray[np.int32],
        asked: Sequence[Intervals],
        chunk: int,
    ) -> Iterator[_Candidates]:
        """All pairs through the compiled conditions, which here are all there are."""
        assert self.check is not None
        row = segment.index["row"]
        sides = {probe_side: (probe, indices), OTHER[probe_side]: (segment.rows, row)}
        left, right = (
            [_column(sides[key.side][0], self._position[key.name], sides[key.side][1]) for key in keys]
            for keys in (self.check.left, self.check.right)
        )
        if self.dimensions:
            low, high = asked[0].lower, asked[0].upper
        else:
            low, high = np.full(len(indices), INT64_MIN), np.full(len(indices), INT64_MAX)
        time = segment.rows.time[row]
        probes, builds, cursor = np.empty(chunk, np.int64), np.empty(chunk, np.int64), new_cursor()
        while cursor[0] >= 0:
            before = int(cursor[3])
            count = self.check.nested(probe_side, left, right, low, high, time, probes, builds, cursor)
            yield probes[:count].astype(np.int32), row[builds[:count]], int(cursor[3]) - before

    def _candidates(
        self, index: Any, axes: Sequence[int], asked: Sequence[Intervals], probes: int, chunk: Chunk
    ) -> Iterator[_Candidates]:
        hot = [_any(probes) if k < 0 else (asked[k].lower, widths(asked[k].lower, asked[k].upper)) for k in axes]
        kernel = KERNELS[int(index["kernel"][0])]
        if kernel == "ordered":
            ordered = Ordered.from_arrays(index)
            start, end = ordered.ranges(asked[axes[0]].lower, asked[axes[0]].upper)
            cursor = np.zeros(2, np.int64)
            while cursor[0] < probes:
                count = ordered.probe(start, end, chunk, cursor)
                yield chunk.probe[:count], chunk.build[:count], count
        elif kernel == "nested":
            yield from _nested_candidates(index["x"], index["y"], index["row"], hot, np.arange(probes), chunk)
        else:
            yield from self._grid_candidates(index, axes, asked, hot, chunk)

    def _grid_candidates(
        self, index: Any, axes: Sequence[int], asked: Sequence[Intervals], hot: Sequence[Any], chunk: Chunk
    ) -> Iterator[_Candidates]:
        grid = Grid.from_arrays(index)
        probes = len(asked[0].lower)
        zeros = np.zeros(probes, np.int64)
        x_cells, y_cells = (
            (zeros, zeros)
            if k < 0
            else (self._cells(k, asked[k].low, index[w][0]), self._cells(k, asked[k].high, index[w][0]))
            for k, w in zip(axes, ("x_cell", "y_cell"), strict=True)
        )
        wide = (x_cells[1] - x_cells[0] > _WIDEST) | (y_cells[1] - y_cells[0] > _WIDEST)
        order = grid.order(x_cells[0], y_cells[0])
        if wide.any():
            order = order[~wide[order]]
        cursor = np.array([0, 0, 0, -1], np.int64)
        while cursor[0] < len(order):
            count, examined = grid.probe(order, x_cells, y_cells, hot[0], hot[1], chunk, cursor)
            yield chunk.probe[:count], chunk.build[:count], examined
        if wide.any():
            x, y, row = (np.ascontiguousarray(column) for column in grid.rows.T[:3])
            yield from _nested_candidates(x, y, row, hot, np.flatnonzero(wide), chunk)

    def _cell_widths(self, axes: tuple[int | None, int | None], columns: Sequence[Array]) -> list[float]:
        """About as wide as the bands, wider where that leaves most cells empty: two cells a row are enough.

        A run of y cells is one read however many they are, so they are half as wide: fewer candidates.
        """
        size, widths, cells, expected = len(columns[0]), [], 1.0, float(len(columns[0]))
        for k, part in zip(axes, (1.0, 0.5), strict=True):
            if k is None or self.dimensions[k].is_equality:
                widths.append(1.0)
                continue
            band, exact, sample = self.dimensions[k].width, columns[k].dtype.kind != "f", sampled(columns[k])
            assert band is not None
            spread = float(sample[-1] - sample[0]) if len(sample) else 0.0
            widths.append(max((band + exact) * part, 1.0 if exact else spread / (size + 1), 1e-300))
            cells *= max(spread / widths[-1], 1.0)
            expected *= selectivity(self.dimensions[k], columns[k])
        banded = [i for i, k in enumerate(axes) if k is not None and not self.dimensions[k].is_equality]
        if banded and not any(k is not None and self.dimensions[k].is_equality for k in axes):
            factor = min(cells / (2.0 * size + 1), _CANDIDATES / (4 * expected + 1e-9))
            for i in banded:
                widths[i] *= max(factor, 1.0) ** (1 / len(banded))
        return widths

    def _cells(self, k: int, values: Array, width: float) -> NDArray[np.int64]:
        """The cells of values: the same function for stored rows and for the ends of intervals."""
        if self.dimensions[k].is_equality:
            return encode(values).astype(np.int64, copy=False)
        wide = unlocked(values) if values.dtype.itemsize >= 4 else values.astype(np.int32)
        numbers: NDArray[np.int64] = cells(wide, width)
        return numbers

    def _checked(self, probe_side: Side, probe: Rows, build: Rows, found: Pairs) -> Pairs:
        """Only the pairs that pass what no index could decide."""
        left, right = (probe, build) if probe_side == "l" else (build, probe)
        for equi in self._hashed:
            if len(found.probe) == 0:
                return found
            li, ri = (found.probe, found.build) if probe_side == "l" else (found.build, found.probe)
            a = left.keys[self._position[equi.left.name]].exact.take(li)
            b = right.keys[self._position[equi.right.name]].exact.take(ri)
            same = pc.equal(a, b).fill_null(equi.null_safe)
            found = _kept(found, same.to_numpy(zero_copy_only=False))
        if self.check is not None and len(found.probe):
            li, ri = (found.probe, found.build) if probe_side == "l" else (found.build, found.probe)
            columns = [
                [_column(rows, self._position[key.name]) for key in keys]
                for rows, keys in ((left, self.check.left), (right, self.check.right))
            ]
            mask = self.check.pairs(columns[0], columns[1], li.astype(np.int64), ri.astype(np.int64))
            found = _kept(found, mask)
        return found


def _time_window(window: Window) -> Between | Tumbling | None:
    if isinstance(window, Both):
        return window.time
    return None if isinstance(window, Last) else window  # type: ignore[return-value]


def _strict_keys(conjunct: Conjunct) -> Sequence[Key]:
    if isinstance(conjunct, Band) or (isinstance(conjunct, Equi) and not conjunct.null_safe):
        return conjunct.keys
    return ()


def _taken(intervals: Intervals, indices: NDArray[np.int32]) -> Intervals:
    if len(indices) == len(intervals.lower):
        return intervals
    return Intervals(*(getattr(intervals, name)[indices] for name in ("lower", "upper", "low", "high", "asks")))


def _covered(zone: tuple[int, int] | None, intervals: Intervals) -> bool:
    """Whether every interval holds the whole column, so that nothing needs to be compared."""
    return zone is not None and bool(intervals.lower.max() <= zone[0] and intervals.upper.min() >= zone[1])


def _codes(k: int, column: Array, segment: Segment) -> Array:
    codes = segment.index.get(f"codes{k}")
    return unlocked(encode(column) if codes is None else codes)


def _any(probes: int) -> tuple[NDArray[np.int32], NDArray[np.uint32]]:
    return np.zeros(probes, np.int32), np.zeros(probes, np.uint32)


def _nested_candidates(
    x: Array, y: Array, row: Array, hot: Sequence[Any], probes: NDArray[np.int64], chunk: Chunk
) -> Iterator[_Candidates]:
    """Every row of the segment against some of the probes."""
    (x_lower, x_width), (y_lower, y_width) = ((lower[probes], width[probes]) for lower, width in hot)
    cursor = np.zeros(3, np.int64)
    while cursor[0] < len(x):
        done = int(cursor[0])
        count = nested(x, y, x_lower, x_width, y_lower, y_width, chunk, cursor)
        examined = (min(int(cursor[0]), len(x)) - done) * len(probes)  # to the tile
        yield probes[chunk.probe[:count]].astype(np.int32), row[chunk.build[:count]].astype(np.int32), examined


def _kept(found: Pairs, mask: Any) -> Pairs:
    return Pairs(found.probe[mask], found.build[mask], found.examined)


def _column(
    rows: Rows, position: int, indices: NDArray[np.int32] | None = None
) -> tuple[Array, NDArray[np.bool_] | None]:
    key = rows.keys[position] if indices is None or len(indices) == len(rows) else rows.keys[position].take(indices)
    return key.values, key.valid
