"""Results in one order: the cells sort runs, and whoever gets all runs of a micro-batch merges them.

The order is ``(join_time, t_l, t_r, tie_l, tie_r)`` and then content, an absent side first. Rows that go into the join
are held until the watermark has passed them (`worker.waiting`), so every result of batch k has
``W_{k-1} <= join_time < W_k``: batches are in order by themselves, and a batch is sorted here.

Memory: at most `MOST_BYTES` of runs and a slice of them while they are merged; the rest waits in a file without a name.
A slice holds whole times, so one time with very many results is held at once.
"""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.flow.job import Job
from streamjoin.flow.late import is_kept
from streamjoin.flow.settle import Answer, pack_results, settle, unpack_results
from streamjoin.flow.spill import Spill
from streamjoin.kernel.sort import argsort_keys, find_ties
from streamjoin.pane import NO_TIME
from streamjoin.pane.order import argsort_content, sort_ties

MOST_BYTES = 256 << 20
"""So many bytes of runs are held in memory; beyond, those that are held go to the file."""

SLICE_ROWS = 1 << 17
SLICE_BYTES = 64 << 20
_STRIDE = 64


def sort_results(results: pa.RecordBatch, order: Sequence[str]) -> pa.RecordBatch:
    """A run: results in the order of these columns."""
    if results.num_rows < 2:
        return results
    return results.take(pa.array(argsort_keys(_read_keys(results, order))))


def _read_keys(results: pa.RecordBatch, order: Sequence[str]) -> NDArray[np.int64]:
    """The columns to sort by; the time of an absent side is the least."""
    keys = np.empty((len(order), results.num_rows), np.int64)
    for at, name in enumerate(order):
        column = results.column(name).view(pa.int64())
        keys[at] = column.fill_null(NO_TIME) if column.null_count else column
    return keys


def arrange(job: Job, answers: Iterable[Answer], scratch: Path | None = None) -> Iterator[pa.RecordBatch]:
    """The results of a micro-batch in order, of all cells; what they were sorted by but the join time is left out.

    Kept rows come before them.
    """
    order = job.plan.order
    runs = Runs(order, len(job.plan.columns) + 1, scratch)

    def part_runs() -> Iterator[Answer]:
        for found in answers:
            if found.stripe == -1:
                runs.add(found.block)
            else:
                yield found

    try:
        for results in settle(job.layout, part_runs(), in_order=False, scratch=scratch):
            if is_kept(results):
                yield results
                continue
            runs.add(pack_results(sort_results(results, order)))
        yield from runs.merge()
    finally:
        runs.close()


def read_ahead(items: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same, each made while the one before is used: merging leaves the interpreter to others most of the time."""
    with ThreadPoolExecutor(1) as pool:
        made = pool.submit(next, items, None)
        while (item := made.result()) is not None:
            made = pool.submit(next, items, None)
            yield item


class Runs:
    """Sorted runs as packed results, each of one record batch; of their columns the first `width` come out."""

    def __init__(self, order: Sequence[str], width: int, scratch: Path | None = None) -> None:
        self._order, self._width, self._spill = order, width, Spill(MOST_BYTES, scratch)

    def add(self, run: bytes | pa.Buffer) -> None:
        """Keep a run."""
        self._spill.add(run)

    def close(self) -> None:
        """Forget everything."""
        self._spill.close()

    def merge(self) -> Iterator[pa.RecordBatch]:
        """All results in order, slice after slice."""
        runs = [run for block in self._spill.map() for run in unpack_results(block) if run.num_rows]
        if not runs:
            return
        times = [np.asarray(run.column(self._order[0])) for run in runs]
        cuts = _choose_cuts(runs, times)
        slices = map(self._merge_slice, _cut(runs, times, cuts))
        yield from read_ahead(slices) if cuts else slices

    def _merge_slice(self, results: pa.RecordBatch) -> pa.RecordBatch:
        keys, out = _read_keys(results, self._order), results.select(range(self._width))

        def argsort_among(among: NDArray[np.int64]) -> NDArray[np.int64]:
            return argsort_content([*keys[:, among]], out.take(pa.array(among)).columns)

        order = argsort_keys(keys)
        return out.take(pa.array(sort_ties(order, find_ties(keys, order), argsort_among)))


def _cut(
    runs: Sequence[pa.RecordBatch], times: Sequence[NDArray[np.int64]], cuts: Sequence[int]
) -> Iterator[pa.RecordBatch]:
    """What all runs have between two cuts, run after run."""
    for start, stop in pairwise([None, *cuts, None]):
        pieces = []
        for run, time in zip(runs, times, strict=True):
            first = 0 if start is None else int(np.searchsorted(time, start))
            last = len(time) if stop is None else int(np.searchsorted(time, stop))
            if first < last:
                pieces.append(run.slice(first, last - first))
        yield pa.concat_batches(pieces) if len(pieces) > 1 else pieces[0]


def _choose_cuts(runs: Sequence[pa.RecordBatch], times: Sequence[NDArray[np.int64]]) -> list[int]:
    """Times that cut the runs into slices of bounded rows and bytes."""
    rows = sum(map(len, times))
    width = max(1, sum(run.nbytes for run in runs) // rows)
    step = max(1, min(SLICE_ROWS, SLICE_BYTES // width) // _STRIDE)
    sample = np.sort(np.concatenate([time[::_STRIDE] for time in times]))
    cuts = np.unique(sample[step::step])
    return [int(cut) for cut in cuts if cut > sample[0]]
