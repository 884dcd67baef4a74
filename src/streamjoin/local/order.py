"""Results in order: ``(join_time, t_l, t_r, ties)``, each once the watermark has passed its time.

The sequence is then the same for every interleaving that admits the same rows (ScaleJoin, Definition 1). An absent side
comes first.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.worker.expiry import ENDED


class Sorter:
    """Results that wait for their turn; `order` are the columns that decide among results of one time."""

    def __init__(self, schema: pa.Schema, order: Sequence[int]) -> None:
        self._by = (len(schema.names) - 1, *order)
        self.waiting: list[pa.RecordBatch] = []

    def add(self, results: Sequence[pa.RecordBatch]) -> None:
        """Results that were found."""
        self.waiting += results

    def release(self, watermark: int | None) -> list[pa.RecordBatch]:
        """Those whose time has come, in order."""
        if watermark is None or not self.waiting:
            return []
        ready, rest = [], []
        for batch in self.waiting:
            times = np.asarray(batch.column(batch.num_columns - 1))
            passed = np.ones(len(times), np.bool_) if watermark == ENDED else times < watermark
            if passed.all():
                ready.append(batch)
            elif passed.any():
                ready.append(batch.filter(pa.array(passed)))
                rest.append(batch.filter(pa.array(~passed)))
            else:
                rest.append(batch)
        self.waiting = rest
        if not ready:
            return []
        together = pa.concat_batches(ready)
        keys = [key for at in reversed(self._by) for key in _to_keys(together.column(at))]
        return [together.take(pa.array(np.lexsort(keys)))]


def _to_keys(column: pa.Array) -> list[NDArray[Any]]:
    """A column as `lexsort` takes it, least significant first: NULL before all values."""
    values = column.fill_null(0).to_numpy()
    return [values, column.is_valid().to_numpy(zero_copy_only=False)] if column.null_count else [values]
