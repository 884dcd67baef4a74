"""Segment caches of single cells, to test with."""

from pathlib import Path
from uuid import NAMESPACE_OID, uuid5

from streamjoin.flow.cache import CacheSpec, SegmentCache
from streamjoin.pane import Segment
from tests.segments import everything

SEGMENT = Segment("l1", everything())
PLENTY = 1 << 30


def query(name: str) -> str:
    """The id of a query."""
    return str(uuid5(NAMESPACE_OID, name))


QUERY = query("query")


def cell(spec: CacheSpec, query: str = QUERY, join: str = "join", number: int = 0, cells: int = 1) -> SegmentCache:
    return SegmentCache(spec, query, join, number, cells)


def segments(spec: CacheSpec) -> list[Path]:
    """The files of all segments."""
    return [path for path in spec.root.glob("*/*/*/*") if path.is_file()]


def only_file(spec: CacheSpec) -> Path:
    [found] = segments(spec)
    return found
