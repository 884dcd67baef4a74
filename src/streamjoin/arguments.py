"""The arguments that the verbs share, checked."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from streamjoin.errors import StreamJoinError
from streamjoin.layout import Layout
from streamjoin.local.handshake import Handshake
from streamjoin.spec.duration import Duration
from streamjoin.spec.how import how_of, reduced_how_of
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


def check_arguments(arguments: Mapping[str, Any], *, reduces: bool = False) -> dict[str, Any]:
    """The arguments of a verb on two inputs as the runtime takes them; one that `reduces` has one result a left row."""
    layout, window, name, how = (arguments[key] for key in ("layout", "window", "name", "how"))
    if isinstance(layout, Handshake):
        raise StreamJoinError(layout.why_not_on_spark)
    if layout != "auto" and not isinstance(layout, Layout):
        raise StreamJoinError(f"layout: got {layout!r}; expected 'auto' or a layout such as Grid(2, 2)")
    if window is not None:
        require_window(window)
    if not isinstance(name, str) or not name:
        raise StreamJoinError(f"name: got {name!r}; expected a word for the join's metrics")
    checked = {
        **{key: arguments[key] for key in ("left", "right", "on", "window", "select", "name")},
        "how": (reduced_how_of if reduces else how_of)(how),
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
