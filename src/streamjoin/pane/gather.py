"""Record batches of bounded size."""

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import pyarrow as pa

_T = TypeVar("_T")


def gather(batches: Iterable[_T], rows: int, size: int) -> Iterator[_T]:
    """Small record batches put together, up to so many rows and bytes; a batch is never split.

    What is no record batch is handed on as it comes.
    """
    held: list[Any] = []  # record batches
    held_rows = held_bytes = 0  # measured when a second batch comes: often there is one
    for batch in batches:
        if not isinstance(batch, pa.RecordBatch):
            yield batch
            continue
        if batch.num_rows == 0:
            continue
        if held and held_rows + batch.num_rows <= rows:
            held_bytes += (held[0].nbytes if len(held) == 1 else 0) + batch.nbytes
        if held and (held_rows + batch.num_rows > rows or held_bytes > size):
            yield _put_together(held)
            held, held_rows, held_bytes = [], 0, 0
        held.append(batch)
        held_rows += batch.num_rows
    if held:
        yield _put_together(held)


def _put_together(batches: list[Any]) -> Any:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)
