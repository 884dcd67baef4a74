"""An as-of join as a Spark plan: a join whose cells pick one of the matches."""

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame

from streamjoin.layout import Layout
from streamjoin.operators.expr import quote_name
from streamjoin.plan.reduction import Direction, Pick
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
    direction: Direction,
    exact: bool,
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
    further = to_text(read_columns(on))
    condition = f"{to_text(by)} AND ({further})" if by else further
    asked = read_join(left, right, condition, **inputs, inner=False)
    shared = {find(side, [each], asked.inputs[side].schema, "by").path[0] for side in SIDES for each in by}
    if select is None and by:
        others = [each for each in asked.inputs["r"].schema.names if each not in shared]
        select = ["l.*", *(f"r.{quote_name(each)}" for each in others)]
    return Planned(asked, how, select, layout, suffixes, Pick(direction, exact), late=late)
