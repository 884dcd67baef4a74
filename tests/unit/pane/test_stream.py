"""Streams put together here are those that Arrow writes, byte for byte, and Arrow's are read here."""

from typing import Any

import pyarrow as pa
import pytest

from streamjoin.pane import no_columns
from streamjoin.pane.stream import read_stream, write_stream

WORDS = pa.dictionary(pa.int32(), pa.string())
BATCHES: dict[str, Any] = {
    "numbers, strings and NULLs": pa.record_batch({"a": pa.array([1, None, 2], pa.int32()), "s": ["a", None, "bb"]}),
    "bits and nothing": pa.record_batch({"b": [True, None, False], "n": pa.nulls(3)}),
    "lists, maps and structs": pa.record_batch(
        {
            "l": [[1], None, [2, 3]],
            "m": pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int64())),
            "s": [{"x": 1, "y": "a"}, None, {"x": None, "y": "b"}],
        }
    ),
    "a dictionary": pa.record_batch({"d": pa.array(["a", "b", None]).dictionary_encode()}),
    "a dictionary in a list": pa.record_batch({"l": pa.array([["a"], ["b"], ["a"]], pa.list_(WORDS))}),
    "a slice": pa.record_batch({"a": [1, 2, 3], "s": ["a", "b", None]}).slice(1, 2),
    "metadata": pa.record_batch({"a": [1]}).replace_schema_metadata({"zone": "UTC"}),
    "no rows": pa.record_batch({"a": pa.array([], pa.int64())}),
    "no columns": no_columns(3),
}


@pytest.mark.parametrize("batch", BATCHES.values(), ids=BATCHES)
def test_a_stream_is_arrows_own(batch: Any) -> None:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    written = sink.getvalue().to_pybytes()
    assert bytes(write_stream(batch)) == written
    found = read_stream(memoryview(written))
    assert found.equals(batch)
    assert found.schema.equals(batch.schema, check_metadata=True)


@pytest.mark.parametrize("kept", [0, 3, 20, 200])
def test_half_a_stream_is_an_error(kept: int) -> None:
    written = memoryview(write_stream(BATCHES["numbers, strings and NULLs"]))
    with pytest.raises((pa.ArrowException, OSError, ValueError)):
        read_stream(written[:kept])
