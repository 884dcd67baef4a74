"""An as-of join as a Spark plan: a join whose cells pick one of the matches."""

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame

from streamjoin.layout import Layout
from streamjoin.plan.asof import choose_columns, write_condition
from streamjoin.plan.reduction import Pick
from streamjoin.spark.asked import read_join
from streamjoin.spark.build import Planned
from streamjoin.spark.column import AnyOn, read_columns
from streamjoin.spark.inputs import Frames
from streamjoin.spec.how import How
from streamjoin.spec.late import Late
from streamjoin.spec.side import SIDES
from streamjoin.sql.on import to_text
from streamjoin.sql.select import find


def plan_asof(
    left: Frames,
    right: Frames,
    *,
    by: Sequence[str],
    on: AnyOn,
    pick: Pick,
    how: How,
    select: Sequence[str] | None,
    layout: Layout | None,
    suffixes: tuple[str, str],
    late: Late = "drop",
    **inputs: Any,
) -> Planned:
    """Check the arguments of an as-of join of two streaming or two batch inputs; `inputs` are for `read_join`."""
    for side, frames in zip(SIDES, (left, right), strict=True):
        for frame in [frames] if isinstance(frames, DataFrame) else frames:
            for each in by:
                find(side, [each], frame.schema, "by")
    condition = write_condition(by, to_text(read_columns(on)))
    asked = read_join(left, right, condition, **inputs, inner=False)
    chosen = choose_columns(select, by, {side: asked.inputs[side].schema for side in SIDES})
    return Planned(asked, how, chosen, layout, suffixes, pick, late=late)
