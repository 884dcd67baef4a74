"""A container for named arrays and record batches: one run of bytes, checked on opening and used where it lies.

======  ===========================================================================
offset  content (little-endian)
======  ===========================================================================
0       8 bytes   `MAGIC`
8       uint32    format version
12      uint32    length of the directory
16      uint64    length of the whole container
24      uint64    xxh3 of the body: all that comes after the directory
32      24 bytes  zero
56      uint64    xxh3 of the 56 bytes above and the directory
64      the directory, JSON: where each array and batch lies, and the owner's notes
...     the body: arrays as they are in memory, batches as Arrow IPC streams
======  ===========================================================================

Everything starts at a multiple of 64 bytes. Nothing is compressed, so a mapped file is used without copying. The
directory has a checksum of its own because it is small and always checked; the body costs a scan.
"""

import json
import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from xxhash import xxh3_64, xxh3_64_intdigest

from streamjoin.errors import StreamJoinError
from streamjoin.pane.stream import read_stream, write_stream

MAGIC = b"SJSEG\r\n\x1a"  # line ends, as in PNG, show that a transfer as text has damaged it
VERSION = 1
ALIGNMENT = 64

_HEADER = struct.Struct("<8sIIQQ24x")
_CHECKSUM = struct.Struct("<Q")
_START = _HEADER.size + _CHECKSUM.size
_FAR = 10**15  # an offset with as many digits as any

Buffer: TypeAlias = Any  # bytes, mmap, memoryview, pyarrow.Buffer: whatever lends its bytes


class SegmentError(StreamJoinError):
    """Bytes that are not the segment they should be: which one, and what is wrong with it."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(name, reason)
        self.name = name
        self.reason = reason

    def __str__(self) -> str:
        return f"segment {self.name}: {self.reason}"


@dataclass(frozen=True)
class Contents:
    """What a container holds; `notes` is anything that JSON can say."""

    notes: dict[str, Any]
    arrays: Mapping[str, NDArray[Any]]
    batches: Mapping[str, Any]  # pa.RecordBatch; to be packed, also the memoryview of an Arrow IPC stream


def pack(contents: Contents) -> list[Buffer]:
    """The bytes of a container, in pieces to be written one after the other."""
    pieces = {f"a{name}": _view_bytes(array) for name, array in contents.arrays.items()}
    pieces |= {f"b{name}": _write_ipc(batch) for name, batch in contents.batches.items()}
    offsets, body = _lay_out(pieces)
    directory = {
        "notes": contents.notes,
        "arrays": {name: [a.dtype.str, a.shape, offsets[f"a{name}"]] for name, a in contents.arrays.items()},
        "batches": {name: [offsets[f"b{name}"], len(pieces[f"b{name}"])] for name in contents.batches},
    }
    hashed = xxh3_64()
    for piece in body:
        hashed.update(piece)
    return [_pack_head(directory, sum(map(len, body)), hashed.intdigest()), *body]


def replace_notes(buffer: Buffer, notes: dict[str, Any]) -> list[Buffer]:
    """The same container with other notes: its body is neither copied nor hashed."""
    encoded, body, checksum = _open(buffer, "")
    return [_pack_head(json.loads(encoded) | {"notes": notes}, len(body), checksum), body]


def find_streams(buffer: Buffer) -> dict[str, memoryview]:
    """The batches of a container as the Arrow IPC streams that they are in it."""
    encoded, body, _ = _open(buffer, "")
    return {name: body[start : start + length] for name, (start, length) in json.loads(encoded)["batches"].items()}


def _pack_head(directory: dict[str, Any], body: int, checksum: int) -> bytes:
    """Header and directory, for a body of this length and checksum."""
    encoded = json.dumps(directory, sort_keys=True, separators=(",", ":")).encode()
    encoded = encoded.ljust(_align(len(encoded)))
    header = _HEADER.pack(MAGIC, VERSION, len(encoded), _START + len(encoded) + body, checksum)
    return header + _CHECKSUM.pack(xxh3_64_intdigest(header + encoded)) + encoded


def bound_size(contents: Contents) -> int:
    """At least as many bytes as `pack` gives, and few more, without copying or hashing a value."""
    directory = {
        "notes": contents.notes,
        "arrays": {name: [a.dtype.str, a.shape, _FAR] for name, a in contents.arrays.items()},
        "batches": {name: [_FAR, _FAR] for name in contents.batches},
    }
    sizes = [array.nbytes for array in contents.arrays.values()]
    sizes += [_bound_ipc(batch) for batch in contents.batches.values()]
    return _START + _align(len(json.dumps(directory, separators=(",", ":")))) + sum(map(_align, sizes))


def read_digest(buffer: Buffer) -> str:
    """What tells a container from any other, read from the start of its bytes."""
    return format(_CHECKSUM.unpack_from(buffer, _HEADER.size)[0], "016x")


def unpack(buffer: Buffer, name: str, *, verify: bool = True) -> Contents:
    """What a container holds, as views on its bytes.

    Without `verify` the body is taken on trust: only for bytes that were verified since they were written.
    """
    encoded, body, checksum = _open(buffer, name)
    if verify and (found := xxh3_64_intdigest(body)) != checksum:
        raise SegmentError(name, f"damaged: its checksum is {found:016x}, {checksum:016x} was written")
    try:
        directory = json.loads(encoded)
        return Contents(
            directory["notes"],
            {key: _read_array(body, *where) for key, where in directory["arrays"].items()},
            {key: _read_batch(body, *where) for key, where in directory["batches"].items()},
        )
    except (pa.ArrowException, ArithmeticError, AttributeError, LookupError, OSError, TypeError, ValueError) as error:
        raise SegmentError(name, f"cannot be read: {type(error).__name__}: {error}") from error


def _open(buffer: Buffer, name: str) -> tuple[bytes, memoryview, int]:
    """The directory, the body and its checksum, after everything but the body was checked."""
    view = memoryview(buffer).cast("B").toreadonly()
    if len(view) < _START:
        if MAGIC.startswith(bytes(view[: len(MAGIC)])):
            raise SegmentError(name, f"cut short: {len(view)} bytes, a header alone has {_START}")
        raise SegmentError(name, f"not a segment: it begins with {bytes(view[: len(MAGIC)])!r}")
    magic, version, directory_length, length, checksum = _HEADER.unpack_from(view)
    if magic != MAGIC:
        raise SegmentError(name, f"not a segment: it begins with {magic!r}")
    if version != VERSION:
        relation = "a newer streamjoin wrote it, or it is damaged" if version > VERSION else "it is damaged"
        raise SegmentError(name, f"format version {version}, this streamjoin reads version {VERSION}: {relation}")
    directory = view[_START : _START + directory_length]
    if len(directory) < directory_length:
        raise SegmentError(name, f"cut short within its directory: {len(view)} bytes of {length}")
    hashed = xxh3_64(view[: _HEADER.size])
    hashed.update(directory)
    if hashed.intdigest() != _CHECKSUM.unpack_from(view, _HEADER.size)[0]:
        raise SegmentError(name, "damaged: the checksum of its directory is wrong")
    if len(view) != length:
        what = "cut short" if len(view) < length else "followed by something else"
        raise SegmentError(name, f"{what}: {len(view)} bytes, {length} were written")
    return bytes(directory), view[_START + directory_length :], checksum


def _read_array(body: memoryview, dtype: str, shape: list[int], offset: int) -> NDArray[Any]:
    return np.frombuffer(body, dtype, math.prod(shape), offset).reshape(shape)


def _read_batch(body: memoryview, offset: int, length: int) -> Any:
    batch = read_stream(body[offset : offset + length])
    batch.validate()
    return batch


def _lay_out(pieces: Mapping[str, Buffer]) -> tuple[dict[str, int], list[Buffer]]:
    """Where each piece comes to lie in the body, and the body with the gaps filled."""
    offsets: dict[str, int] = {}
    body: list[Buffer] = []
    end = 0
    for name, piece in pieces.items():
        offsets[name] = end
        end = _align(end + len(piece))
        body += [piece, bytes(end - offsets[name] - len(piece))]
    return offsets, body


def _align(offset: int) -> int:
    return -(-offset // ALIGNMENT) * ALIGNMENT


def _view_bytes(array: NDArray[Any]) -> Buffer:
    if array.dtype.hasobject or array.dtype.names:
        raise TypeError(f"a segment holds plain numbers, not {array.dtype}")
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _write_ipc(batch: Any) -> Buffer:
    if isinstance(batch, memoryview):
        return batch
    return memoryview(write_stream(_canonicalize(batch)))


def _bound_ipc(batch: Any) -> int:
    dictionaries = (c.dictionary.nbytes + ALIGNMENT for c in batch.columns if pa.types.is_dictionary(c.type))
    framing = ALIGNMENT * (2 + batch.num_columns)  # ends of the stream, masks that Arrow adds
    size: int = batch.schema.serialize().size + pa.ipc.get_record_batch_size(batch) + framing + sum(dictionaries)
    return size


def _canonicalize(batch: Any) -> Any:
    """The same values in the same bytes, wherever they were cut from.

    Arrow writes what lies under a NULL, beside a slice or in unused bits as it finds it; `take` leaves it out. What
    lies under a NULL struct stays, and a dictionary is what it is.
    """
    columns = batch.columns
    untidy = [at for at, column in enumerate(columns) if not _is_bare(column)]
    if not untidy:
        return batch
    tidied = batch.select(untidy).take(pa.array(np.arange(batch.num_rows)))  # one call for all: each has its price
    for at, column in zip(untidy, tidied.columns, strict=True):
        columns[at] = column
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _is_bare(column: Any) -> bool:
    """Whether a column is its values and nothing else, so that a copy would change nothing."""
    if not pa.types.is_primitive(column.type) or column.null_count or not len(column):
        return False
    return bool(column.buffers()[1].size * 8 == len(column) * column.type.bit_width)
