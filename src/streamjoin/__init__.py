"""Window joins on any predicate, for Spark streams."""

from streamjoin.errors import StreamJoinError
from streamjoin.window import between, last, tumbling, within

__all__ = ["StreamJoinError", "between", "last", "tumbling", "within"]
