"""What a join will do, in words and a drawing."""

from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import indent
from typing import TYPE_CHECKING

from streamjoin.plan.reduction import Aggregates, Sliding
from streamjoin.predicate.conjunct import Band, Compiled, Conjunct, Equi, Evaluated, Range
from streamjoin.spark.compat import is_deterministic
from streamjoin.spark.settings import advise
from streamjoin.spec.duration import UNITS, format_duration
from streamjoin.spec.how import How
from streamjoin.spec.side import NAMED, SIDES
from streamjoin.spec.window import Between, Both, Last, Tumbling, Window
from streamjoin.table import to_html
from streamjoin.worker.expiry import find_retention

if TYPE_CHECKING:
    from streamjoin.spark.build import Planned

_MANY_COLUMNS = 12
_LONG_DELAY = 10
"""A delay of so many times the window is worth a warning."""


@dataclass(frozen=True)
class Explanation:
    """The plan of a join; `sections` are headings with their text, `plan` is what the checkpoint keeps of it.

    `stay` is the longest time, in microseconds, that a row can match after its own time.
    """

    sections: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...]
    plan: str
    stay: int

    def __str__(self) -> str:
        parts = [f"{heading}\n{indent(text, '  ')}" for heading, text in self._all()]
        return "\n\n".join(parts)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return to_html(self._all(), wide=True)

    def _all(self) -> Iterator[tuple[str, str]]:
        yield from self.sections
        if self.warnings:
            yield "Warnings", "\n".join(f"- {warning}" for warning in self.warnings)


def explain_plan(planned: "Planned") -> Explanation:
    """The explanation of a join."""
    layout = ("Layout", _explain_layout(planned, planned.is_chosen))
    sections: tuple[tuple[str, str], ...]
    if isinstance(planned.plan.reduction, Sliding):
        sections = ("Windows", _explain_sliding(planned, planned.plan.reduction)), layout
    else:
        sections = (
            ("Condition", _explain_condition(planned)),
            ("Window", _explain_window(planned, planned.window)),
            ("Type", _explain_type(planned)),
            *((("Order", _ORDERED),) if planned.plan.ordered else ()),
            *((("Late rows", _explain_late(planned)),) if planned.late_columns else ()),
            layout,
            ("State", _explain_state(planned)),
        )
    stays = max(find_retention(planned.window, side) for side in SIDES)
    return Explanation(sections, tuple(_find_warnings(planned, planned.is_selected, stays)), str(planned.key), stays)


def _explain_condition(planned: "Planned") -> str:
    lines = [planned.predicate.text, ""]
    served = [(c.kind, str(c), _explain_server(planned, c)) for c in planned.predicate.conjuncts]
    served += [("one-sided", str(c), "Spark, before the join") for side in SIDES for c in planned.filters[side]]
    widths = [max((len(row[at]) for row in served), default=0) for at in range(2)]
    lines += [f"{kind:<{widths[0]}}  {text:<{widths[1]}}  {by}" for kind, text, by in served]
    return "\n".join(lines)


def _explain_server(planned: "Planned", conjunct: Conjunct) -> str:
    if conjunct in planned.predicate.residual and not isinstance(conjunct, Equi | Band | Range):
        return "Spark, after the join, on what the rest lets through"
    match conjunct:
        case Equi():
            return "hash index"
        case Band():
            index = "grid or sorted index" if None not in (conjunct.lower, conjunct.upper) else "sorted index"
            if conjunct in planned.predicate.residual:
                return f"{index} narrows, Spark decides after the join"
            return index if conjunct.decides else f"{index} narrows, compiled code decides"
        case Range():
            decider = "Spark decides after the join" if conjunct.check is None else "compiled code decides"
            return f"sorted index narrows by an interval of each row's own, {decider}"
        case Compiled():
            return "compiled code, on what the indexes let through"
        case Evaluated():
            return "the cell, column by column, on what the indexes let through"
    return "Spark, before the join: decides on matches, keeps no row out"


def _explain_window(planned: "Planned", window: Window) -> str:
    if isinstance(window, Both):
        return f"{_explain_window(planned, window.count)}\nand {_explain_window(planned, window.time)}"
    if isinstance(window, Last):
        return (
            f"the earlier row is among the last {window.left:,} left rows, or the last {window.right:,} right rows, "
            "when the later one comes; rows come in the order of time, left before right, then by the hash of the "
            "whole row, and wait until the watermark has passed them\n"
            "every cell is told time and hash of every row, to count those that it is not sent"
        )
    if isinstance(window, Tumbling):
        bucket = f"{format_duration(window.size)} long"
        return (
            f"both rows fall into one bucket, {bucket}; a row is kept until the watermark has passed its bucket's end"
        )
    assert isinstance(window, Between)
    low, high = ("<" if window.closed in kinds else "<=" for kinds in (("right", "neither"), ("left", "neither")))
    interval = (
        f"{format_duration(window.lower)} {low} right {planned.inputs['r'].time} - left {planned.inputs['l'].time} "
        f"{high} {format_duration(window.upper)}"
    )
    longest = planned.plan.keeps  # of rows that are reduced; a count window keeps none for longer
    kept_for = longest if isinstance(longest, Between) else window
    kept = [
        f"a {named} row is kept until the watermark has passed its time {_format_signed(stay)}"
        for named, stay in (("left", window.upper), ("right", -kept_for.lower))
    ]
    return "\n".join([interval, *kept])


_ORDERED = (
    "results come by join_time, left time, right time, and the hashes of both rows, in one partition\n"
    "a row waits until the watermark has passed it: at least as long as the delay"
)
_TYPES: dict[How, str] = {
    "inner": "pairs alone",
    "left": "all pairs, and unmatched left rows, once they can match no more",
    "right": "all pairs, and unmatched right rows, once they can match no more",
    "full": "all pairs, and unmatched rows of both sides, once they can match no more",
    "left_semi": "matched left rows, each at its first match",
    "left_anti": "unmatched left rows, once they can match no more",
}


def _explain_late(planned: "Planned") -> str:
    held = "they hold the columns that their side carries"
    if isinstance(planned.plan.reduction, Aggregates):
        held = "a left one holds the left columns of the result, a right one none"
    return (
        "late rows and rows without a time come out beside the results, each once, with late_reason, late_side and\n"
        f"late_watermark, which are NULL in a result; {held}"
    )


def _explain_sliding(planned: "Planned", sliding: Sliding) -> str:
    size, every, pane = map(format_duration, (sliding.size, sliding.every, sliding.pane))
    columns = planned.carried["r"]
    keys = ", ".join(planned.show_column(c) for c in columns[: sliding.keys])
    values = ", ".join(planned.show_column(c) for c in columns[sliding.keys :])
    return "\n".join(
        [
            f"{size} long, one every {every}, put together of panes of {pane}; aligned to the epoch (UTC)",
            "a window is emitted once the watermark has passed its end",
            f"state holds, for each pane{f' and group of {keys}' if keys else ''}, the parts of {len(sliding.each)} "
            f"aggregates{f' of {values}' if values else ''}",
        ]
    )


def _explain_type(planned: "Planned") -> str:
    plan = planned.plan
    if plan.reduction is not None:
        met = (
            "an aggregate of all that it met" if isinstance(plan.reduction, Aggregates) else "the match that is nearest"
        )
        left_out = "" if plan.how == "left" else "; left rows without a match are left out"
        return f"{plan.how}: one row for each left row, once it can match no more: {met}{left_out}"
    lines = [f"{plan.how}: {_TYPES[plan.how]}"]
    if plan.shared:
        sides = " and ".join(NAMED[side] for side in plan.shared)
        lines.append(
            f"{sides} rows are in several cells each: a second stage finds those that are unmatched in all of them"
        )
    return "\n".join(lines)


def _format_signed(stay: int) -> str:
    return f"{'+' if stay >= 0 else '-'} {format_duration(abs(stay))}"


def _explain_layout(planned: "Planned", chosen: bool) -> str:
    layout, plan = planned.layout, planned.plan
    idle = f" ({planned.idle} of them idle)" if planned.idle else ""
    lines = [
        f"{layout}, {'chosen by rule' if chosen else 'as asked for'}: {layout.cells} cells on {planned.tasks} "
        f"{'shuffle partitions' if planned.is_streaming else 'tasks'}{idle}; "
        f"rows go by {layout.describe_routing(plan)}",
        "",
        layout.draw(),
        "",
    ]
    for side in planned.sides:
        cost = layout.cost(side, plan)
        named = "row" if len(planned.sides) == 1 else f"{NAMED[side]} row"
        lines.append(f"a {named} is sent to {_format_cells(cost.sent)} and stored in {_format_count(cost.stored)}")
    lines.append(f"the work is even {layout.evenness(plan)}")
    return "\n".join(lines)


def _format_cells(count: float) -> str:
    return "1 cell" if count == 1 else f"{_format_count(count)} cells"


def _format_count(count: float) -> str:
    return f"{count:g}" if count == int(count) else f"about {count:.2g}"


def _explain_state(planned: "Planned") -> str:
    lines = []
    for side in SIDES:
        keys = [f"{key} {key.type}" for key in planned.predicate.keys(side)]
        columns = [f"{planned.show_column(c)} {c.type.simpleString()}" for c in planned.carried[side]]
        lines += [
            f"{NAMED[side]} rows: their time; keys {', '.join(keys) or 'none'}; columns {', '.join(columns) or 'none'}"
        ]
    return "\n".join(lines)


def _find_warnings(planned: "Planned", selected: bool, stays: int) -> Iterator[str]:
    if not isinstance(planned.plan.reduction, Sliding):
        yield from _find_costs(planned, selected, stays)
    if planned.is_streaming and planned.idle > planned.layout.cells:
        yield (
            f"{planned.idle} of {planned.tasks} shuffle partitions have no cell, but each costs Spark a task and a "
            "state store in every micro-batch. Before the first start say "
            f'spark.conf.set("spark.sql.shuffle.partitions", {planned.layout.cells}), or about as many as there are '
            "cores: the checkpoint keeps it"
        )
    yield from advise(planned.spark, streaming=planned.is_streaming)
    for side in planned.sides:
        named = "stream" if len(planned.sides) == 1 else f"{NAMED[side]} input"
        if not is_deterministic(planned.inputs[side].frame):
            yield (
                f"the {named} has a column that differs each time it is computed (rand(), uuid(), "
                "a user-defined function marked so): a task that is tried again may then lose or repeat results. "
                "Compute it upstream and store it"
            )


def _find_costs(planned: "Planned", selected: bool, stays: int) -> Iterator[str]:
    """What makes a join slow, or its state large."""
    conjuncts = planned.predicate.conjuncts
    if not any(
        isinstance(c, Equi | Range) or (isinstance(c, Band) and None not in (c.lower, c.upper)) for c in conjuncts
    ):
        one_end = any(isinstance(c, Band) for c in conjuncts)
        found = "one end of a band narrows little" if one_end else "no part of the condition narrows"
        compared = "a large part of the pairs" if one_end else "every pair"
        yield (
            f"{found}: {compared} of rows within the window is compared. An equality or a band with two ends, such as "
            "abs(l.x - r.x) <= 5, would let an index do it"
        )
    carried = sum(len(planned.carried[side]) for side in SIDES)
    if not selected and carried > _MANY_COLUMNS:
        yield (
            f"{carried} columns are kept in state and moved with every result: name those that are needed with "
            'select=["l.id", ...]'
        )
    delays = {delay: NAMED[side] for side in SIDES if (delay := planned.inputs[side].delay) is not None}
    longest = max(delays, default=0)
    if longest > max(stays * _LONG_DELAY, UNITS["minute"]):
        yield (
            f"the {delays[longest]} stream's delay of {format_duration(longest)} is much longer than the window keeps "
            f"a row ({format_duration(stays)}): most of what is kept waits for late rows"
        )
