"""A join on disk: one JSON file that says all but rows, and beside it the bytes that it names.

The JSON file is written last and by one rename, so that a directory holds a whole join or none.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from streamjoin.errors import StreamJoinError
from streamjoin.flow.settle import pack_results, unpack_results
from streamjoin.layout import Cell, Grid, Keyed, Scale
from streamjoin.local.handshake import Handshake
from streamjoin.pane import write_whole
from streamjoin.spec.window import Between, Both, Last, Tumbling

FORMAT = 3
_TOLD = "join.json"
_NAMED = {kind.__name__: kind for kind in (Between, Both, Last, Tumbling, Grid, Scale, Cell, Keyed, Handshake)}


@dataclass(frozen=True)
class Saved:
    """What a directory holds."""

    directory: Path
    told: dict[str, Any]

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments that the join was made with."""
        return {key: _from_data(value) for key, value in self.told["arguments"].items()}

    def fetch(self, name: str) -> bytes | None:
        """The bytes of a segment or of flags; None where there are none of this name."""
        file = self.told["files"].get(name)
        return None if file is None else (self.directory / file).read_bytes()

    def batches(self, name: str) -> list[pa.RecordBatch]:
        """Results that were kept."""
        content = self.fetch(name)
        return [] if content is None else list(unpack_results(content))


def save(
    directory: Path, told: dict[str, Any], kept: Mapping[str, bytes], results: Mapping[str, Sequence[pa.RecordBatch]]
) -> None:
    """Write a join into a directory of its own; what was saved there before is replaced."""
    directory.mkdir(parents=True, exist_ok=True)
    before = _read(directory) or {"generation": 0, "files": {}}
    generation = before["generation"] + 1
    contents = {**kept, **{name: pack_results(*batches) for name, batches in results.items() if batches}}
    files = {name: f"{generation}-{number}" for number, name in enumerate(contents)}
    for name, content in contents.items():
        write_whole(directory / files[name], [content])
    told |= {"format": FORMAT, "generation": generation, "files": files}
    write_whole(directory / _TOLD, [json.dumps(told, default=_to_data).encode()])
    for file in before["files"].values():
        (directory / file).unlink(missing_ok=True)


def load(directory: Path) -> Saved:
    """What was saved in a directory."""
    told = _read(directory)
    if told is None:
        raise StreamJoinError(f"restore: {directory} holds no join; expected a directory that save() was given")
    if told["format"] != FORMAT:
        raise StreamJoinError(f"restore: {directory} has format {told['format']}; this streamjoin reads {FORMAT}")
    return Saved(directory, told)


def _read(directory: Path) -> dict[str, Any] | None:
    try:
        told: dict[str, Any] = json.loads((directory / _TOLD).read_bytes())
    except FileNotFoundError:
        return None
    return told


def _to_data(value: Any) -> Any:
    if isinstance(value, pa.Schema):
        return {"schema": value.serialize().to_pybytes().hex()}
    if isinstance(value, timedelta):
        return {"microseconds": value // timedelta(microseconds=1)}
    if is_dataclass(value) and type(value).__name__ in _NAMED:
        return {"kind": type(value).__name__, **{f.name: getattr(value, f.name) for f in fields(value) if f.init}}
    raise TypeError(f"not to be saved: {value!r}")


def _from_data(value: Any) -> Any:
    match value:
        case {"schema": encoded}:
            return pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(encoded)))
        case {"microseconds": count}:
            return timedelta(microseconds=count)
        case {"kind": kind}:
            return _NAMED[kind](**{str(name): _from_data(part) for name, part in value.items() if name != "kind"})
        case list():
            return [_from_data(part) for part in value]
    return value
