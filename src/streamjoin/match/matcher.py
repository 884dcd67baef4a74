"""The matcher: which rows of a segment match the rows of a block, exactly.

1. Conditions become dimensions (`dimension`); a row with NULL in a strict key, or that fails a one-sided condition, can
   match no row and is left out of everything below.
2. A segment is indexed once, on the one or two dimensions that narrow most (`choose`).
3. A block's intervals go through the kernel; candidates are refined by the remaining dimensions.
4. What an index cannot decide is checked on the candidates: hashed keys by their values, floating bands and all other
   conditions on numbers by compiled code, those on strings and arrays column by column (`evaluated`).
"""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from streamjoin.kernel.codes import encode
from streamjoin.kernel.intervals import INT64_MAX, INT64_MIN
from streamjoin.kernel.pairs import Chunk
from streamjoin.match.choose import choose
from streamjoin.match.dimension import RankBand, TimeBand
from streamjoin.match.evaluated import PairCheck
from streamjoin.match.index import Candidates, Index, build
from streamjoin.match.intervals import Array, Intervals
from streamjoin.match.pairs import IntervalTest, Pairs, keep, refine_all
from streamjoin.match.range import RangeBand
from streamjoin.match.serve import key_dimensions
from streamjoin.operators.compiled import CompiledCheck, new_cursor
from streamjoin.operators.expr import Key
from streamjoin.pane import Rows, Segment
from streamjoin.predicate import Predicate
from streamjoin.predicate.conjunct import Band, Compiled, Conjunct, Equi, Evaluated, OneSided, Range
from streamjoin.spec.side import OTHER, Side
from streamjoin.spec.window import Between, Both, Last, Tumbling, Window


class Matcher:
    """Finds the pairs of rows that satisfy a predicate within a time window, but for what only Spark can decide."""

    def __init__(self, predicate: Predicate, window: Window, *, kernel: str = "auto") -> None:
        self.kernel = kernel
        self.keys: dict[Side, list[Key]] = {"l": predicate.keys("l"), "r": predicate.keys("r")}
        self._position = {key.name: i for side in self.keys.values() for i, key in enumerate(side)}
        self.dimensions = list(key_dimensions(predicate))
        if (time := _time_window(window)) is not None:
            self.dimensions.append(TimeBand(time))
        self._filters = [c.key for c in predicate.conjuncts if isinstance(c, OneSided)]
        strict = [key for c in predicate.conjuncts for key in _strict_keys(c)]
        self._needed = {side: [key for key in (*strict, *self._filters) if key.side == side] for side in self.keys}
        self._hashed = [c for c in predicate.conjuncts if isinstance(c, Equi) and not c.left.type.is_machine]
        checks = []
        for conjunct in predicate.conjuncts:
            if isinstance(conjunct, Compiled):
                checks.append(conjunct.exact)
            elif isinstance(conjunct, Band | Range) and not conjunct.decides and conjunct.check is not None:
                checks.append(conjunct.check)
        self.check = CompiledCheck(checks) if checks else None
        self.evaluated = [PairCheck(c, self._position) for c in predicate.conjuncts if isinstance(c, Evaluated)]
        self._ranges = {k: d for k, d in enumerate(self.dimensions) if isinstance(d, RangeBand)}
        self._opened: WeakKeyDictionary[Segment, Index] = WeakKeyDictionary()
        self._last: tuple[Rows, Side, list[Intervals], NDArray[np.bool_]] | None = None

    def renew(self) -> "Matcher":
        """The same for other rows: what was worked out of the condition is shared, what is known of rows is not."""
        renewed = copy(self)
        renewed._opened, renewed._last = WeakKeyDictionary(), None
        return renewed

    def narrow(self, window: Between) -> "Matcher":
        """The same with another time window, for segments that this one prepared."""
        narrowed = copy(self)
        narrowed.dimensions = [TimeBand(window) if isinstance(d, TimeBand) else d for d in self.dimensions]
        narrowed._last = None
        return narrowed

    def prepare(self, side: Side, segment: Segment) -> Segment:
        """The segment with its index."""
        rows = segment.rows
        able = self._able(side, rows)
        row = np.arange(len(rows), dtype=np.int32) if able is None else np.flatnonzero(able).astype(np.int32)
        row, apart = self._set_apart(side, rows, row)
        columns = [dimension.values(side, rows) for dimension in self.dimensions]
        if len(row) < len(rows):
            columns = [column[row] for column in columns]
        choice = choose(self.dimensions, columns, checked=self.check is not None, kernel=self.kernel)
        index = build(choice, self.dimensions, columns, row) | apart
        for k, column in enumerate(columns):
            if column.dtype.kind == "f" and k not in index["axes"]:
                index[f"codes{k}"] = encode(self.dimensions[k].values(side, rows))
        return replace(segment, index=index)

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
        asked, able = self._ask(probe_side, probe, columns)
        for k, dimension in self._ranges.items():
            if (rests := segment.index.get(f"rests{k}")) is not None:
                asked = [*asked[:k], dimension.intervals(probe_side, probe, columns[k], rests), *asked[k + 1 :]]
        if ranks is not None:
            asked = [*asked, dimensions[-1].intervals(probe_side, probe, columns[-1])]
            able = able & asked[-1].asks
        zones = [dimension.zone(build_side, segment) for dimension in dimensions]
        for intervals, zone in zip(asked, zones, strict=True):
            if zone is not None and len(probe) and not intervals.meet(zone):
                able = able & (intervals.lower <= zone[1]) & (intervals.upper >= zone[0])
        special = segment.index.get("special", np.empty(0, np.int32))
        if len(special):
            yield from self._meet_special(probe_side, probe, segment, np.flatnonzero(able), asked, columns, chunk)
        for k in self._ranges:
            able = able & asked[k].asks
        indices = np.flatnonzero(able).astype(np.int32)
        if len(indices) == 0 or len(segment.rows) == len(special):
            return
        asked = [intervals.at(indices) for intervals in asked]
        if (index := self._opened.get(segment)) is None:
            index = self._opened[segment] = Index(segment.index)
        others = [
            IntervalTest.of(k, columns[k], segment, asked[k])
            for k in range(len(dimensions))
            if k not in index.axes and not ((zone := zones[k]) and asked[k].cover(zone))
        ]
        compiled = index.kernel == "compiled"
        found = (
            self._run_compiled(probe_side, probe, segment, indices, asked, chunk)
            if compiled
            else index.candidates(asked, Chunk(chunk))
        )
        for candidates in found:
            pairs = refine_all(candidates, others, indices, len(probe))
            yield self.check_pairs(probe_side, probe, segment.rows, pairs, compiled=compiled)

    def order_probes(self, side: Side, probe: Rows, segment: Segment) -> NDArray[np.int64]:
        """The rows of a block in an order in which neighbours meet neighbours in the index of a segment.

        A block that is cut into pieces for want of room then passes over an index once, not once a piece.
        """
        axis = int(segment.index["axes"][0])
        if axis < 0:
            return np.arange(len(probe))
        dimension = self.dimensions[axis]
        asked = dimension.intervals(side, probe, dimension.values(OTHER[side], segment.rows))
        return np.argsort(asked.lower, kind="stable")

    def _meet_special(
        self,
        probe_side: Side,
        probe: Rows,
        segment: Segment,
        able: NDArray[np.int64],
        asked: Sequence[Intervals],
        columns: Sequence[Array],
        chunk: int,
    ) -> Iterator[Pairs]:
        """The rows of a segment that no range speaks of, with every row of the block."""
        special, indices = segment.index["special"], able.astype(np.int32)
        others = [
            IntervalTest.of(k, columns[k], segment, intervals.at(indices))
            for k, intervals in enumerate(asked)
            if k not in self._ranges
        ]
        for start in range(0, len(indices) * len(special), chunk):
            number = np.arange(start, min(start + chunk, len(indices) * len(special)))
            probes, builds = (number // len(special)).astype(np.int32), special[number % len(special)]
            pairs = refine_all((probes, builds, len(number)), others, indices, len(probe))
            yield self.check_pairs(probe_side, probe, segment.rows, pairs)

    def check_pairs(self, probe_side: Side, probe: Rows, build: Rows, found: Pairs, *, compiled: bool = False) -> Pairs:
        """Only the pairs that pass what no index could decide; `compiled` conditions may have been met already."""
        if not compiled:
            found = self._check_numbers(probe_side, probe, build, found)
        return self._check_texts(probe_side, probe, build, found)

    def _ask(self, side: Side, probe: Rows, columns: Sequence[Array]) -> tuple[list[Intervals], NDArray[np.bool_]]:
        """What a block asks, and which of its rows ask at all: worked out once for all segments that it meets."""
        if self._last is None or self._last[0] is not probe or self._last[1] != side:
            asked = [d.intervals(side, probe, column) for d, column in zip(self.dimensions, columns, strict=False)]
            able = self._able(side, probe)
            able = np.ones(len(probe), np.bool_) if able is None else able
            for k, intervals in enumerate(asked):
                if k not in self._ranges:
                    able &= intervals.asks
            self._last = probe, side, asked, able
        return self._last[2], self._last[3]

    def _set_apart(self, side: Side, rows: Rows, row: NDArray[np.int32]) -> tuple[NDArray[np.int32], dict[str, Array]]:
        """The rows that ranges speak of; and for the index those that they do not, and what ends of ranges rest on."""
        if not self._ranges:
            return row, {}
        masks = [found for d in self._ranges.values() if (found := d.find_special(side, rows)) is not None]
        special = np.logical_or.reduce(masks)[row] if masks else np.zeros(len(row), np.bool_)
        apart: dict[str, Array] = {"special": row[special]}
        row = row[~special]
        for k, dimension in self._ranges.items():
            if (rests := dimension.find_rests(side, rows, row)) is not None:
                apart[f"rests{k}"] = rests
        return row, apart

    def _able(self, side: Side, rows: Rows) -> NDArray[np.bool_] | None:
        """The rows that can match at all: no NULL in a strict key, every one-sided condition true; None for all."""
        keys = {key.name: rows.keys[self._position[key.name]] for key in self._needed[side]}
        masks = [column.valid for column in keys.values() if column.valid is not None]
        masks += [keys[key.name].values.astype(np.bool_) for key in self._filters if key.side == side]
        return np.logical_and.reduce(masks) if masks else None

    def _run_compiled(
        self,
        probe_side: Side,
        probe: Rows,
        segment: Segment,
        indices: NDArray[np.int32],
        asked: Sequence[Intervals],
        chunk: int,
    ) -> Iterator[Candidates]:
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

    def _check_numbers(self, probe_side: Side, probe: Rows, build: Rows, found: Pairs) -> Pairs:
        """Only the pairs that have equal keys, not only equal hashes, and satisfy compiled conditions."""
        left, right = (probe, build) if probe_side == "l" else (build, probe)
        for equi in self._hashed:
            if len(found.probe) == 0:
                return found
            li, ri = (found.probe, found.build) if probe_side == "l" else (found.build, found.probe)
            a = left.keys[self._position[equi.left.name]].exact.take(li)
            b = right.keys[self._position[equi.right.name]].exact.take(ri)
            same = pc.equal(a, b).fill_null(equi.null_safe)
            found = keep(found, same.to_numpy(zero_copy_only=False))
        if self.check is not None and len(found.probe):
            li, ri = (found.probe, found.build) if probe_side == "l" else (found.build, found.probe)
            columns = [
                [_column(rows, self._position[key.name]) for key in keys]
                for rows, keys in ((left, self.check.left), (right, self.check.right))
            ]
            mask = self.check.pairs(columns[0], columns[1], li, ri)
            found = keep(found, mask)
        return found

    def _check_texts(self, probe_side: Side, probe: Rows, build: Rows, found: Pairs) -> Pairs:
        """Only the pairs that satisfy the conditions on strings and arrays, too."""
        for check in self.evaluated:
            if len(found.probe):
                met = (probe, build, found.probe, found.build)
                left, right, li, ri = met if probe_side == "l" else (build, probe, found.build, found.probe)
                found = keep(found, check.mask(left, right, li, ri))
        return found


def _time_window(window: Window) -> Between | Tumbling | None:
    if isinstance(window, Both):
        return window.time
    return None if isinstance(window, Last) else window  # type: ignore[return-value]


def _strict_keys(conjunct: Conjunct) -> Sequence[Key]:
    if isinstance(conjunct, Band | Range) or (isinstance(conjunct, Equi) and not conjunct.null_safe):
        return conjunct.keys
    return ()


def _column(
    rows: Rows, position: int, indices: NDArray[np.int32] | None = None
) -> tuple[Array, NDArray[np.bool_] | None]:
    key = rows.keys[position] if indices is None or len(indices) == len(rows) else rows.keys[position].take(indices)
    return key.values, key.valid
