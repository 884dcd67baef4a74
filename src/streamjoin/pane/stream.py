"""A record batch as an Arrow IPC stream of its own, and back.

Arrow's stream writer and reader cost more than a small batch does, so the messages of a stream are put together here,
and its schema, which is the same in block after block, is read once. What a stream looks like:

    message of the schema | message of the batch | end of stream

Where there are dictionaries, further messages bring them: such streams are left to Arrow.
"""

from functools import lru_cache
from typing import Any

import pyarrow as pa

_END = b"\xff\xff\xff\xff\0\0\0\0"
_PREFIX = 8  # four bytes that say that a message follows, and four of the length of what describes it


def write_stream(batch: Any) -> Any:
    """The bytes of a stream of one batch."""
    if _has_dictionary(batch.schema):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        return sink.getvalue()
    return b"".join((batch.schema.serialize(), batch.serialize(), _END))


def read_stream(stream: memoryview) -> Any:
    """The one batch of a stream, as views on its bytes."""
    start = _PREFIX + int.from_bytes(stream[4:_PREFIX], "little")
    schema = _read_schema(bytes(stream[:start]))
    if _has_dictionary(schema):
        return pa.ipc.open_stream(pa.py_buffer(stream)).read_next_batch()
    return pa.ipc.read_record_batch(pa.py_buffer(stream[start:]), schema)


@lru_cache(maxsize=256)
def _read_schema(message: bytes) -> Any:
    return pa.ipc.read_schema(pa.py_buffer(message))


def _has_dictionary(schema: Any) -> bool:
    return any(_is_dictionary(type) for type in schema.types)


def _is_dictionary(type: Any) -> bool:
    """Also within lists and structs."""
    if pa.types.is_dictionary(type):
        return True
    return pa.types.is_nested(type) and any(_is_dictionary(type.field(at).type) for at in range(type.num_fields))
