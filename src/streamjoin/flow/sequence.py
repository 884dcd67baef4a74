"""Results in one order: the cells sort runs, and whoever gets all runs of a micro-batch merges them.

The order is ``(join_time, t_l, t_r, tie_l, tie_r)`` and then content, an absent side first. Rows that go into the join
are held until the watermark has passed them (`worker.waiting`), so every result of batch k has
``W_{k-1} <= join_time < W_k``: batches are in order by themselves, and a batch is sorted here.

Memory: at most `MOST_BYTES` of runs and a slice of them while they are merged; the rest waits in a file without a name.
A slice holds whole times, so one time with very many results is held at once.
"""

import mmap
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.flow.job import Job
from streamjoin.flow.settle import Answer, pack_results, settle, unpack_results
from streamjoin.kernel.sort import argsort_keys
from streamjoin.pane.order import argsort_content, sort_ties

MOST_BYTES = 256 << 20
"""So many bytes of runs are held in memory; beyond, those that are held go to the file."""

SLICE_ROWS = 1 << 17
SLICE_BYTES = 64 << 20
_STRIDE = 64


def sort_results(results: pa.RecordBatch, order: Sequence[str]) -> pa.RecordBatch:
    """A run: results in the order of these columns, which are the last of them."""
    if results.num_rows < 2:
        return results
    return results.take(pa.array(argsort_keys(np.stack(_read_keys(results, order)))))


def _read_keys(results: pa.RecordBatch, order: Sequence[str]) -> list[NDArray[np.int64]]:
    return [np.asarray(results.column(at)) for at in range(results.num_columns - len(order), results.num_columns)]


def arrange(job: Job, answers: Iterable[Answer], scratch: Path | None = None) -> Iterator[pa.RecordBatch]:
    """The results of a micro-batch in order, of all cells; what they were sorted by but the join time is left out."""
    order = job.plan.order
    runs = Runs(order, scratch)

    def part_runs() -> Iterator[Answer]:
        for found in answers:
            if found.stripe < 0:
                runs.add(found.block)
            else:
                yield found

    try:
        for results in settle(job.layout, part_runs(), in_order=False, scratch=scratch):
            runs.add(pack_results(sort_results(results, order)))
        yield from runs.merge()
    finally:
        runs.close()


class Runs:
    """Sorted runs as packed results, each of one record batch."""

    def __init__(self, order: Sequence[str], scratch: Path | None = None) -> None:
        self._order, self._scratch = order, scratch
        self._blocks: list[bytes | tuple[int, int]] = []  # in memory, or offset and length in the file
        self._held = 0
        self._file: IO[bytes] | None = None

    def add(self, block: bytes | pa.Buffer) -> None:
        """Keep a run; a buffer is copied, because it may be part of a much larger one."""
        self._blocks.append(block if isinstance(block, bytes) else block.to_pybytes())
        self._held += len(block)
        if self._held > MOST_BYTES:
            self._spill()

    def merge(self) -> Iterator[pa.RecordBatch]:
        """All results in order, slice after slice."""
        runs = self._open()
        if not runs:
            return
        times = [np.asarray(run.column(run.num_columns - len(self._order))) for run in runs]
        for start, stop in pairwise([None, *_choose_cuts(runs, times), None]):
            pieces = []
            for run, time in zip(runs, times, strict=True):
                first = 0 if start is None else int(np.searchsorted(time, start))
                last = len(time) if stop is None else int(np.searchsorted(time, stop))
                if first < last:
                    pieces.append(run.slice(first, last - first))
            yield self._merge_slice(pa.concat_batches(pieces) if len(pieces) > 1 else pieces[0])

    def close(self) -> None:
        """Forget everything."""
        self._blocks.clear()
        self._held = 0
        if self._file is not None:
            self._file.close()
            self._file = None

    def _merge_slice(self, results: pa.RecordBatch) -> pa.RecordBatch:
        keys = _read_keys(results, self._order)
        payload = results.select(range(results.num_columns - len(keys)))

        def argsort_among(among: NDArray[np.int64]) -> NDArray[np.int64]:
            return argsort_content([key[among] for key in keys], payload.take(pa.array(among)).columns)

        order = sort_ties(argsort_keys(np.stack(keys)), keys, argsort_among)
        return results.select(range(payload.num_columns + 1)).take(pa.array(order))

    def _spill(self) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self._scratch, prefix="streamjoin-")  # noqa: SIM115 - closed by `close`
        for at, block in enumerate(self._blocks):
            if isinstance(block, bytes):
                self._blocks[at] = (self._file.tell(), len(block))
                self._file.write(block)
        self._held = 0

    def _open(self) -> list[pa.RecordBatch]:
        """The runs, as views on memory or on the mapped file."""
        mapped = pa.py_buffer(b"")
        if self._file is not None:
            self._file.flush()
            mapped = pa.py_buffer(mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ))
        buffers = (pa.py_buffer(b) if isinstance(b, bytes) else mapped.slice(*b) for b in self._blocks)
        return [run for buffer in buffers for run in unpack_results(buffer) if run.num_rows]


def _choose_cuts(runs: Sequence[pa.RecordBatch], times: Sequence[NDArray[np.int64]]) -> list[int]:
    """Times that cut the runs into slices of bounded rows and bytes."""
    rows = sum(map(len, times))
    width = max(1, sum(run.nbytes for run in runs) // rows)
    step = max(1, min(SLICE_ROWS, SLICE_BYTES // width) // _STRIDE)
    sample = np.sort(np.concatenate([time[::_STRIDE] for time in times]))
    cuts = np.unique(sample[step::step])
    return [int(cut) for cut in cuts if cut > sample[0]]
