"""A join and what is asked of it: the condition understood, the sizes of rows, where each figure is from."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from streamjoin.kernel.costs import Kernel
from streamjoin.model.demand import Demand, Narrowing
from streamjoin.operators.types import BOOLEAN, DATE, FLOAT, INT, SMALLINT, TINYINT, Schema, Type
from streamjoin.plan import Plan
from streamjoin.predicate import On, Predicate, parse
from streamjoin.predicate.conjunct import Band, Compiled, Equi, Evaluated
from streamjoin.spec.how import How
from streamjoin.spec.side import SIDES, Side
from streamjoin.spec.window import Window
from streamjoin.sql.on import to_text

if TYPE_CHECKING:
    from streamjoin.layout import Layout

TOUCHED_PER_BAND = 1.65
"""Rows in the buckets that a probe touches, for each that its band holds (``micro-band-shapes.md``: 2.7 for two)."""

_WIDTHS = {BOOLEAN: 1, TINYINT: 1, SMALLINT: 2, INT: 4, FLOAT: 4, DATE: 4}
_NUMBER, _TEXT = 8, 24


@dataclass(frozen=True)
class Running:
    """How a query runs now: its layout, the seconds between its micro-batches and those that each takes."""

    layout: "Layout"
    interval: float
    seconds: float


@dataclass(frozen=True)
class Question:
    """A join, what is asked of it, and in `sources` a sentence for each figure that was not given."""

    plan: Plan
    demand: Demand
    sources: Mapping[str, str] = field(default_factory=dict)
    running: Running | None = None


def understand(on: On, schemas: Mapping[Side, Schema], window: Window | None, how: How, time: tuple[str, str]) -> Plan:
    """The plan of a join on rows of these columns, without Spark: all columns are taken to be carried."""
    predicate = parse(on, schemas["l"], schemas["r"])
    window, predicate = predicate.choose_window(window, time)
    predicate = predicate.prefer_worker() if how == "inner" else predicate.require_worker()
    empty = pa.schema([])
    return Plan(predicate, window, empty, empty, how)


def assume_schemas(on: On) -> dict[Side, Schema]:
    """Columns of which only the condition speaks, all of them taken to be numbers.

    >>> assume_schemas("abs(l.x - r.a) <= 10")
    {'l': Schema(x double), 'r': Schema(a double)}
    """
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    text = to_text(on)
    try:
        columns = list(sqlglot.parse_one(text, read="spark").find_all(exp.Column))
    except SqlglotError:
        columns = []  # `parse` will point at what is wrong
    return {
        side: Schema(dict.fromkeys((c.name for c in columns if c.table.lower() == side), "double")) for side in SIDES
    }


def find_width(types: Sequence[Type]) -> float:
    """Bytes of columns of these types; a text is taken to have 24.

    >>> from streamjoin.operators.types import BIGINT, STRING
    >>> find_width([BIGINT, INT, STRING])
    36
    """
    return sum(_WIDTHS.get(type, _NUMBER if type.is_machine else _TEXT) for type in types)


def find_narrowing(plan: Plan, hit_rate: float) -> Narrowing:
    """What an index will do for a condition of which only the hit rate is known.

    >>> both = Schema({"x": "int", "k": "int"})
    >>> from streamjoin.spec.window import within
    >>> plan = understand("l.k = r.k", {"l": both, "r": both}, within("1 minute"), "inner", ("ts", "ts"))
    >>> find_narrowing(plan, 1e-4)
    Narrowing(kernels=('nested', 'buckets', 'ordered'), candidates=0.0001, checked=False, hottest=0.0, groups=10000.0)
    """
    from streamjoin.layout.keys import has_many_keys

    conjuncts = plan.predicate.conjuncts
    equalities = [c for c in conjuncts if isinstance(c, Equi)]
    bands = [c for c in conjuncts if isinstance(c, Band)]
    two_ended = [c for c in bands if c.lower is not None and c.upper is not None]
    kernels = list_kernels(plan.predicate)
    candidates = 1.0
    if equalities or two_ended:
        candidates = hit_rate * TOUCHED_PER_BAND ** min(len(two_ended), 2 - bool(equalities))
    elif bands:
        candidates = 0.5
    keys = 1 / max(hit_rate, 1e-12) if equalities and has_many_keys(plan) else None
    return Narrowing(kernels, min(candidates, 1.0), is_checked(plan.predicate), groups=keys)


def list_kernels(predicate: Predicate) -> tuple[Kernel, ...]:
    """The kernels that can serve a condition."""
    conjuncts = predicate.conjuncts
    if any(isinstance(c, Equi) or (isinstance(c, Band) and None not in (c.lower, c.upper)) for c in conjuncts):
        return "nested", "buckets", "ordered"
    if any(isinstance(c, Band) for c in conjuncts):
        return "nested", "ordered"
    return ("compiled",) if any(isinstance(c, Compiled) for c in conjuncts) else ("nested",)


def is_checked(predicate: Predicate) -> bool:
    """Whether compiled code decides on what an index lets through."""
    return any(
        isinstance(c, Compiled | Evaluated) or (isinstance(c, Band) and not c.decides) for c in predicate.conjuncts
    )


def is_number(value: object) -> bool:
    """Whether something is a number above zero, or zero."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf
