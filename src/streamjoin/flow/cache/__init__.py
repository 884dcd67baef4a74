"""Segments on the local disk, so that a cell does not read its window from state in every batch."""

from streamjoin.flow.cache.segments import CacheSpec, SegmentCache

__all__ = ["CacheSpec", "SegmentCache"]
