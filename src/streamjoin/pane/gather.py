"""Record batches of bounded size."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

import pyarrow as pa

_T = TypeVar("_T")


def gather(batches: Iterable[_T], rows: int, size: int) -> Iterator[_T]:
    """Small record batches put together, up to so many rows and bytes; a batch is never split.

    What is no record batch is handed on as it comes.
    """
    held: list[_T] = []
    held_rows = held_bytes = 0
    for batch in batches:
        if not isinstance(batch, pa.RecordBatch):
            yield batch
            continue
        if batch.num_rows == 0:
            continue
        if held and (held_rows + batch.num_rows > rows or held_bytes + batch.nbytes > size):
            yield _put_together(held)
            held, held_rows, held_bytes = [], 0, 0
        held.append(batch)
        held_rows += batch.num_rows
        held_bytes += batch.nbytes
    if held:
        yield _put_together(held)


def _put_together(batches: list[_T]) -> _T:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)
