"""What a cell's batch asks of a runtime: state that outlives the batch, and a cache that need not."""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from streamjoin.pane import Segment


class Note(NamedTuple):
    """The small part of a cell's state, which every batch reads first and writes anew."""

    key: str
    """The key of the checkpoint, as `CheckpointKey.to_json` writes it."""
    manifest: bytes
    """The worker's; empty in the plan's own cell."""
    cached: dict[str, str]
    """Digests of the segments that the cache was given, by name."""


class State(Protocol):
    """The state of one cell. What a batch changes takes effect when the batch is committed: all of it, or nothing."""

    def read_note(self) -> Note | None:
        """The note that the last committed batch wrote."""

    def write_note(self, note: Note) -> None:
        """Replace the note."""

    def get(self, name: str) -> bytes | None:
        """The content of this name."""

    def put(self, name: str, content: bytes) -> None:
        """Add or replace a content."""

    def remove(self, name: str) -> None:
        """Drop a content."""

    def wake_after(self, watermark: int) -> None:
        """Run the cell again once the watermark has passed this time, rows or not; replaces an earlier request."""


class Cache(Protocol):
    """Segments as the cell works on them, merged and indexed; whatever is missing here is read from state."""

    def get(self, name: str, written: str) -> Segment | None:
        """The segment that was written with this digest, if it is here and whole."""

    def put(self, segment: Segment) -> str | None:
        """Write a segment; its digest, or None where there is no room."""

    def check(self) -> None:
        """Refuse the batch if a segment that it read was changed meanwhile."""

    def sweep(self, keep: Iterable[tuple[str, str]]) -> None:
        """Delete all segments but these, given as names and digests."""
