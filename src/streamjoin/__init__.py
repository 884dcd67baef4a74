"""Window joins on any predicate, for Spark streams."""

from streamjoin.errors import StreamJoinError
from streamjoin.join import join
from streamjoin.layout import Grid
from streamjoin.spark.progress import progress
from streamjoin.spark.session import session
from streamjoin.window import between, last, tumbling, within

__all__ = ["Grid", "StreamJoinError", "between", "join", "last", "progress", "session", "tumbling", "within"]
