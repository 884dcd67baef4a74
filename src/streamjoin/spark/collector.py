"""The collector: blocks of results become rows of a DataFrame again."""

from collections.abc import Iterator

import pyarrow as pa


def packed(results: pa.RecordBatch) -> bytes:
    """A block of results as bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, results.schema) as writer:
        writer.write_batch(results)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def collect(schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The function of `mapInArrow` that unpacks blocks into rows of this schema."""
    for batch in batches:
        for block in batch.column(0):
            with pa.ipc.open_stream(block.as_buffer()) as reader:
                for results in reader:
                    yield labelled(results, schema)


def labelled(results: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Results as Spark expects them: the join time is a timestamp, and timestamps bear the session's zone."""
    columns = [relabelled(column, field.type) for column, field in zip(results.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def relabelled(column: pa.Array, type: pa.DataType) -> pa.Array:
    """The same values under another name of their type: microseconds as a timestamp, a timestamp in another zone."""
    return column if column.type == type else column.cast(type)  # Arrow copies to cast a type to itself, or refuses to
