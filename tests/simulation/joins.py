"""The joins that histories run: conditions, windows and layouts from fixed lists, so that compiled code is shared.

A new condition, window, layout or `how` is added to its list here, and every history may draw it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import pyarrow as pa

from streamjoin import Cell, Grid, Keyed, Scale, StreamJoinError, between, last, tumbling, within
from streamjoin.flow.cache import CacheSpec
from streamjoin.flow.job import Job
from streamjoin.layout import Layout, fit_plan
from streamjoin.operators.expr import Expr
from streamjoin.plan import Plan
from streamjoin.plan.reduction import Aggregate, Aggregates, Pick, Reduction, Sliding, Taken
from streamjoin.predicate import Predicate, Schema, parse
from streamjoin.predicate.conjunct import OneSided
from streamjoin.spec.how import HOWS, How, sides_of
from streamjoin.spec.side import SIDES, Side
from streamjoin.spec.window import Window
from tests.blocks import arrow_schema
from tests.strategies import us
from tests.unit.flow.runtime import to_job

MS = 1000
"""A millisecond, in which Spark counts watermarks."""

COLUMNS: dict[Side, tuple[str, ...]] = {"l": ("ts", "x", "y", "s", "id"), "r": ("ts", "a", "b", "u", "id")}
TYPES = ("timestamp", "int", "double", "string", "int")
SCHEMAS: dict[Side, Schema] = {side: Schema(dict(zip(COLUMNS[side], TYPES, strict=True))) for side in SIDES}
PAYLOADS = {side: arrow_schema(SCHEMAS[side]) for side in SIDES}

CONDITIONS: dict[str, tuple[str, ...]] = {
    "equality": ("l.x = r.a", "l.x <=> r.a", "l.s = r.u", "l.x = r.a AND l.y >= r.b"),
    "band": ("abs(l.x - r.a) <= 1", "abs(l.y - r.b) <= 0.5", "l.y <= r.b"),
    "one-sided": ("l.x > 0 AND l.x = r.a", "r.a < 3 AND abs(l.x - r.a) <= 1", "l.y IS NOT NULL AND r.b > 0.0"),
    "compiled": ("l.x <> r.a", "l.x = r.a OR l.y = r.b"),
    "strings": ("l.s < r.u", "l.x = r.a AND l.s LIKE concat(r.u, '%')"),
    "all": ("true",),
}
"""By class."""

WINDOWS: dict[str, tuple[Window, ...]] = {
    "within": (within(us(5 * MS)), within(us(3 * MS), closed="left"), within(us(0))),
    "within(left, right)": (within(left=us(7 * MS), right=us(2 * MS)), within(left=us(4 * MS + 1), right=us(0))),
    "between": (between(us(-6 * MS), us(4 * MS), closed="neither"), between(us(-5 * MS), us(5 * MS), closed="right")),
    "past": (between(us(-9 * MS), us(-2 * MS)),),
    "future": (between(us(2 * MS), us(8 * MS + 500)),),
    "tumbling": (tumbling(us(6 * MS)), tumbling(us(5 * MS), offset=us(2 * MS + 1)), tumbling(us(2 * MS))),
    "last": (last(left=3, right=4), last(left=0, right=2)),
    "last & time": (last(4) & within(us(6 * MS)), last(left=5, right=3) & tumbling(us(6 * MS))),
}

LAYOUTS: dict[str, tuple[Layout, ...]] = {
    "Grid": (Grid(1, 1), *(Grid(2, 1), Grid(1, 2)) * 2, Grid(2, 2), Grid(1, 3)),
    "Scale": (Scale(2),),
    "Cell": (Cell(2),),
    "Cell hashed": (Cell(2, hashed=True),),
    "Keyed": (Keyed(2),),
    "Keyed spread": (Keyed(4, spread=2),),
}

_A, _B, _ID = (Taken("r", COLUMNS["r"].index(name)) for name in ("a", "b", "id"))
REDUCTIONS: dict[str, tuple[Reduction, ...]] = {
    "asof": (Pick("backward"), Pick("forward", exact=False), Pick("nearest")),
    "aggregate": (
        Aggregates(5, (Aggregate("count", (), pa.int64()), Aggregate("sum", (_A,), pa.int64()))),
        Aggregates(5, (Aggregate("last", (_ID,), pa.int32()), Aggregate("max", (_B,), pa.float64()))),
    ),
}
"""What is made of all that a left row met."""
SLIDINGS = tuple(
    Sliding(size, every, keys, (Aggregate("count", (), pa.int64()), Aggregate("sum", (_A,), pa.int64())))
    for size, every in ((6 * MS, 2 * MS), (5 * MS + 1, 5 * MS + 1), (8 * MS, 3 * MS))
    for keys in (0, 2)
)
"""Windows that slide over right rows alone: of all of them, or of those with the same time and `a`."""


@dataclass(frozen=True)
class Join:
    """One join of a history, by the names of its parts."""

    how: How
    layout: Layout
    window: Window
    on: str
    lagging: tuple[Side, ...] = ()
    reduction: Reduction | None = None
    ordered: bool = False
    keeps_late: bool = False

    @property
    def layout_kind(self) -> str:
        return kind_of(LAYOUTS, self.layout)

    @property
    def window_kind(self) -> str:
        return "sliding" if self.slides else kind_of(WINDOWS, self.window)

    @property
    def slides(self) -> bool:
        """Whether it is of one stream, whose rows are right ones."""
        return isinstance(self.reduction, Sliding)

    @property
    def condition_kind(self) -> str:
        return kind_of(CONDITIONS, self.on)

    @cached_property
    def planned(self) -> "Planned":
        return planned(replace(self, keeps_late=False))

    def __str__(self) -> str:
        reduced = f", {self.reduction}" if self.reduction else ""
        lagging = f", lagging={''.join(self.lagging)}" if self.lagging else ""
        ordered = ", ordered" if self.ordered else ""
        late = ", late='keep'" if self.keeps_late else ""
        return f"{self.how} join ON {self.on}, {self.window}, {self.layout}{lagging}{ordered}{late}{reduced}"


def slide(sliding: Sliding) -> Join:
    """As `spark.slid` has it: rows of a group come together, and no left row ever comes."""
    window = between(us(1 - sliding.size), us(0))
    layout, on = (Keyed(2), "l.x <=> r.a") if sliding.keys else (Grid(1, 1), "true")
    return Join("inner", layout, window, on, reduction=sliding)


def kind_of(kinds: dict[str, tuple[Any, ...]], value: Any) -> str:
    return next(kind for kind, values in kinds.items() if value in values)


@dataclass(frozen=True)
class Planned:
    """A join with what Spark computes for it: filters before, the condition on pairs that is left after."""

    plan: Plan
    predicate: Predicate
    """The condition as written, all of it."""
    filters: dict[Side, tuple[Expr, ...]]
    residual: tuple[Expr, ...]

    @property
    def columns(self) -> list[tuple[Side, str]]:
        return [(side, name) for side in sides_of(self.plan.how) for name in COLUMNS[side]]


@cache
def parsed(on: str, how: How) -> Predicate:
    predicate = parse(on, SCHEMAS["l"], SCHEMAS["r"])
    return predicate.prefer_worker() if how == "inner" else predicate.require_worker()


@cache
def planned(join: Join) -> Planned:
    """As `spark.build.Planned` does it. Raises StreamJoinError where the layout does not serve the join."""
    whole = parsed(join.on, "left" if join.reduction else join.how)
    filters = [c for c in whole.conjuncts if isinstance(c, OneSided) and c.may_filter(join.how, join.window)]
    predicate = replace(whole, conjuncts=tuple(c for c in whole.conjuncts if c not in filters))
    block_rows = 7 if len(join.on) % 2 else 1000
    plan = Plan(
        *(predicate, join.window, PAYLOADS["l"], PAYLOADS["r"], join.how),
        lagging=join.lagging,
        reduction=join.reduction,
        ordered=join.ordered,
        block_rows=block_rows,
    )
    return Planned(
        fit_plan(join.layout, plan),
        whole,
        {side: tuple(c.exact for c in filters if c.side == side) for side in SIDES},
        tuple(c.exact for c in predicate.residual),
    )


def serves(join: Join) -> bool:
    try:
        planned(join)
    except StreamJoinError:
        return False
    return True


@cache
def choices(how: How) -> Sequence[tuple[str, str]]:
    """The kinds of layout and the conditions that go together with a `how`."""
    some = WINDOWS["within"][0]
    return [
        (kind, on)
        for kind, layouts in LAYOUTS.items()
        for texts in CONDITIONS.values()
        for on in texts
        if any(serves(Join(how, layout, some, on)) for layout in layouts)
    ]


@cache
def fitting(how: How, kind: str, on: str) -> Sequence[Layout]:
    some = WINDOWS["within"][0]
    return [layout for layout in LAYOUTS[kind] if serves(Join(how, layout, some, on))]


def make_job(name: str, join: Join, partitions: int, cache: CacheSpec) -> Job:
    job = to_job(join.planned.plan, join.layout, cache, partitions, name)
    return replace(job, keeps_late=join.keeps_late)


PLACES = {(kind, how) for how in HOWS for kind, _ in choices(how)}
"""Every kind of layout with every `how` that it serves."""

CLASSES = {(window, condition) for window in WINDOWS for condition in CONDITIONS}
"""Every class of windows with every class of conditions."""
