"""Window joins on any predicate, for Spark streams."""

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

from streamjoin import geo
from streamjoin.advice.advise import advise
from streamjoin.aggregate import aggregate
from streamjoin.asof import asof
from streamjoin.errors import StreamJoinError
from streamjoin.join import check, explain, flush, join
from streamjoin.layout import Cell, Grid, Keyed, Scale
from streamjoin.local.handshake import Handshake
from streamjoin.sliding_aggregate import sliding_aggregate
from streamjoin.spec.window import between, last, tumbling, within

if TYPE_CHECKING:
    from streamjoin import kafka
    from streamjoin.local.join import LocalJoin
    from streamjoin.report.dashboard import dashboard
    from streamjoin.spark.progress import progress
    from streamjoin.spark.session import configure, session

__all__ = [
    "Cell",
    "Grid",
    "Handshake",
    "Keyed",
    "LocalJoin",
    "Scale",
    "StreamJoinError",
    "advise",
    "aggregate",
    "asof",
    "between",
    "check",
    "configure",
    "dashboard",
    "explain",
    "flush",
    "geo",
    "join",
    "kafka",
    "last",
    "progress",
    "session",
    "sliding_aggregate",
    "tumbling",
    "within",
]

_LATER = {
    "LocalJoin": "streamjoin.local.join",
    "configure": "streamjoin.spark.session",
    "dashboard": "streamjoin.report.dashboard",
    "kafka": "streamjoin.kafka",
    "progress": "streamjoin.spark.progress",
    "session": "streamjoin.spark.session",
}


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    """Import what needs Spark or Numba when it is first asked for: a second that others need not wait."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        found = import_module(_LATER[name])
        return found if name == "kafka" else getattr(found, name)
    except StreamJoinError as missing:
        return partial(_refuse, missing)


def _refuse(missing: StreamJoinError, *_: Any, **__: Any) -> NoReturn:
    """What a verb does where there is no Spark."""
    raise missing
