"""The arguments that the verbs share, checked."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from streamjoin.errors import StreamJoinError
from streamjoin.layout import Layout
from streamjoin.local.handshake import Handshake
from streamjoin.spec.duration import Duration
from streamjoin.spec.how import HOWS, How, how_of
from streamjoin.spec.late import late_of
from streamjoin.spec.side import pair_of
from streamjoin.spec.window import require_window

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from streamjoin.spark.build import Planned

Delay = Duration | None
Frames: TypeAlias = "DataFrame | Sequence[DataFrame]"

PLANNERS: "dict[Callable[..., DataFrame], Callable[[Mapping[str, Any]], Planned]]" = {}
"""For each verb what plans it, given its arguments with their defaults."""


def list_columns(by: str | Sequence[str] | None) -> list[str]:
    """The columns that `by` names."""
    names = [by] if isinstance(by, str) else [] if by is None else list(by)
    if not all(isinstance(each, str) for each in names):
        raise StreamJoinError(f"by: got {by!r}; expected a column name, or a list of them")
    return names


def check_arguments(arguments: Mapping[str, Any], hows: Sequence[How] = HOWS) -> dict[str, Any]:
    """The arguments of a verb on two inputs as the runtime takes them; `hows` are the types of join that it has."""
    layout, window, name, how = (arguments[key] for key in ("layout", "window", "name", "how"))
    if isinstance(layout, Handshake):
        raise StreamJoinError(layout.why_not_on_spark)
    if layout != "auto" and not isinstance(layout, Layout):
        raise StreamJoinError(f"layout: got {layout!r}; expected 'auto' or a layout such as Grid(2, 2)")
    if window is not None:
        require_window(window)
    if not isinstance(name, str) or not name:
        raise StreamJoinError(f"name: got {name!r}; expected a word for the join's metrics")
    if how_of(how) not in hows:
        raise StreamJoinError(f"how: got {how!r}; expected {' or '.join(map(repr, hows))}: one result for a left row")
    checked = {
        **{key: arguments[key] for key in ("left", "right", "on", "window", "select", "name")},
        "how": how_of(how),
        "time": pair_of("time", arguments["time"], "one name, or a pair such as ('ts', 'ts')", str),
        "delay": pair_of(
            "delay",
            arguments["delay"],
            "one duration such as '10 seconds', or a pair: for left and right",
            Duration | None,
        ),
        "layout": None if layout == "auto" else layout,
        "late": late_of(arguments["late"]),
    }
    if "suffixes" in arguments:
        checked["suffixes"] = pair_of("suffixes", arguments["suffixes"], "a pair such as ('_l', '_r')", str, one=False)
    return checked
