"""Window joins on any predicate, for Spark streams."""

from typing import TYPE_CHECKING, Any

from streamjoin.errors import StreamJoinError
from streamjoin.join import explain, join
from streamjoin.layout import Cell, Grid, Handshake, Keyed, Scale
from streamjoin.window import between, last, tumbling, within

if TYPE_CHECKING:
    from streamjoin.spark.progress import progress
    from streamjoin.spark.session import configure, session

__all__ = [
    "Cell",
    "Grid",
    "Handshake",
    "Keyed",
    "Scale",
    "StreamJoinError",
    "between",
    "configure",
    "explain",
    "join",
    "last",
    "progress",
    "session",
    "tumbling",
    "within",
]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    """Import what needs Spark when it is first asked for: a second that those without Spark need not wait."""
    if name == "progress":
        from streamjoin.spark.progress import progress

        return progress
    if name in ("configure", "session"):
        from streamjoin.spark import session

        return getattr(session, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
